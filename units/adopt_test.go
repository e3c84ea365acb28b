package units_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// quick is a floor that tests can wait out.
var quick = trigger.Policy{Floor: time.Second, RetryMax: 2 * time.Second, Sweep: time.Hour}

// TestAdopt is what an operator does with a trigger, one boot for all of it.
func TestAdopt(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		for _, test := range []struct {
			name string
			run  func(*testing.T, host)
		}{
			{"plain", adoptPlain}, {"names", adoptNames}, {"replace", adoptReplaces}, {"timers", adoptTimers},
			{"mid run", adoptMidRun}, {"waiting gate", unadoptWaiting}, {"claim stands", unadoptClaim},
			{"refusals", refusesReal}, {"shared folders", refusesShared}, {"probe", probeSays}, {"options", adoptOptions},
			{"again", adoptAgain}, {"drift", adoptDrifted}, {"other user", adoptOtherUser}, {"gate", refusesGate},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(t, h) })
		}
	})
}

// oneshot is a service that appends to a log in its manager's home, so that a test sees what ran in which order.
func (h host) oneshot(name, more string) string {
	return fmt.Sprintf("[Service]\nType=oneshot\nTimeoutStartSec=60\nExecStart=/bin/sh -c 'echo run >>%s'\n%s", h.log(name), more)
}

func (h host) log(name string) string { return h.Home() + "/" + name + ".log" }

// awaitRuns waits until the log of a oneshot has so many runs, and its service is at rest.
func (h host) awaitRuns(t *testing.T, name string, want int) {
	t.Helper()
	h.eventually(t, fmt.Sprintf("%s has run %d times", name, want), func() bool {
		return strings.Count(h.read(t, h.log(name)), "run\n") >= want
	})
	h.state(t, name+".service", "inactive/dead")
}

// A service that lies where packages put it: nothing of its own in the administrator's folder, which for a user is
// not even there.
func adoptPlain(t *testing.T, h host) {
	vendor := "/usr/lib/systemd/system/"
	if h.IsUser() {
		vendor = "/usr/lib/systemd/user/"
	}
	h.Machine().WriteFile(t, vendor+"plain.service", h.oneshot("plain", ""), 0o644)
	h.MustSystemctl(t, "daemon-reload")
	before := h.unitFolders(t)

	dry := h.adopt(t, units.Adoption{Unit: "plain", Policy: quick, DryRun: true})
	h.same(t, before)
	got := h.adopt(t, units.Adoption{Unit: "plain", Policy: quick})
	if !slices.Equal(dry.ops(), got.ops()) {
		t.Errorf("--dry-run said %q, adopt did %q", dry.ops(), got.ops())
	}
	if len(got.Changes.Warnings) > 0 {
		t.Errorf("it warns of %q", got.Changes.Warnings)
	}
	h.verify(t, "plain.path", "plain.timer", "plain.service")
	adopted := h.unitFolders(t)
	if again := h.adopt(t, units.Adoption{Unit: "plain.service", Policy: quick}); len(again.ops()) > 0 {
		t.Errorf("a second adopt did %q", again.ops())
	}
	h.same(t, adopted)

	h.touch(t, got)
	h.awaitRuns(t, "plain", 1)
	h.touch(t, got)
	h.awaitRuns(t, "plain", 2)
	h.looksAlive(t, "plain")

	if list := h.drive(t, "list", struct{}{}).List; !slices.ContainsFunc(list, func(a units.Adoption) bool {
		return a.Unit == "plain.service" && a.Folders == got.Changes.Adoption.Folders && a.Policy == quick
	}) {
		t.Errorf("list does not have it: %+v", list)
	}
	h.unadopt(t, "plain", false)
	h.same(t, before)
	if h.read(t, got.Changes.Adoption.Folders.Outbox+"/status.json") == "" {
		t.Error("the folders are gone, though nobody said purge")
	}
	h.adopt(t, units.Adoption{Unit: "plain", Policy: quick})
	h.unadopt(t, "plain", true)
	h.same(t, before)
	if left := h.Sh(t, "ls -d "+path.Dir(got.Changes.Adoption.Folders.Spool)+" 2>/dev/null || true"); left != "" {
		t.Errorf("purge left %s", left)
	}
	if again := h.drive(t, "unadopt", units.Adoption{Unit: "plain"}); again.Kind != "refusal" {
		t.Errorf("unadopting twice: %+v", again)
	}
}

func (h host) looksAlive(t *testing.T, name string) {
	t.Helper()
	var s units.TriggerState
	defer func() {
		if t.Failed() {
			t.Logf("the trigger says %+v", s)
		}
	}()
	h.eventually(t, name+" has a path unit that watches and a timer that will fire", func() bool {
		s = h.drive(t, "trigger", units.Adoption{Unit: name}).Trigger
		return s.Prompt() && !s.Dead() && s.Path.File == "enabled" && s.Service.Load == "loaded" &&
			len(s.Timers) == 1 && s.Timers[0].Unit == name+".timer" && s.Timers[0].Next.After(time.Now())
	})
}

// verify fails the test on any word of systemd-analyze verify, whose exit code says little (F23). On 247 it leaves
// the user manager without its socket, so that from then on everything goes over the bus.
func (h host) verify(t *testing.T, names ...string) {
	t.Helper()
	args := append([]string{"systemd-analyze", h.Flag(), "verify"}, names...)
	out, err := h.Command(t.Context(), args...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// Instances, escapes, and folders with every character that means something to systemd.
func adoptNames(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "multi@.service", h.oneshot("multi", `ExecStartPre=/bin/sh -c 'test "%i" = "a\\x2db:c" || test "%i" = one'`+"\n"))
	for _, unit := range []string{"multi@one", `multi@a\x2db:c.service`} {
		got := h.adopt(t, units.Adoption{Unit: unit, Policy: quick})
		h.MustExec(t, "touch", got.Changes.Adoption.Folders.Spool+"/requests/r1")
	}
	h.eventually(t, "both instances have run", func() bool { return strings.Count(h.read(t, h.log("multi")), "run\n") >= 2 })
	h.verify(t, "multi@one.path") // it would take the other's colon for an alias
	h.unadopt(t, "multi@one", true)
	h.unadopt(t, `multi@a\x2db:c`, true)

	h.WriteUnit(t, "odd.service", h.oneshot("odd", "ProtectSystem=strict\nPrivateUsers=yes\nReadWritePaths="+h.Home()+"\n"))
	base := h.Home() + `/a b%n"c\d$HOME;e:f/`
	got := h.adopt(t, units.Adoption{Unit: "odd", Policy: quick, Folders: trigger.Folders{Spool: base + "spool", State: base + "state", Outbox: base + "outbox"}})
	h.touch(t, got)
	h.awaitRuns(t, "odd", 1)
	h.verify(t, "odd.path")
	h.unadopt(t, "odd", true)
	h.MustExec(t, "rmdir", strings.TrimSuffix(base, "/"))
	h.forget(t, before, "multi@.service", "odd.service")
}

// forget removes the test's own units and shows that nothing else is left.
func (h host) forget(t *testing.T, before string, files ...string) {
	t.Helper()
	for _, f := range files {
		h.MustExec(t, "rm", "-r", h.UnitDir()+"/"+f)
	}
	h.MustSystemctl(t, "daemon-reload")
	if before != "" {
		h.same(t, before)
	}
}

// A path unit of somebody else's, in use: it is not touched without --replace, and comes back as it was.
func adoptReplaces(t *testing.T, h host) {
	h.WriteUnit(t, "taken.service", h.oneshot("taken", ""))
	h.WriteUnit(t, "taken.path", "[Path]\nPathExists="+h.Home()+"/elsewhere\n\n[Install]\nWantedBy=paths.target default.target\n")
	h.MustSystemctl(t, "enable", "--now", "taken.path")
	before := h.unitFolders(t)
	got := h.drive(t, "adopt", units.Adoption{Unit: "taken", Policy: quick})
	if got.Kind != "refusal" || !strings.Contains(got.Error, "taken.path") || !strings.Contains(got.Hint, "--replace") {
		t.Errorf("adopting beside another's path unit: %+v", got)
	}
	h.same(t, before)
	got = h.adopt(t, units.Adoption{Unit: "taken", Policy: quick, Replace: true})
	if again := h.adopt(t, units.Adoption{Unit: "taken", Policy: quick, Replace: true}); len(again.ops()) > 0 {
		t.Errorf("a second adopt --replace did %q", again.ops())
	}
	h.touch(t, got)
	h.awaitRuns(t, "taken", 1)
	h.unadopt(t, "taken", true)
	h.same(t, before)
	h.state(t, "taken.path", "active/waiting")
	h.MustExec(t, "touch", h.Home()+"/elsewhere")
	h.awaitOther(t, "taken")
	h.MustSystemctl(t, "disable", "--now", "taken.path")
	h.forget(t, "", "taken.service", "taken.path")
}

// awaitOther waits for a second run, started by the path unit that came back, which then spins on its file.
func (h host) awaitOther(t *testing.T, name string) {
	t.Helper()
	h.eventually(t, "the old path unit starts it", func() bool { return strings.Count(h.read(t, h.log(name)), "run\n") >= 2 })
	h.MustExec(t, "rm", h.Home()+"/elsewhere")
}

// The unit's own timer stays the only one.
func adoptTimers(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "timed.service", h.oneshot("timed", ""))
	h.WriteUnit(t, "timed.timer", "[Timer]\nOnUnitActiveSec=1h\n[Install]\nWantedBy=timers.target\n")
	got := h.adopt(t, units.Adoption{Unit: "timed", Policy: quick})
	if got.Changes.OwnTimer || !slices.Equal(got.Changes.Timers, []string{"timed.timer"}) {
		t.Errorf("it has timers %v, own: %v", got.Changes.Timers, got.Changes.OwnTimer)
	}
	all := strings.Join(got.Changes.Warnings, "\n")
	for _, want := range []string{"alone never fires", "timed.timer is not active"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning that it %s in %q", want, all)
		}
	}
	h.unadopt(t, "timed", true)
	h.MustExec(t, "rm", h.UnitDir()+"/timed.timer")
	h.MustSystemctl(t, "daemon-reload")

	got = h.adopt(t, units.Adoption{Unit: "timed", Policy: quick, NoTimer: true})
	if len(got.Changes.Timers) > 0 || !strings.Contains(strings.Join(got.Changes.Warnings, "\n"), "no timer starts it") {
		t.Errorf("with --no-timer: %+v", got.Changes)
	}
	if got = h.adopt(t, units.Adoption{Unit: "timed"}); len(got.ops()) > 0 {
		t.Errorf("adopting again without --no-timer did %q", got.ops())
	}
	got = h.adopt(t, units.Adoption{Unit: "timed", AddTimer: true})
	h.state(t, "timed.timer", "active/waiting")
	got = h.adopt(t, units.Adoption{Unit: "timed", Policy: quick, NoTimer: true})
	if !slices.Contains(got.ops(), "remove "+h.UnitDir()+"/timed.timer") {
		t.Errorf("--no-timer did not take our timer away: %q", got.ops())
	}
	h.unadopt(t, "timed", true)
	h.forget(t, before, "timed.service")
}
