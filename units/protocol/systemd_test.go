package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// systemdPlace is a service manager of a booted machine.
type systemdPlace struct{ g *nspawn.Manager }

// String names it as a subtest.
func (p systemdPlace) String() string { return p.g.String() }

// adopting lets one adoption happen at a time: each reloads its manager twice, and what else is timed would suffer.
var adopting sync.Mutex

// install puts the programs into a machine, once before anything is adopted in it.
func install(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	if err := shop.build(); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"trueup", "trueup-gate", "counter"} {
		m.CopyIn(t, shop.program(program), "/usr/local/bin/"+program, 0o755)
	}
}

func (p systemdPlace) adopt(t *testing.T, o options) *host {
	t.Helper()
	adopting.Lock()
	defer adopting.Unlock()
	o = o.complete()
	base := "/var/lib/trueup/"
	if p.g.IsUser() {
		base = "/home/op/.local/state/trueup/"
	}
	inside := folders(base + o.name)
	dir := filepath.Join(p.g.Home(), "counters", o.name)
	p.g.Mkdir(t, dir)
	p.g.WriteUnit(t, o.name+".service", strings.Join([]string{
		"[Service]", "Type=oneshot",
		"ExecStart=/usr/local/bin/counter " + dir + " " + inside.State,
		"TimeoutStartSec=" + strconv.Itoa(int(o.timeout.Seconds())),
		o.service, ""}, "\n"))
	m := p.g.Machine()
	s := &systemdBackend{g: p.g, unit: o.name}
	h := &host{backend: s, options: o, folders: folders(m.Path(base) + "/" + o.name), dir: m.Path(dir)}
	h.commit(t, 0)
	args := []string{"/usr/local/bin/trueup", "adopt", o.name + ".service", "--floor", o.policy.Floor.String(),
		"--retry-max", o.policy.RetryMax.String()}
	if p.g.IsUser() {
		args = append(args, "--user")
	}
	if !o.timer {
		args = append(args, "--no-timer")
	}
	if out, err := p.g.Exec(t.Context(), args...); err != nil {
		t.Fatalf("adopting %s: %v\n%s", o.name, err, out)
	}
	s.cgroups = p.cgroups(o.name)
	t.Cleanup(func() { s.retire(t) })
	return h
}

func folders(base string) trigger.Folders {
	return trigger.Folders{Spool: base + "/spool", State: base + "/state", Outbox: base + "/outbox"}
}

// cgroups are the folders where the unit's processes may be found: systemd 247 has no app.slice.
func (p systemdPlace) cgroups(unit string) []string {
	hierarchy := "/sys/fs/cgroup/unified"
	if _, err := os.Stat(hierarchy); err != nil {
		hierarchy = "/sys/fs/cgroup"
	}
	payload := filepath.Join(hierarchy, p.g.Machine().Name, "payload")
	if !p.g.IsUser() {
		return []string{filepath.Join(payload, "system.slice", unit+".service")}
	}
	user := filepath.Join(payload, "user.slice/user-1000.slice/user@1000.service")
	return []string{filepath.Join(user, "app.slice", unit+".service"), filepath.Join(user, unit+".service")}
}

type systemdBackend struct {
	g       *nspawn.Manager
	unit    string
	cgroups []string
}

func (s *systemdBackend) manager() *nspawn.Manager { return s.g }

// pids reads the cgroup itself: systemctl would take longer than a settle lasts.
func (s *systemdBackend) pids() (pids []int) {
	for _, dir := range s.cgroups {
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, field := range bytes.Fields(procs) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (s *systemdBackend) alive(t *testing.T) error {
	if !s.g.Machine().Running() {
		return errors.New("the machine is off")
	}
	got := s.g.Show(t, s.unit+".path", "ActiveState", "SubState", "Result")
	if got["ActiveState"] != "active" || got["SubState"] != "waiting" && got["SubState"] != "running" {
		return fmt.Errorf("%s.path is %s", s.unit, got)
	}
	return nil
}

func (s *systemdBackend) start(t *testing.T) {
	t.Helper()
	s.g.MustSystemctl(t, "start", "--no-block", s.unit+".service")
}

func (s *systemdBackend) powerCut(t *testing.T) {
	t.Helper()
	s.g.Machine().PowerCut(t)
	s.g.Machine().Boot(t)
}

func (s *systemdBackend) reboot(t *testing.T) {
	t.Helper()
	s.g.Machine().Reboot(t)
}

func (s *systemdBackend) journal(t *testing.T) string {
	if !s.g.Machine().Running() {
		return "the machine is off"
	}
	out, err := s.g.Machine().Exec(t.Context(), "journalctl", "--no-pager", "--output=short-precise", "--lines=400")
	var kept []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, s.unit) || strings.Contains(line, "trueup-gate") {
			kept = append(kept, line)
		}
	}
	units, _ := s.g.Systemctl(t.Context(), "show", "--property=Id,ActiveState,SubState,Result,Job", s.unit+".path", s.unit+".service")
	return fmt.Sprint(strings.Join(kept, ""), err, "\n", units)
}

// retire stops the host, so that it costs the next cases nothing.
func (s *systemdBackend) retire(t *testing.T) {
	if s.g.Machine().Running() && !t.Failed() {
		s.g.MustSystemctl(t, "stop", "--no-block", s.unit+".path", s.unit+".service")
	}
}
