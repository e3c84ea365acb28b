package nspawn

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// A Machine is a container that runs systemd as PID 1 on a file system of its
// own, which outlives power cuts and reboots and ends with the test. Its
// methods may be used from several goroutines, except those that change
// whether it runs: Boot, PowerCut, PowerOff and Reboot.
type Machine struct {
	Session // runs commands as root

	Name    string // as systemd-nspawn knows it
	Version int    // systemd's major version, measured
	Dir     string // the root file system, seen from the host; see Path

	// BootTook is how long the last boot took, seen from outside: from the
	// start of systemd-nspawn until default.target was active and op's user
	// manager answered.
	BootTook time.Duration

	dir    string // beneath it: upper, work, root (= Dir), console.log
	nspawn *supervisor
	extra  []string     // arguments for systemd-nspawn
	leader atomic.Int32 // PID 1, as the host counts; 0 while off
	reaper *reaper
}

// Boot makes a machine from a clean root and boots it. It returns when
// default.target is active and op's user manager answers, waiting first for a
// place among the machines of this host. It fails the test when it cannot, and
// removes the machine when the test ends.
func Boot(t testing.TB, v Version, opts ...Option) *Machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("booting a machine: only root may; run the tests as root")
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	m, err := create(t, v, o)
	if err != nil {
		t.Fatalf("making a machine for systemd %v: %v", v, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			m.explain(t)
		}
		if err := m.remove(); err != nil {
			t.Errorf("removing %s: %v", m.Name, err)
		}
	})
	for _, prepare := range o.prepare {
		if err := prepare(m.Dir); err != nil {
			t.Fatalf("preparing %s: %v", m.Name, err)
		}
	}
	m.Boot(t)
	return m
}

// create makes all of a machine but does not boot it.
func create(t testing.TB, v Version, o options) (*Machine, error) {
	root, err := Root(v)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(home(), ".machines")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, err
	}
	sweep(base)
	if err := roomForInotify(); err != nil {
		t.Logf("raising fs.inotify.max_user_instances, which all machines share: %v", err)
	}
	locks, err := reserve(t.Context(), base, v, o.alone)
	if err != nil {
		return nil, err
	}
	reaper, err := newReaper(base, locks)
	if err != nil {
		mine.Add(-1)
		return nil, err
	}
	m := &Machine{Name: reaper.name, dir: reaper.dir, extra: o.nspawn, reaper: reaper}
	m.Session = Session{m: m, user: "root"}
	m.Dir, err = overlay(root, m.dir)
	if err == nil {
		m.Version, err = measured(root)
	}
	if err != nil {
		m.remove()
		return nil, err
	}
	return m, nil
}

// remove ends the machine and takes away every trace of it.
func (m *Machine) remove() error {
	defer mine.Add(-1)
	m.kill()
	return m.reaper.finish()
}

// measured reads the version of systemd from a root's stamp.
func measured(root string) (version int, err error) {
	stamp, err := os.ReadFile(filepath.Join(root, ".stamp"))
	if err != nil {
		return 0, err
	}
	var digest string
	if _, err := fmt.Sscan(string(stamp), &digest, &version); err != nil {
		return 0, fmt.Errorf("reading the stamp of %s: %w", root, err)
	}
	return version, nil
}
