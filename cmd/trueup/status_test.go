package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
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
		systemd: &systemdFacts{pathLoaded: true, pathEnabled: true, pathActive: "active", pathSub: "waiting", pathResult: "success",
			pathStarted: true, service: "inactive", serviceSub: "dead", serviceResult: "success", serviceSince: noon.Add(-40 * time.Second),
			timer: "web.timer", timerActive: true, nextSweep: noon.Add(3*time.Minute + 10*time.Second)},
	}
}

func claim(attempt int, age time.Duration) *trigger.Claim {
	return &trigger.Claim{Epoch: "E", N: 8, Claimed: noon.Add(-age), At: time.Hour - age, Boot: bootID, Attempt: attempt, All: true}
}

var statusCases = []struct {
	name  string
	needs int
	spoil func(*facts)
}{
	{"well", 0, func(*facts) {}},
	{"floor", 0, func(f *facts) { f.state.Settled.Finished = before(18 * time.Second) }},
	{"never-ran", 0, func(f *facts) {
		f.state, f.shown = trigger.State{}, trigger.Status{Version: 1, Epoch: "E", State: trigger.Idle}
	}},
	{"running", 0, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 5*time.Second)
		f.state.Claim.All, f.state.Claim.Requests = false, []string{"web:one", "web:two"}
		f.systemd.pathSub, f.systemd.service, f.systemd.serviceSub = "running", "activating", "start"
	}},
	{"retrying", 0, func(f *facts) { f.shown.State, f.state.Claim = trigger.Failing, claim(1, 12*time.Second) }},
	{"failing", 1, func(f *facts) {
		f.shown.State, f.state.Claim, f.systemd.serviceResult = trigger.Failing, claim(4, 70*time.Second), "exit-code"
	}},
	{"dead", 1, func(f *facts) { f.systemd.pathActive, f.systemd.pathResult = "failed", "unit-start-limit-hit" }},
	{"dead-without-timer", 2, func(f *facts) {
		f.systemd.pathActive, f.systemd.pathResult = "failed", "resources"
		f.systemd.timer, f.systemd.timerActive, f.systemd.nextSweep = "", false, time.Time{}
	}},
	{"backed-out", 0, func(f *facts) {
		f.systemd.pathActive, f.systemd.pathSub, f.systemd.pathEnabled = "inactive", "dead", false
	}},
	{"stopped", 0, func(f *facts) { f.systemd.pathActive, f.systemd.pathSub = "inactive", "dead" }},
	{"not-started", 1, func(f *facts) {
		f.systemd.pathActive, f.systemd.pathSub, f.systemd.pathStarted = "inactive", "dead", false
	}},
	{"gone", 1, func(f *facts) { f.systemd.pathLoaded = false }},
	{"unheard", 1, func(f *facts) { f.systemd.spoolUnwatched = true }},
	{"timer-stopped", 1, func(f *facts) { f.systemd.timerActive, f.systemd.nextSweep = false, time.Time{} }},
	{"timer-elapsed", 1, func(f *facts) { f.systemd.timerElapsed, f.systemd.nextSweep = true, time.Time{} }},
	{"timer-declined", 0, func(f *facts) {
		f.systemd.timer, f.systemd.timerActive, f.systemd.nextSweep, f.systemd.timerDeclined = "", false, time.Time{}, true
	}},
	{"run-hangs", 1, func(f *facts) {
		f.shown.State, f.state.Claim = trigger.Running, claim(1, 22*time.Minute)
		f.systemd.service, f.systemd.serviceSub, f.systemd.serviceSince = "activating", "start", noon.Add(-22*time.Minute)
		f.systemd.unbounded, f.systemd.pathSub = true, "running"
	}},
	{"gate-hangs", 1, func(f *facts) {
		f.systemd.service, f.systemd.serviceSub, f.systemd.serviceSince = "activating", "start-pre", noon.Add(-2*time.Hour)
		f.systemd.unbounded, f.systemd.pathSub = true, "running"
	}},
	{"unbounded", 0, func(f *facts) { f.systemd.unbounded = true }},
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
	{"user", 1, func(f *facts) { f.user, f.systemd.pathActive, f.systemd.pathResult = true, "failed", "resources" }},
	{"watch", 0, func(f *facts) { f.unit, f.systemd, f.policy, f.watch = "", nil, trigger.Policy{}, watchOn }},
	{"watch-stopped", 1, func(f *facts) { f.unit, f.systemd, f.policy, f.watch = "", nil, trigger.Policy{}, watchOff }},
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
			golden(t, c.name, strings.Join(statusText(f), "\n")+"\n")
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

// TestStatusJSON holds the contract: one object for one unit, several in units.
func TestStatusJSON(t *testing.T) {
	running := well()
	running.shown.State, running.state.Claim = trigger.Running, claim(2, 5*time.Second)
	running.state.Claim.All, running.state.Claim.Requests = false, []string{"web:one"}
	dead := well()
	dead.unit, dead.systemd.pathActive, dead.systemd.pathResult, dead.systemd.unbounded = "other.service", "failed", "resources", true
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
