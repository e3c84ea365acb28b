package nspawn

import (
	"encoding/json"
	"strings"
	"testing"
)

// An Entry is one entry of the journal: its fields, such as MESSAGE and
// _SYSTEMD_UNIT. Of a field that occurs more than once it has the last value.
type Entry map[string]string

// Journal returns the manager's journal, oldest entry first, after having all
// that was logged written to it. The arguments are journalctl's, such as
// "-b" and "-u", "foo.service".
func (g *Manager) Journal(t testing.TB, args ...string) []Entry {
	t.Helper()
	g.m.MustExec(t, "journalctl", "--sync")
	argv := append([]string{"journalctl", g.Flag(), "--no-pager", "--quiet", "--all", "--output=json"}, args...)
	var entries []Entry
	for line := range strings.Lines(g.MustExec(t, argv...)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("reading the journal of %s: %v", g.m.Name, err)
		}
		entry := make(Entry, len(fields))
		for k, v := range fields {
			entry[k] = text(v)
		}
		entries = append(entries, entry)
	}
	return entries
}

// Messages returns only the MESSAGE fields of Journal.
func (g *Manager) Messages(t testing.TB, args ...string) []string {
	t.Helper()
	var messages []string
	for _, entry := range g.Journal(t, args...) {
		messages = append(messages, entry["MESSAGE"])
	}
	return messages
}

// text undoes journalctl's JSON: a string, a list of numbers for bytes that
// are no text, or a list of these.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var bytes []byte
		for _, e := range v {
			n, ok := e.(float64)
			if !ok {
				return text(v[len(v)-1])
			}
			bytes = append(bytes, byte(n))
		}
		return string(bytes)
	}
	return ""
}
