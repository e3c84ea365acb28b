package nspawn

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// patience bounds a boot and a shutdown.
const patience = 60 * time.Second

// Boot boots the machine again after a PowerCut or PowerOff, on the same
// files, and waits like the function Boot. It does not wait for the jobs of
// units that are wanted at boot: is-system-running may still say starting.
func (m *Machine) Boot(t testing.TB) {
	t.Helper()
	if m.Running() {
		t.Fatalf("booting %s: it runs already", m.Name)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	began := time.Now()
	err := m.start(ctx)
	if err == nil {
		err = m.ready(ctx)
	}
	if err != nil {
		t.Fatalf("booting %s (systemd %d): %v\n%s", m.Name, m.Version, err, m.console())
	}
	m.BootTook = time.Since(began)
}

// start starts systemd-nspawn and waits until PID 1 is systemd.
func (m *Machine) start(ctx context.Context) error {
	s, err := supervise(m.Name, m.nspawnArgs(), filepath.Join(m.dir, "console.log"), func() { m.leader.Store(0) })
	if err != nil {
		return err
	}
	m.nspawn = s
	return Poll(ctx, func() bool {
		for _, pid := range children(s.pid) {
			if isInit(pid) {
				m.leader.Store(int32(pid))
				return true
			}
		}
		return s.ended()
	})
}

func (m *Machine) nspawnArgs() []string {
	args := []string{"-q", "-D", m.Dir, "-M", m.Name, "--register=no", "--keep-unit", "--console=pipe",
		"--resolv-conf=off", "--timezone=off", "--link-journal=no", "--private-network"}
	args = append(args, m.extra...)
	return append(args, "-b", "systemd.unified_cgroup_hierarchy=1")
}

// ready waits until default.target is active and op's manager can be called.
func (m *Machine) ready(ctx context.Context) error {
	waited := Poll(ctx, func() bool {
		if m.nspawn.ended() {
			return true
		}
		if !exists(m.Live("/run/systemd/private")) || !exists(m.Live("/run/user/1000/systemd/private")) ||
			!exists(m.Live("/run/user/1000/bus")) {
			return false
		}
		_, err := m.Exec(ctx, "systemctl", "is-active", "--quiet", "default.target")
		return err == nil
	})
	if m.nspawn.ended() {
		return errors.New("systemd-nspawn has ended")
	}
	return waited
}

// StartupTook returns how long the machine says its boot took, from the start
// of systemd until default.target was reached.
func (m *Machine) StartupTook(t testing.TB) time.Duration {
	t.Helper()
	began := m.System().Show(t, "", "UserspaceTimestampMonotonic")["UserspaceTimestampMonotonic"]
	reached := m.System().Show(t, "default.target", "ActiveEnterTimestampMonotonic")["ActiveEnterTimestampMonotonic"]
	from, err1 := time.ParseDuration(began + "us")
	to, err2 := time.ParseDuration(reached + "us")
	if err1 != nil || err2 != nil || to < from {
		t.Fatalf("reading the boot time of %s: from %q to %q", m.Name, began, reached)
	}
	return to - from
}
