package units

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// properties is what systemd says about a service, as far as adopting it depends on it.
type properties struct {
	ID, LoadState, Fragment, FileState string
	Dropins                            []string
	NeedReload, Transient              bool
	Active, Sub                        string
	ControlPID                         uint32

	Type                                            string
	RemainAfterExit, DynamicUser, PreStartOnlyAsTop bool
	User, Group                                     string
	RootDirectory, RootImage                        string
	TemporaryFileSystem                             []string
	NoUnixSockets                                   bool // RestrictAddressFamilies= leaves AF_UNIX out
	Conditions, Asserts, ExecCondition              []string
	Requires                                        []string // with Requisite= and BindsTo=
	TimeoutStart                                    uint64
	IgnoresFailure, MoreSuccess                     bool // "-" before ExecStart=, SuccessExitStatus=
	Restart                                         string
	TriggeredBy, WantedBy                           []string
}

// within tells whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// properties asks systemd for all properties of a service. A unit that is not loaded is loaded.
func (m *Manager) properties(ctx context.Context, unit string) (properties, error) {
	all, err := m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return properties{}, fmt.Errorf("asking systemd about %s: %w", unit, denied(err))
	}
	return propertiesOf(bag(all)), nil
}

func propertiesOf(b bag) properties {
	return properties{
		ID: b.text("Id"), LoadState: b.text("LoadState"), Fragment: b.text("FragmentPath"),
		FileState: b.text("UnitFileState"), Dropins: b.texts("DropInPaths"),
		NeedReload: b.flag("NeedDaemonReload"), Transient: b.flag("Transient"),
		Active: b.text("ActiveState"), Sub: b.text("SubState"), ControlPID: uint32(b.number("ControlPID")),
		Type: b.text("Type"), RemainAfterExit: b.flag("RemainAfterExit"), DynamicUser: b.flag("DynamicUser"),
		PreStartOnlyAsTop: b.flag("PermissionsStartOnly"),
		User:              b.text("User"), Group: b.text("Group"), RootDirectory: b.text("RootDirectory"), RootImage: b.text("RootImage"),
		TemporaryFileSystem: b.firsts("TemporaryFileSystem"),
		NoUnixSockets:       !b.allows("RestrictAddressFamilies", "AF_UNIX"),
		Conditions:          b.firsts("Conditions"), Asserts: b.firsts("Asserts"), ExecCondition: b.firsts("ExecCondition"),
		Requires:       append(append(b.texts("Requires"), b.texts("Requisite")...), b.texts("BindsTo")...),
		TimeoutStart:   b.number("TimeoutStartUSec"),
		IgnoresFailure: b.anyFlag("ExecStart", 2), MoreSuccess: b.filled("SuccessExitStatus"),
		Restart: b.text("Restart"), TriggeredBy: b.texts("TriggeredBy"), WantedBy: b.texts("WantedBy"),
	}
}

// unbounded tells whether a run that hangs would hang for ever, a oneshot's default (F15).
func (p properties) unbounded() bool { return p.TimeoutStart == math.MaxUint64 }

// running tells whether the unit is neither at rest nor has failed.
func (p properties) running() bool { return p.Active != "inactive" && p.Active != "failed" }

// bag reads loosely typed properties; one that an older systemd lacks reads as zero.
type bag map[string]any

func (b bag) text(name string) string    { s, _ := b[name].(string); return s }
func (b bag) texts(name string) []string { s, _ := b[name].([]string); return s }
func (b bag) flag(name string) bool      { f, _ := b[name].(bool); return f }
func (b bag) rows(name string) [][]any   { r, _ := b[name].([][]any); return r }

func (b bag) number(name string) uint64 {
	switch n := b[name].(type) {
	case uint64:
		return n
	case uint32:
		return uint64(n)
	case int32:
		return uint64(n)
	}
	return 0
}

// firsts gives the first field of each row: the name of a condition, the path of a command.
func (b bag) firsts(name string) []string {
	var out []string
	for _, row := range b.rows(name) {
		if s, ok := row[0].(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// anyFlag tells whether the given field is true in any row.
func (b bag) anyFlag(name string, field int) bool {
	for _, row := range b.rows(name) {
		if f, ok := row[field].(bool); ok && f {
			return true
		}
	}
	return false
}

// filled tells whether any part of a structure of lists has an entry.
func (b bag) filled(name string) bool {
	parts, _ := b[name].([]any)
	for _, part := range parts {
		if list, ok := part.([]int32); ok && len(list) > 0 {
			return true
		}
	}
	return false
}

// allows reads a list that either allows only what it names or allows all but that. No list allows everything: it
// reads as one that forbids nothing.
func (b bag) allows(name, what string) bool {
	pair, _ := b[name].([]any)
	if len(pair) != 2 {
		return true
	}
	only, _ := pair[0].(bool)
	names, _ := pair[1].([]string)
	return slices.Contains(names, what) == only
}
