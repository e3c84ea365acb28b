package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dropinName is the name of our drop-in. What sorts before it is repeated in it; what sorts after it could undo it.
const dropinName = "10-trueup.conf"

// An assignment is one logical line KEY=VALUE of a unit file, as systemd reads it.
type assignment struct{ section, key, value, file string }

// parseUnit splits a unit file into its assignments. Continued lines are joined as systemd joins them, so that a
// value can be written into another file and means the same there.
func parseUnit(file string, text string) []assignment {
	var out []assignment
	var section, pending string
	for raw := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line := strings.TrimRight(raw, "\r\n")
		if head := strings.TrimLeft(line, " \t"); strings.HasPrefix(head, "#") || strings.HasPrefix(head, ";") {
			continue // also within a continued line
		}
		line = pending + line
		if pending = ""; continues(line) {
			pending = line[:len(line)-1] + " "
			continue
		}
		section, out = parseLine(strings.TrimSpace(line), section, file, out)
	}
	_, out = parseLine(strings.TrimSpace(pending), section, file, out)
	return out
}

func parseLine(line, section, file string, out []assignment) (string, []assignment) {
	if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
		return line[1 : len(line)-1], out
	}
	if key, value, ok := strings.Cut(line, "="); ok {
		out = append(out, assignment{section, strings.TrimSpace(key), strings.TrimSpace(value), file})
	}
	return section, out
}

// continues tells whether the line ends in a backslash that is not itself escaped.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// A source is the text of one unit: its fragment and drop-ins in the order in which systemd reads them, without
// our own drop-in.
type source struct {
	user   bool         // of a user's manager
	before []assignment // the fragment and what sorts before our drop-in
	after  []assignment // what sorts after it, and so has the last word
}

// readSource reads the files that systemd says the unit consists of.
func (m *Manager) readSource(unit string, p properties) (source, error) {
	s := source{user: m.user}
	own := m.dropin(unit)
	for i, file := range append([]string{p.Fragment}, p.Dropins...) {
		if file == own {
			continue
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed and not reloaded: adopt reloads first
		}
		if err != nil {
			return s, fmt.Errorf("reading the unit: %w", err)
		}
		if i > 0 && filepath.Base(file) > dropinName {
			s.after = append(s.after, parseUnit(file, string(text))...)
		} else {
			s.before = append(s.before, parseUnit(file, string(text))...)
		}
	}
	return s, nil
}

func (s source) all() []assignment { return append(append([]assignment(nil), s.before...), s.after...) }

// list gives the values of a list setting, honouring the empty assignments that reset it.
func list(lines []assignment, section, key string) []assignment {
	var out []assignment
	for _, l := range lines {
		if l.section != section || l.key != key {
			continue
		}
		if l.value == "" {
			out = nil
		} else {
			out = append(out, l)
		}
	}
	return out
}

// value gives the last word on a setting that is no list. Ours is left out, so this is what the unit itself wants.
func (s source) value(key string) string {
	var value string
	for _, l := range s.all() {
		if l.section == "Service" && l.key == key {
			value = l.value
		}
	}
	return value
}

// closes tells whether the unit's sandbox takes away write access to any path.
func (s source) closes() bool {
	return slices.ContainsFunc(s.all(), func(l assignment) bool {
		switch l.key {
		case "ProtectSystem", "ProtectHome", "ReadOnlyPaths", "ReadOnlyDirectories", "InaccessiblePaths", "InaccessibleDirectories",
			"TemporaryFileSystem", "BindPaths", "BindReadOnlyPaths", "MountImages", "ExtensionImages", "ExtensionDirectories":
			return l.section == "Service"
		}
		return false
	})
}

// hides tells whether ProtectHome= hides the path, as it hides a user's runtime folder.
func (s source) hides(path string) bool {
	if !s.hidesHome() {
		return false
	}
	return within(path, "/home") || within(path, "/root") || within(path, "/run/user")
}

func (s source) hidesHome() bool {
	switch strings.ToLower(s.value("ProtectHome")) {
	case "yes", "true", "on", "1", "y", "t", "tmpfs":
		return true
	}
	return false
}

// rebinds tells whether something the gate needs is hidden, and has to be bound into an empty home instead.
func (s source) rebinds(a Adoption) bool {
	return s.hides(a.Folders.Spool) || s.hides(a.Folders.State) || s.hides(a.Folders.Outbox) || s.hides(a.Gate) ||
		(s.user && s.hidesHome()) // the notify socket
}
