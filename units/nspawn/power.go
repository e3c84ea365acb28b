package nspawn

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Running tells whether the machine is on.
func (m *Machine) Running() bool { return m.Leader() != 0 }

// Leader returns the PID of the machine's PID 1 as the host counts, or 0 while
// the machine is off.
func (m *Machine) Leader() int { return int(m.leader.Load()) }

// PowerCut ends every process of the machine at once. Its files stay.
func (m *Machine) PowerCut(t testing.TB) {
	t.Helper()
	if !m.Running() {
		t.Fatalf("cutting the power of %s: it is off", m.Name)
	}
	if err := m.kill(); err != nil {
		t.Fatalf("cutting the power of %s: %v", m.Name, err)
	}
}

// kill ends the machine if it runs. PID 1 takes its whole PID namespace along.
func (m *Machine) kill() error {
	if pid := int(m.leader.Swap(0)); isInit(pid) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	if m.nspawn == nil {
		return nil
	}
	err := m.reaper.stop()
	m.nspawn.wait()
	m.nspawn = nil
	return err
}

// PowerOff shuts the machine down in order and returns how long that took.
func (m *Machine) PowerOff(t testing.TB) time.Duration {
	t.Helper()
	if !m.Running() {
		t.Fatalf("shutting %s down: it is off", m.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	if _, err := m.Exec(ctx, "systemctl", "--no-block", "poweroff"); err != nil && m.Running() {
		t.Fatalf("shutting %s down: %v", m.Name, err)
	}
	m.AwaitOff(t, 2*patience)
	return time.Since(began)
}

// AwaitOff waits until the machine has gone off by itself, as when a unit in
// it has run systemctl poweroff, or poweroff --force --force for a crash.
func (m *Machine) AwaitOff(t testing.TB, within time.Duration) {
	t.Helper()
	Eventually(t, within, m.Name+" is off", func() bool { return !m.Running() })
	if err := m.kill(); err != nil {
		t.Fatalf("clearing up after %s: %v", m.Name, err)
	}
}

// Reboot shuts the machine down in order, boots it again and returns how long
// the shutdown took.
func (m *Machine) Reboot(t testing.TB) time.Duration {
	t.Helper()
	took := m.PowerOff(t)
	m.Boot(t)
	return took
}

// console returns the end of what systemd-nspawn and the console said.
func (m *Machine) console() string {
	log, _ := os.ReadFile(filepath.Join(m.dir, "console.log"))
	return string(log[max(0, len(log)-4000):])
}

// explain logs what a person needs to see why a test failed in this machine.
func (m *Machine) explain(t testing.TB) {
	if !m.Running() {
		t.Logf("%s is off; its console:\n%s", m.Name, m.console())
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := m.Exec(ctx, "journalctl", "--no-pager", "--lines=60", "--output=short-precise")
	t.Logf("the journal of %s (systemd %d) ends: %v\n%s", m.Name, m.Version, err, out)
}
