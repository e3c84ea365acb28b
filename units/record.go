package units

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const recordMark = "# trueup: "

// A record is all that has to be known to inspect an adoption or to take it back. It is the drop-in's header.
type record struct {
	Adoption
	User        string   // whom the unit runs as; empty: the manager's own user
	OwnTimer    bool     // we added the timer
	Made        []string // folders of units that we made, and that go when they are empty
	MadeFolders []string // of spool, state and outbox those that we made outside the usual place
	Old         replaced // the UNIT.path that --replace put aside
}

// replaced is a path unit that was there before ours, and how it was enabled.
type replaced struct {
	File   string   // where it stood; empty: nothing was put aside
	Links  []string // "FOLDER.wants/UNIT.path -> TARGET", relative to the unit folder
	Active bool
}

func (r replaced) any() bool { return r.File != "" || len(r.Links) > 0 || r.Active }

// header writes the record as comment lines.
func (r record) header() string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s%s=%s\n", recordMark, key, value)
		}
	}
	line("unit", r.Unit)
	line("spool", r.Folders.Spool)
	line("state", r.Folders.State)
	line("outbox", r.Folders.Outbox)
	line("floor", flagSpan(r.Policy.Floor))
	line("retry-max", flagSpan(r.Policy.RetryMax))
	line("sweep", flagSpan(r.Policy.Sweep))
	line("gate", r.Gate)
	line("web-group", r.WebGroup)
	line("user", r.User)
	line("timer", map[bool]string{true: "ours"}[r.OwnTimer])
	line("no-timer", map[bool]string{true: "yes"}[r.NoTimer])
	for _, dir := range r.Made {
		line("made", dir)
	}
	for _, dir := range r.MadeFolders {
		line("made-folder", dir)
	}
	line("replaced", r.Old.File)
	for _, link := range r.Old.Links {
		line("replaced-link", link)
	}
	line("replaced-active", map[bool]string{true: "yes"}[r.Old.Active])
	return strings.TrimSuffix(b.String(), "\n")
}

// parseRecord reads a header back; ok is false for a file that is not ours.
func parseRecord(text string) (r record, ok bool) {
	spans := map[string]*time.Duration{"floor": &r.Policy.Floor, "retry-max": &r.Policy.RetryMax, "sweep": &r.Policy.Sweep}
	texts := map[string]*string{
		"unit": &r.Unit, "spool": &r.Folders.Spool, "state": &r.Folders.State, "outbox": &r.Folders.Outbox,
		"gate": &r.Gate, "web-group": &r.WebGroup, "user": &r.User, "replaced": &r.Old.File,
	}
	flags := map[string]*bool{"timer": &r.OwnTimer, "no-timer": &r.NoTimer, "replaced-active": &r.Old.Active}
	lists := map[string]*[]string{"made": &r.Made, "made-folder": &r.MadeFolders, "replaced-link": &r.Old.Links}
	for line := range strings.Lines(text) {
		rest, ours := strings.CutPrefix(strings.TrimSuffix(line, "\n"), recordMark)
		key, value, _ := strings.Cut(rest, "=")
		if !ours {
			continue
		}
		if to := spans[key]; to != nil {
			*to, _ = time.ParseDuration(value) // zero where somebody edited it: adopt writes it anew
		} else if to := texts[key]; to != nil {
			*to = value
		} else if to := flags[key]; to != nil {
			*to = true
		} else if to := lists[key]; to != nil {
			*to = append(*to, value)
		}
	}
	return r, r.Unit != ""
}

// records reads every adoption whose drop-in lies in the given unit folder.
func records(dir string) ([]record, error) {
	dropins, err := filepath.Glob(filepath.Join(globEscape(dir), "*.service.d", dropinName))
	if err != nil {
		return nil, err
	}
	slices.Sort(dropins)
	var out []record
	for _, file := range dropins {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading what is adopted: %w", err)
		}
		if r, ok := parseRecord(string(text)); ok {
			out = append(out, r)
		}
	}
	return out, nil
}

func globEscape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
