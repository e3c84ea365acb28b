package nspawn

import (
	"context"
	"maps"
	"strings"
	"testing"
)

// A Manager is one of the two service managers of a machine, the system's and
// op's, behind one set of methods: a test that takes one runs on both. Its
// Session is of the user it belongs to.
type Manager struct {
	Session
	user bool
}

// System returns the system manager.
func (m *Machine) System() *Manager { return &Manager{Session: m.Session} }

// User returns the user manager of op.
func (m *Machine) User() *Manager { return &Manager{Session: m.As("op"), user: true} }

// Managers returns both, the system's first.
func (m *Machine) Managers() []*Manager { return []*Manager{m.System(), m.User()} }

// String returns "system" or "user".
func (g *Manager) String() string {
	if g.user {
		return "user"
	}
	return "system"
}

// IsUser tells op's manager from the system's.
func (g *Manager) IsUser() bool { return g.user }

// Machine returns the machine that the manager is in.
func (g *Manager) Machine() *Machine { return g.m }

// Flag returns "--user" or "--system", which systemctl, systemd-run,
// systemd-analyze and journalctl take.
func (g *Manager) Flag() string { return "--" + g.String() }

// UnitDir returns the folder in the machine where an operator puts this
// manager's units.
func (g *Manager) UnitDir() string {
	if g.user {
		return "/home/op/.config/systemd/user"
	}
	return "/etc/systemd/system"
}

// Home returns the home of the manager's user.
func (g *Manager) Home() string {
	if g.user {
		return "/home/op"
	}
	return "/root"
}

// Owner returns the manager's user and group IDs.
func (g *Manager) Owner() (uid, gid int) {
	if g.user {
		return 1000, 1000
	}
	return 0, 0
}

// Systemctl runs systemctl for this manager.
func (g *Manager) Systemctl(ctx context.Context, args ...string) (string, error) {
	return g.Exec(ctx, append([]string{"systemctl", g.Flag()}, args...)...)
}

// MustSystemctl is Systemctl that fails the test now.
func (g *Manager) MustSystemctl(t testing.TB, args ...string) string {
	t.Helper()
	return g.MustExec(t, append([]string{"systemctl", g.Flag()}, args...)...)
}

// Show returns properties of a unit, all of them when none are named. With the
// unit "" they are the manager's own.
func (g *Manager) Show(t testing.TB, unit string, props ...string) map[string]string {
	t.Helper()
	args := []string{"show", "--all"}
	for _, p := range props {
		args = append(args, "--property="+p)
	}
	if unit != "" {
		args = append(args, "--", unit)
	}
	return maps.Collect(func(yield func(string, string) bool) {
		for line := range strings.Lines(g.MustSystemctl(t, args...)) {
			if k, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok && !yield(k, v) {
				return
			}
		}
	})
}
