package protocol

import (
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

const (
	startupBound  = 8 * time.Second // of a boot on a loaded host; the gates wait longer
	shutdownBound = 5 * time.Second
	bootBackoff   = 15 * time.Second
	atOnce        = 3 * time.Second // after a boot, or beside what loads the host; nothing that waits is as short
)

// boots is what happens at boot and shutdown (A8), for both managers of a machine at once.
func boots(t *testing.T, m *nspawn.Machine, places []place) {
	var all []*crew
	for _, p := range places {
		all = append(all, muster(t, p))
	}
	each := func(f func(*crew)) {
		for _, c := range all {
			f(c)
		}
	}
	baseline := m.Reboot(t)
	each(func(c *crew) { c.interrupt(t) })
	m.PowerCut(t)
	each(func(c *crew) { c.pending.touch(t) })
	m.Boot(t)
	up := uptime()
	each(func(c *crew) { c.resumes(t, up) })

	// A run that takes its host down: the third attempt still follows the boot, then the backoff counts from it.
	m.PowerCut(t)
	m.Boot(t)
	up = uptime()
	each(func(c *crew) { c.triesAgain(t, 3, up) })
	m.PowerCut(t)
	m.Boot(t)
	took := m.StartupTook(t)
	t.Logf("systemd %d: up in %v with gates in backoff", m.Version, took)
	if took > startupBound {
		t.Errorf("a waiting gate held up default.target for %v", took)
	}
	each(func(c *crew) { c.waits(t) })
	off := m.PowerOff(t)
	t.Logf("systemd %d: off in %v with gates in backoff, %v without", m.Version, off, baseline)
	if off > shutdownBound {
		t.Errorf("a waiting gate held up the shutdown: %v, and %v without", off, baseline)
	}
	before := uptime()
	m.Boot(t)
	after := uptime()
	each(func(c *crew) { c.waits(t); c.asks(t) })
	each(func(c *crew) { c.backsOff(t, before, after) })
}

// A crew is the hosts of one manager that go through the boots.
type crew struct{ idle, pending, cut, killer *host }

// muster adopts them. Their floor is so long that only a boot clears it.
func muster(t *testing.T, p place) *crew {
	t.Helper()
	long := floor(10 * time.Minute)
	ownTimer(t, p.(systemdPlace).g, "boot-cut", "0", time.Hour)
	return &crew{
		idle:    p.adopt(t, options{name: "boot-idle", policy: long}),
		pending: p.adopt(t, options{name: "boot-pending", policy: long}),
		cut:     p.adopt(t, options{name: "boot-cut", policy: long}),
		killer:  p.adopt(t, options{name: "boot-killer", policy: trigger.Policy{Floor: bootBackoff / 3, RetryMax: bootBackoff}}),
	}
}

// interrupt brings two of the hosts into the middle of a run. One has a timer that fires at boot as well.
func (c *crew) interrupt(t *testing.T) {
	t.Helper()
	for _, h := range []*host{c.cut, c.killer} {
		h.tell(t, "slow", "1000")
		h.write(t, 1)
		h.awaitAttempts(t, 0, 1, patience)
	}
	c.cut.tell(t, "slow", "")
	c.cut.manager().MustSystemctl(t, "enable", "boot-cut.timer")
}

// resumes holds the boot after that to its word: what was cut off, and what was asked for while the power was off,
// runs at once, though nobody has logged in (USR-09), and once, though a timer fires as well (LCK-23, TMR-12);
// where nothing was asked for nothing runs (PATH-14).
func (c *crew) resumes(t *testing.T, up time.Duration) {
	t.Helper()
	c.triesAgain(t, 2, up)
	c.cut.awaitCopied(t, 1, patience)
	c.pending.awaitAttempts(t, 0, 1, patience)
	c.cut.awaitQuiet(t, patience)
	c.pending.awaitQuiet(t, patience)
	for _, h := range []*host{c.idle, c.pending, c.cut, c.killer} {
		h.awaitLive(t) // a user's manager may come to its path units after the system's default.target
	}
	if n := len(c.idle.attempts(t)); n > 0 {
		t.Errorf("nobody asked, and the boot made %d runs", n)
	}
	if n := len(c.cut.attempts(t)); n != 2 {
		t.Errorf("a run that was cut off, and the boot after it, made %d runs", n)
	}
}

// triesAgain expects an attempt of the killer at once after a boot.
func (c *crew) triesAgain(t *testing.T, attempt int, up time.Duration) {
	t.Helper()
	claim := c.killer.awaitAttempts(t, attempt-1, 1, patience)[0].Claim
	if late := claim.At - up; late > atOnce || claim.Attempt != attempt {
		t.Errorf("%v after the boot came the claim %+v, want attempt %d within %v", late, claim, attempt, atOnce)
	}
}

// waits expects the killer's gate to wait.
func (c *crew) waits(t *testing.T) {
	t.Helper()
	c.killer.eventually(t, patience, "a gate waits", func() bool { return !c.killer.resting() })
	if n := len(c.killer.attempts(t)); n != 3 {
		t.Errorf("a run that has taken its host down three times has begun %d times", n)
	}
	c.killer.mustLive(t)
}

// asks mends the killer and asks for a run, which must not hurry the gate.
func (c *crew) asks(t *testing.T) {
	t.Helper()
	c.killer.tell(t, "slow", "")
	c.killer.write(t, 2)
}

// backsOff expects the fourth attempt when the backoff is over, counted from a boot that lay between the two
// instants, whatever was asked for meanwhile.
func (c *crew) backsOff(t *testing.T, before, after time.Duration) {
	t.Helper()
	claim := c.killer.awaitAttempts(t, 3, 1, bootBackoff+patience)[0].Claim
	const tick = 10 * time.Millisecond // the kernel tells when PID 1 began in these, rounded down
	if !within(claim.At, before+bootBackoff-tick, after+bootBackoff+prompt) {
		t.Errorf("attempt 4 came %v after the boot began and %v after it was done, the backoff is %v", claim.At-before, claim.At-after, bootBackoff)
	}
	c.killer.awaitCopied(t, 2, patience)
	c.killer.awaitQuiet(t, patience)
}
