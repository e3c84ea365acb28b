package nspawn

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// WriteUnit writes a unit, or a drop-in such as a.service.d/b.conf, as the
// manager's user and reloads the manager.
func (g *Manager) WriteUnit(t testing.TB, name, text string) {
	t.Helper()
	g.Write(t, filepath.Join(g.UnitDir(), name), text, 0o644)
	g.MustSystemctl(t, "daemon-reload")
}

// Write writes a file that belongs, with the folders made for it, to the
// manager's user.
func (g *Manager) Write(t testing.TB, name, text string, mode os.FileMode) {
	t.Helper()
	g.Mkdir(t, filepath.Dir(name))
	g.m.WriteFile(t, name, text, mode)
	uid, gid := g.Owner()
	if err := os.Lchown(g.m.Path(name), uid, gid); err != nil {
		t.Fatal(err)
	}
}

// Mkdir makes a folder, and those above it that are missing, which belong to
// the manager's user.
func (g *Manager) Mkdir(t testing.TB, name string) {
	t.Helper()
	if exists(g.m.Path(name)) {
		return
	}
	g.Mkdir(t, filepath.Dir(name))
	uid, gid := g.Owner()
	if err := os.Mkdir(g.m.Path(name), 0o755); err != nil && !os.IsExist(err) { // another test's may be quicker
		t.Fatal(err)
	}
	if err := os.Chown(g.m.Path(name), uid, gid); err != nil {
		t.Fatal(err)
	}
}

// PIDs returns the processes of a unit, as the host counts them: the first is
// the oldest. A unit that is not running has none.
func (g *Manager) PIDs(t testing.TB, unit string) []int {
	t.Helper()
	cgroup := g.Show(t, unit, "ControlGroup")["ControlGroup"]
	if cgroup == "" {
		return nil
	}
	return g.m.cgroupPIDs(cgroup)
}

// Kill sends a signal to every process of a unit behind systemd's back and
// returns how many there were.
func (g *Manager) Kill(t testing.TB, unit string, sig syscall.Signal) int {
	t.Helper()
	pids := g.PIDs(t, unit)
	for _, pid := range pids {
		syscall.Kill(pid, sig)
	}
	return len(pids)
}

// cgroupPIDs reads the processes of a cgroup, named as the machine does, and
// of those beneath it.
func (m *Machine) cgroupPIDs(cgroup string) []int {
	var pids []int
	root := filepath.Join(hierarchy(), m.Name, "payload", cgroup)
	filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "cgroup.procs" {
			return nil // a cgroup may vanish meanwhile
		}
		procs, _ := os.ReadFile(path)
		for field := range strings.FieldsSeq(string(procs)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}
