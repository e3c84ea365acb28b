package protocol

import (
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// interval: without any touch a run for everything comes again and again, whether the last one failed or not, and
// it takes a waiting request along. On systemd the timer is the unit's own, which adopting leaves alone (TMR-03).
func interval(t *testing.T, p place) {
	const every = 2 * time.Second
	o := options{name: "interval", policy: trigger.Policy{Floor: time.Second, Sweep: every}}
	if s, ok := p.(systemdPlace); ok {
		ownTimer(t, s.g, o.name, "1", every)
	}
	h := p.adopt(t, o)
	if h.manager() != nil {
		h.manager().MustSystemctl(t, "enable", "--now", o.name+".timer")
	}
	h.commit(t, 1)
	h.awaitCopied(t, 1, patience)
	h.tell(t, "fail", "once")
	h.commit(t, 2)
	h.awaitCopied(t, 2, patience)
	h.commit(t, 3)
	h.awaitCopied(t, 3, patience)
	for _, r := range h.attempts(t) {
		if !r.Claim.All {
			t.Errorf("a run that nobody asked for has the claim %+v", r.Claim)
		}
	}
	h.keepsFloor(t, h.attempts(t))
	if h.manager() != nil {
		h.manager().MustSystemctl(t, "disable", "--now", o.name+".timer")
	}
}

// ownTimer writes a timer that a unit has before it is adopted.
func ownTimer(t *testing.T, g *nspawn.Manager, name, first string, every time.Duration) {
	t.Helper()
	adopting.Lock()
	defer adopting.Unlock()
	g.WriteUnit(t, name+".timer", "[Timer]\nOnActiveSec="+first+"\nOnUnitInactiveSec="+every.String()+
		"\nAccuracySec=100ms\n[Install]\nWantedBy=timers.target\n")
}

// A start by hand while a gate waits merges into its run, and one on an idle host makes a run for everything.
func manualStart(t *testing.T, p place) {
	h := p.adopt(t, options{name: "manual", policy: floor(10 * time.Second)})
	h.commit(t, 1)
	h.start(t)
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	h.write(t, 2)
	h.eventually(t, patience, "a gate waits", func() bool { return h.status(t).State == trigger.Waiting })
	for range 3 {
		h.start(t)
	}
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 2 || !runs[0].Claim.All {
		t.Errorf("a start by hand, and a touch with three more, made %d runs", len(runs))
	}
	h.keepsFloor(t, runs)
}

// daemon-reload starts nothing when nothing is asked for (PATH-17), but for at most one run of a timer whose first
// time lies in the past (TMR-08). A run that is on goes on, and is followed by what was asked for meanwhile (TRG-17).
func daemonReload(t *testing.T, p place) {
	g := p.(systemdPlace).g
	ownTimer(t, g, "reload", "1", time.Hour)
	quiet := p.adopt(t, options{name: "reload-quiet"})
	h := p.adopt(t, options{name: "reload"})
	g.MustSystemctl(t, "start", "reload.timer") // fires once, after a second
	h.awaitAttempts(t, 0, 1, patience)
	h.awaitQuiet(t, patience)
	h.reload(t, 20)
	h.awaitQuiet(t, patience)
	if n := len(quiet.attempts(t)); n > 0 {
		t.Errorf("reloading with nothing to do made %d runs", n)
	}
	before := len(h.attempts(t))
	if before > 2 {
		t.Errorf("reloading made %d runs of an hourly timer", before-1)
	}
	h.tell(t, "slow", "2")
	h.write(t, 1)
	h.awaitAttempts(t, before, 1, patience)
	h.reload(t, 1)
	h.write(t, 2)
	h.reload(t, 1)
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	if runs := h.attempts(t)[before:]; len(runs) != 2 || !runs[0].good() || !runs[1].good() {
		t.Errorf("%d runs for two touches: %+v", len(runs), runs)
	}
	h.mustLive(t)
	quiet.mustLive(t)
}

// A reload while a gate waits longer than a run may take makes systemd forget that the gate asked for more time. The
// gate may be stopped then, but no touch is lost, nothing comes before its window is over, and the trigger lives.
func reloadedWait(t *testing.T, p place) {
	h := p.adopt(t, options{name: "waiting", policy: floor(6 * time.Second), timeout: 3 * time.Second})
	h.write(t, 1)
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	h.write(t, 2)
	h.eventually(t, patience, "a gate waits", func() bool { return h.status(t).State == trigger.Waiting })
	h.reload(t, 1)
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 2 {
		t.Fatalf("two touches made %d runs", len(runs))
	}
	h.followsWindow(t, runs[1], atOnce)
	h.mustLive(t)
}

func (h *host) reload(t *testing.T, times int) {
	t.Helper()
	for range times {
		h.manager().MustSystemctl(t, "daemon-reload")
	}
}

// The timer that adopt adds has a next time whatever happened: adopted or restarted long after boot, reloaded, the
// service failed, stopped, or run by others (TMR-03, TMR-06, F18).
func timerGoesOn(t *testing.T, p place) {
	h := p.adopt(t, options{name: "goes-on", timer: true})
	g := h.manager()
	for _, event := range []struct {
		what string
		do   func()
	}{
		{"it was adopted", func() {}},
		{"a reload", func() { h.reload(t, 1) }},
		{"it was restarted", func() { g.MustSystemctl(t, "restart", "goes-on.timer") }},
		{"a run", func() { h.write(t, 1); h.awaitCopied(t, 1, patience) }},
		{"a failed run", func() { h.tell(t, "fail", "once"); h.write(t, 2); h.awaitCopied(t, 2, patience) }},
		{"it was restarted after runs", func() { g.MustSystemctl(t, "restart", "goes-on.timer") }},
		{"a stopped run", func() {
			h.tell(t, "slow", "100")
			h.write(t, 3)
			h.awaitAttempts(t, len(h.attempts(t)), 1, patience)
			h.tell(t, "slow", "")
			g.MustSystemctl(t, "stop", "--no-block", "goes-on.service")
			h.awaitCopied(t, 3, patience)
		}},
	} {
		event.do()
		h.awaitQuiet(t, patience)
		h.eventually(t, patience, "the timer has a next time after "+event.what, func() bool {
			got := g.Show(t, "goes-on.timer", "ActiveState", "NextElapseUSecMonotonic")
			next := got["NextElapseUSecMonotonic"]
			return got["ActiveState"] == "active" && next != "" && next != "0" && next != "infinity"
		})
	}
}

// While the path unit is stopped or disabled, touches wait for the timer, which takes the sentinel along and leaves the
// path unit as the operator wants it.
func stoppedPath(t *testing.T, p place) {
	g := p.(systemdPlace).g
	ownTimer(t, g, "stopped", "1", 3*time.Second)
	h := p.adopt(t, options{name: "stopped", policy: floor(time.Second)})
	g.MustSystemctl(t, "disable", "--now", "stopped.path")
	ticket := h.write(t, 1)
	g.MustSystemctl(t, "start", "stopped.timer")
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	if !h.status(t).Covers(ticket) {
		t.Errorf("the ticket %v is not covered by %+v", ticket, h.status(t))
	}
	h.awaitAttempts(t, len(h.attempts(t)), 2, patience)
	if h.alive(t) == nil {
		t.Error("the timer's runs have started a path unit that was disabled")
	}
	g.MustSystemctl(t, "stop", "stopped.timer")
}
