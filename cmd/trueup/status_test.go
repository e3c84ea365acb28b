package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/trigger"
	"trueup/units"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when all of it happens; the boot was an hour before.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const bootID = "b00t"

func before(d time.Duration) trigger.Instant {
	return trigger.Instant{Boot: bootID, At: time.Hour - d, Wall: noon.Add(-d)}
}

// well is a trigger with which all is well; each case spoils something.
func well() facts {
	covered := noon.Add(-12 * time.Second)
	return facts{
		place: place{unit: "web.service", policy: trigger.DefaultPolicy(), folders: trigger.Folders{
			Spool: "/var/lib/trueup/web/spool", State: "/var/lib/trueup/web/state", Outbox: "/var/lib/trueup/web/outbox"}},
		now: noon, uptime: time.Hour, boot: bootID,
		state: trigger.State{Settled: trigger.Settled{Epoch: "E", N: 7, Covered: 7, CoveredUntil: covered, Finished: before(40 * time.Second)}},
		shown: trigger.Status{Version: 1, Unit: "web.service", Epoch: "E", Claims: 7, Settled: 7, CoveredUntil: &covered, State: trigger.Idle},
		systemd: &systemdFacts{TriggerState: units.TriggerState{
			Path: units.PathState{Since: noon.Add(-time.Hour), UnitState: units.UnitState{
				Unit: "web.path", Load: "loaded", File: "enabled", Active: "active", Sub: "waiting", Result: "success"}},
			Service: units.ServiceState{Since: noon.Add(-40 * time.Second), UnitState: units.UnitState{
				Unit: "web.service", Active: "inactive", Sub: "dead", Result: "success"}},
			Timers: []units.TimerState{{Next: noon.Add(3*time.Minute + 10*time.Second), UnitState: units.UnitState{
				Unit: "web.timer", Active: "active", Sub: "waiting"}}},
		}},
	}
}

func claim(attempt int, age time.Duration) *trigger.Claim {
	return &trigger.Claim{Epoch: "E", N: 8, Claimed: noon.Add(-age), At: time.Hour - age, Boot: bootID, Attempt: attempt, All: true}
}

// serve puts the service into a state, since then.
func (f *facts) serve(active, sub string, age time.Duration) {
	f.systemd.Service.Active, f.systemd.Service.Sub, f.systemd.Service.Since = active, sub, noon.Add(-age)
	f.systemd.Path.Sub = "running"
}

func (f *facts) stopPath() { f.systemd.Path.Active, f.systemd.Path.Sub = "inactive", "dead" }

var statusCases = []struct {
	name  string
	needs int
	spoil func(*facts)
}{
	{"well", 0, func(*facts) {}},
	{"floor", 0, func(f *facts) { f.state.Settled.Finished = before(18 * time.Second) }},
	{"never-ran", 0, func(f *facts) {
		f.systemd.Path.Since = noon.Add(-10 * time.Second)
		f.state, f.shown = trigger.State{}, trigger.Status{Version: 1, Epoch: "E", State: trigger.Idle}
	}},
	{"running", 0, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 5*time.Second)
		f.state.Claim.All, f.state.Claim.Requests = false, []string{"web:one", "web:two"}
		f.serve("activating", "start", 5*time.Second)
	}},
	{"retrying", 0, func(f *facts) { f.shown.State, f.state.Claim = trigger.Failing, claim(1, 12*time.Second) }},
	{"failing", 1, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Failing, claim(4, 70*time.Second)
		f.serve("activating", "start-pre", time.Minute) // the gate of the next attempt waits, which clears the last one's result
	}},
	{"third-attempt", 0, func(f *facts) { // two have failed
		f.shown.State, f.state.Claim = trigger.Running, claim(3, 5*time.Second)
		f.serve("activating", "start", 5*time.Second)
	}},
	{"many-names", 0, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 5*time.Second)
		f.state.Claim.All, f.state.Claim.Requests = false, strings.Split(strings.Repeat("web:x ", 1023)+"web:x", " ")
		f.serve("activating", "start", 5*time.Second)
	}},
	{"drifted", 1, func(f *facts) { f.systemd.Drifted = true }},
	{"unrecorded", 1, func(f *facts) { f.shown.State, f.asked = trigger.Failing, noon.Add(-time.Minute) }},
	{"overdue", 1, func(f *facts) { f.asked, f.state.Settled.Finished = noon.Add(-12*time.Minute), before(13*time.Minute) }},
	{"overdue-in-wait", 1, func(f *facts) {
		f.asked, f.state.Settled.Finished = noon.Add(-12*time.Minute), before(13*time.Minute)
		f.shown.State = trigger.Waiting
		f.serve("activating", "start-pre", 10*time.Second)
	}},
	{"asked-in-a-long-run", 0, func(f *facts) {
		f.asked, f.state.Settled.Finished = noon.Add(-50*time.Minute), before(2*time.Hour)
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 51*time.Minute)
		f.serve("activating", "start", 51*time.Minute)
	}},
	{"asked-before-a-long-run-ended", 0, func(f *facts) {
		f.asked, f.shown.State = noon.Add(-50*time.Minute), trigger.Waiting
		f.serve("activating", "start-pre", 10*time.Second)
	}},
	{"hostile", 1, func(f *facts) {
		f.trouble = trigger.Trouble{Needs: []string{"removing \x1b[2J\u009b0m\u202ex\nall is well"}, Seen: []string{"a\x9bb\a"}, SeenAt: noon}
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 5*time.Second)
		f.state.Claim.All, f.state.Claim.Requests = false, []string{"\x1b]0;x\a"}
	}},
	{"lock-is-no-file", 1, func(f *facts) {
		f.unit, f.systemd, f.policy = "", nil, trigger.Policy{}
		f.lockErr = errors.New("reading /var/lib/trueup/web/state/watch.lock: not a regular file")
	}},
	{"dead", 1, func(f *facts) { f.systemd.Path.Active, f.systemd.Path.Result = "failed", "unit-start-limit-hit" }},
	{"dead-without-timer", 2, func(f *facts) {
		f.systemd.Path.Active, f.systemd.Path.Result = "failed", "resources"
		f.systemd.Timers = nil
	}},
	{"backed-out", 0, func(f *facts) {
		f.stopPath()
		f.systemd.Path.File = "disabled"
	}},
	{"stopped", 0, func(f *facts) { f.stopPath() }},
	{"not-started", 1, func(f *facts) {
		f.stopPath()
		f.systemd.Path.Since = time.Time{}
	}},
	{"gone", 1, func(f *facts) { f.systemd.Path.Load = "not-found" }},
	{"unheard", 1, func(f *facts) { f.systemd.spoolUnwatched = true }},
	{"timer-stopped", 1, func(f *facts) { f.systemd.Timers[0].Active, f.systemd.Timers[0].Next = "inactive", time.Time{} }},
	{"timer-elapsed", 1, func(f *facts) { f.systemd.Timers[0].Sub, f.systemd.Timers[0].Next = "elapsed", time.Time{} }},
	{"timer-declined", 0, func(f *facts) {
		f.systemd.Timers, f.systemd.timerDeclined = nil, true
	}},
	{"run-hangs", 1, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 22*time.Minute)
		f.serve("activating", "start", 22*time.Minute)
		f.systemd.Service.Unbounded = true
	}},
	{"gate-hangs", 1, func(f *facts) {
		f.serve("activating", "start-pre", 2*time.Hour)
		f.systemd.Service.Unbounded = true
	}},
	{"unbounded", 0, func(f *facts) { f.systemd.Service.Unbounded = true }},
	{"no-folders", 3, func(f *facts) {
		f.spoolErr = errors.New("looking at /var/lib/trueup/web/spool: no such file or directory")
		f.stateErr = errors.New("opening folder /var/lib/trueup/web/state: no such file or directory")
		f.shownErr, f.shown = errors.New("opening folder /var/lib/trueup/web/outbox: no such file or directory"), trigger.Status{}
	}},
	{"damaged", 1, func(f *facts) {
		f.state.Damage = errors.New("decoding /var/lib/trueup/web/state/claim: unexpected end of JSON input")
	}},
	{"shared", 1, func(f *facts) { f.sharing = []string{"other.service"} }},
	{"trouble", 2, func(f *facts) {
		f.trouble = trigger.Trouble{Needs: []string{"the spool cannot be emptied, so it asks for a run every floor: removing sentinel: operation not permitted",
			"the outbox cannot be written: no space left on device; the web app sees its requests live later than they are"}}
	}},
	{"note", 0, func(f *facts) {
		f.trouble = trigger.Trouble{Seen: []string{`removed 3 entries from requests/ that cannot be requests: "a b"`}, SeenAt: noon.Add(-2 * time.Hour)}
	}},
	{"old-note", 0, func(f *facts) {
		f.trouble = trigger.Trouble{Seen: []string{"long forgotten"}, SeenAt: noon.Add(-25 * time.Hour)}
	}},
	{"user", 1, func(f *facts) { f.user, f.systemd.Path.Active, f.systemd.Path.Result = true, "failed", "resources" }},
	{"watch", 0, func(f *facts) { f.unit, f.systemd, f.policy, f.watch = "", nil, trigger.Policy{}, watchOn }},
	{"targets", 3, targets},
	{"targets-in-wait", 3, func(f *facts) {
		targets(f)
		f.shown.State, f.asked = trigger.Waiting, noon.Add(-5*time.Second)
		f.state.Settled.Finished = before(18 * time.Second)
		f.serve("activating", "start-pre", 5*time.Second)
	}},
	{"targets-in-run", 3, func(f *facts) {
		targets(f)
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 5*time.Second)
		f.serve("activating", "start", 5*time.Second)
	}},
	{"watch-stopped", 1, func(f *facts) { f.unit, f.systemd, f.policy, f.watch = "", nil, trigger.Policy{}, watchOff }},
}

// targets are one in each state.
func targets(f *facts) {
	f.unit = "trueup.service"
	ok := reconcile.Report{State: reconcile.OK}
	standing := func(name string, r reconcile.Report, covered time.Duration) reconcile.Standing {
		return reconcile.Standing{Target: reconcile.Key("command:" + name), Report: r, Since: noon.Add(-3 * time.Hour), Asked: 7, Covered: 9,
			CoveredAt: noon.Add(-covered), Ticked: noon.Add(-12 * time.Second)}
	}
	owed := func(s reconcile.Standing, reason string) reconcile.Standing {
		s.Asked, s.AskedAt, s.Reason = 11, noon.Add(-5*time.Second), reason
		return s
	}
	limited := owed(standing("api", reconcile.Report{State: reconcile.Limited, Note: "429"}, time.Hour), "")
	limited.NotBefore = noon.Add(20 * time.Minute)
	failing := owed(standing("git", reconcile.Report{State: reconcile.Failing, Note: "import acme/site: 422", Run: "r-9c2d0"}, 9*time.Minute), "")
	failing.Failures = 3
	f.site = &siteFacts{folders: f.folders, flags: " --name lab", standings: []reconcile.Standing{
		standing("proxy", ok, 12*time.Second), owed(standing("web", ok, 12*time.Second), "asked by claim 12 for everything"),
		owed(reconcile.Standing{Target: "command:new"}, "asked by claim 12 for everything"),
		{Target: "command:newer"}, failing, limited,
		owed(standing("team", reconcile.Report{State: reconcile.Held, Note: "41 removals of 98, more than 25 %", Run: "r-7f3k2"}, 2*time.Hour), ""),
		owed(standing("site", ok, time.Hour), "asked by claim 11 by name"), standing("disk", ok, time.Hour),
	}}
	f.site.holds = map[reconcile.Key]plan.Hold{"command:team": {Target: "command:team", Run: "r-7f3k2", Why: "41 removals of 98, more than 25 %"}}
	f.site.leases = []reconcile.Lease{{Target: "command:site", Holder: "tick on host-b, pid 7", Until: noon.Add(10 * time.Minute)}}
	item := reconcile.Item{ID: "swap-disk", State: reconcile.Blocked, Scopes: []reconcile.Scope{"command:disk"}, Since: noon.Add(-time.Hour)}
	item.Session.Holder = "ada"
	f.site.items = []reconcile.Item{item}
	f.site.reserved = map[reconcile.Key]reconcile.Item{"command:disk": item}
}

func TestStatusText(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, c := range statusCases {
		t.Run(c.name, func(t *testing.T) {
			f := well()
			c.spoil(&f)
			if got := f.needs(); len(got) != c.needs {
				t.Errorf("a person is needed for %d things, want %d: %v", len(got), c.needs, got)
			}
			golden(t, c.name, strings.Join(statusText([]facts{f}), "\n")+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "status", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestStatusOfSeveral shows that what needs a person comes first, whichever unit it is about.
func TestStatusOfSeveral(t *testing.T) {
	t.Setenv("TZ", "UTC")
	fine, alsoFine, dead, stopped := well(), well(), well(), well()
	fine.unit, dead.unit, stopped.unit, alsoFine.unit = "a.service", "b.service", "c.service", "d.service"
	dead.systemd.Path.Active, dead.systemd.Path.Result = "failed", "resources"
	stopped.systemd.Timers[0].Active, stopped.systemd.Timers[0].Next = "inactive", time.Time{}
	golden(t, "several", strings.Join(statusText([]facts{fine, dead, stopped}), "\n")+"\n")
	golden(t, "several-well", strings.Join(statusText([]facts{fine, alsoFine}), "\n")+"\n")
}

// TestHostileStatusJSON: also in JSON no control character reaches a terminal, and nothing is changed by that.
func TestHostileStatusJSON(t *testing.T) {
	f := well()
	names := []string{"\x1b[2J", "\u009b0m", "\u202ex", "\U000e0001", "\x7f", "é"}
	f.state.Claim = claim(1, 0)
	f.state.Claim.Requests = names
	var out strings.Builder
	if err := show(&ui{out: &out}, []facts{f}, true); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); i >= 0 {
		t.Errorf("a control character at %q", out.String()[i:i+4])
	}
	var got statusJSON
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || !slices.Equal(got.Claim.Requests, names) {
		t.Errorf("got %q, %v; want %q", got.Claim.Requests, err, names)
	}
}

// TestStatusJSON holds the contract: one object for one unit, several in units.
func TestStatusJSON(t *testing.T) {
	running := well()
	running.shown.State, running.state.Claim = trigger.Running, claim(2, 5*time.Second)
	running.state.Claim.All, running.state.Claim.Requests = false, []string{"web:one"}
	dead := well()
	dead.unit, dead.systemd.Path.Active, dead.systemd.Path.Result, dead.systemd.Service.Unbounded = "other.service", "failed", "resources", true
	bare := facts{now: noon, watch: watchOn}
	for name, reports := range map[string][]facts{"one": {running}, "several": {running, dead}, "bare": {bare}} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := show(&ui{out: &out}, reports, true); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"-json", out.String())
		})
	}
}
