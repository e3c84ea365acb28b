package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// Whatever kills the path unit, prompt mode is back after the next sweep once the cause is gone, with nobody's help,
// and the journal has the alarm. What an operator disabled or stopped stays so: nothing starts the path (A6, I6, I7;
// PATH-08, PATH-09, PATH-24, F1, F4, F8, F13).
func heals(t *testing.T, m *nspawn.Machine) {
	together(t, m.Managers(), func(t *testing.T, g *nspawn.Manager) {
		if g.IsUser() && !proving() && (m.Version == 247 || m.Version == 257) {
			return
		}
		together(t, healings, func(t *testing.T, h healing) {
			o := options{name: h.name + "-" + g.String(), policy: trigger.Policy{Floor: h.floor}, service: "ExecStartPre=/usr/local/bin/" + h.name}
			v := victimise(t, systemdPlace{g}, o)
			for _, c := range h.cases {
				t.Run(c.name, func(t *testing.T) { c.f(t, v) })
			}
		})
	})
}

// A healing is some cases that share a victim.
type healing struct {
	name  string
	floor time.Duration
	cases []healCase
}

type healCase struct {
	name string
	f    func(t *testing.T, v *victim)
}

// String names it as a subtest.
func (h healing) String() string { return h.name }

var healings = []healing{
	{"killed", hostileFloor, []healCase{{"link to itself", healsSelfLink}, {"a line before the run fails at once", healsFastFailure}}},
	{"missing", 5 * time.Second, []healCase{{"gate missing", healsMissingGate}}},
	{"left", hostileFloor, []healCase{{"disabled", leavesDisabled}, {"stopped", leavesStopped}}},
}

// ownLine gives a machine a program that a unit runs before its run.
func ownLine(name string) nspawn.Option {
	return nspawn.Prepare(func(dir string) error {
		return os.WriteFile(dir+"/usr/local/bin/"+name, []byte("#!/bin/sh\nexit 0\n"), 0o755)
	})
}

func healsSelfLink(t *testing.T, v *victim) {
	v.settlesDown(t)
	since := uptime()
	check(t, os.Symlink("sentinel", v.folders.Spool+"/sentinel"))
	v.rearmsAfterDeath(t, since)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}

// rearmsAfterDeath waits for the alarm: the death itself may be over before anybody looks.
func (v *victim) rearmsAfterDeath(t *testing.T, since time.Duration) {
	t.Helper()
	v.eventually(t, v.patience(), "the spool is set right", func() bool { return !v.asking() })
	v.settlesDown(t)
	v.isAlarmed(t, since)
	v.rearms(t)
}

// Without its gate the service dies at once, and the start limit, which fits the floor, ends that (F8, F27).
func healsMissingGate(t *testing.T, v *victim) {
	v.settlesDown(t)
	since := uptime()
	const limit = 30 * time.Second // of starts, which keeps the timer out as well
	restore := shift(t, v.manager().Machine(), v.gateOfItsOwn(t))
	v.number++
	ticket := v.write(t, v.number)
	result := v.dies(t)
	v.pageSays(t, "dead", v.name+".path", result)
	t.Logf("the path died of %s after %d activations", result, len(v.starts(t, since)))
	if n := len(v.starts(t, since)); n > 200 {
		t.Errorf("%d activations before the limit", n)
	}
	restore()
	v.eventually(t, limit+v.patience(), "the path unit is back", func() bool { return v.alive(t) == nil })
	v.rearms(t)
	if !v.status(t).Covers(ticket) {
		t.Error("the touch that the missing gate met is lost")
	}
	v.isAlarmed(t, since)
	v.pageSays(t, "drifted") // of the gate that this case gave it
	v.adoptAgain(t)
	v.pageIsWell(t)
}

// adoptAgain has adopt write the drop-in anew.
func (v *victim) adoptAgain(t *testing.T) {
	t.Helper()
	adopt := []string{"/usr/local/bin/trueup", "adopt", v.name + ".service"}
	if v.manager().IsUser() {
		adopt = append(adopt, "--user")
	}
	v.manager().MustExec(t, adopt...)
}

// gateOfItsOwn has the unit use a copy of the gate, which can be taken away from it alone.
func (v *victim) gateOfItsOwn(t *testing.T) string {
	t.Helper()
	g := v.manager()
	const shared = "/usr/local/bin/trueup-gate"
	own := shared + "-of-" + v.name
	g.Machine().CopyIn(t, g.Machine().Path(shared), own, 0o755)
	dropin := v.name + ".service.d/10-trueup.conf"
	text := g.Machine().ReadFile(t, filepath.Join(g.UnitDir(), dropin))
	g.WriteUnit(t, dropin, strings.ReplaceAll(text, shared+" ", own+" "))
	return own
}

// A line before the run that fails at once is a failing run: the gate backs off, and the path lives.
func healsFastFailure(t *testing.T, v *victim) {
	v.settlesDown(t)
	since := uptime()
	program := v.manager().Machine().Path("/usr/local/bin/killed")
	check(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	v.number++
	ticket := v.write(t, v.number)
	v.eventually(t, v.patience(), "the fourth attempt", func() bool { c := v.claim(t); return c != nil && c.Attempt >= 4 })
	if err := v.alive(t); err != nil {
		t.Errorf("a failing run has killed the trigger: %v", err)
	}
	v.pageSays(t, "failing")
	check(t, os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o755))
	v.settlesDown(t)
	if !v.status(t).Covers(ticket) {
		t.Error("the touch is lost")
	}
	v.keptFloor(t, since)
	v.rearms(t)
	v.pageIsWell(t)
}

// What an operator disabled or stopped stays so: the sweeps go on, and nothing starts the path (F13).
func leavesDisabled(t *testing.T, v *victim) {
	v.leaves(t, "disable", "backed out")
}

func leavesStopped(t *testing.T, v *victim) {
	v.leaves(t, "stop", "stopped")
}

func (v *victim) leaves(t *testing.T, how, word string) {
	t.Helper()
	g, path := v.manager(), v.name+".path"
	v.settlesDown(t)
	since := uptime()
	args := []string{how, path}
	if how == "disable" {
		args = []string{how, "--now", path}
	}
	g.MustSystemctl(t, args...)
	back := func() { g.MustSystemctl(t, "enable", "--now", path) }
	t.Cleanup(back)
	enabled := g.Show(t, path, "UnitFileState")["UnitFileState"]
	v.number++
	ticket := v.write(t, v.number)
	answers := func(unit string) time.Duration {
		began := time.Now()
		g.Systemctl(t.Context(), "status", unit)
		return time.Since(began)
	}
	// A PID 1 in a loop would not answer (PATH-07, PATH-18); a busy host may be slow once.
	v.eventually(t, v.patience(), "systemctl answers about it as soon as about another unit, with the switch off and the sentinel there", func() bool {
		idle := answers("timers.target")
		return answers(v.name+".service") <= idle+time.Second
	})
	v.sweeps(t, 3)
	if state := v.pathState(t); state != "inactive" {
		t.Errorf("after three sweeps the path is %s", state)
	}
	if now := g.Show(t, path, "UnitFileState")["UnitFileState"]; now != enabled {
		t.Errorf("after three sweeps the path is %s, it was %s", now, enabled)
	}
	v.settlesDown(t)
	if !v.status(t).Covers(ticket) {
		t.Error("the sweeps have not taken the touch")
	}
	if n := len(v.said(t, since, trigger.MsgDead, "")); n > 0 {
		t.Errorf("%d alarms about what the operator wanted", n)
	}
	v.pageIsWell(t, word)
	back()
	v.isPrompt(t)
}
