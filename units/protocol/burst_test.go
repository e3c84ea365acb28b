package protocol

import (
	"math"
	"testing"
	"time"
)

// prompt is how soon after its window a claim must follow, and after a touch on an idle host.
const prompt = 500 * time.Millisecond

// patience bounds everything that should happen at once; it is generous, for a loaded host.
const patience = 30 * time.Second

// A lone touch on an idle host starts a run at once, and its ticket is covered when that has succeeded
// (TRG-19, USR-11: read back what works, not what is enabled).
func loneTouch(t *testing.T, p place) {
	h := p.adopt(t, options{name: "lone", policy: floor(10 * time.Second)})
	before := uptime()
	ticket := h.write(t, 1)
	if h.status(t).Covers(ticket) {
		t.Error("the ticket is covered before anything has run")
	}
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 1 {
		t.Fatalf("one touch made %d runs", len(runs))
	}
	// How soon on an idle host, the benchmark says; here other machines run and boot beside this one.
	if delay := runs[0].Claim.At - before; delay > 3*time.Second {
		t.Errorf("the claim came %v after the touch", delay)
	}
	if !h.status(t).Covers(ticket) {
		t.Errorf("the ticket %v is not covered by %+v", ticket, h.status(t))
	}
	h.mustLive(t)
}

// A burst of 10,000 touches becomes a run at once and at most one for each window of the floor that it lasts,
// the last of them after the last touch and as soon as its window clears (A2, PATH-08, TRG-07).
func burst(t *testing.T, p place) {
	const touches, pace, floorTime = 10_000, time.Millisecond, 3 * time.Second
	h := p.adopt(t, options{name: "burst", policy: floor(floorTime)})
	began := uptime()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range touches {
		if i%100 == 0 {
			h.commit(t, i+1)
		}
		h.touch(t)
		<-tick.C
	}
	last := uptime()
	h.write(t, touches)
	lasted := uptime() - began
	h.awaitCopied(t, touches, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	most := 2 + int(math.Ceil(lasted.Seconds()/floorTime.Seconds()))
	if len(runs) < 2 || len(runs) > most {
		t.Errorf("%d touches in %v made %d runs, want 2 to %d", touches, lasted, len(runs), most)
	}
	h.followsWindow(t, runs[len(runs)-1], prompt)
	// A claim's time is taken before it looks: what comes in between it takes along. That it was read, the copy shows.
	if at := runs[len(runs)-1].Claim.At; at < last-pace {
		t.Errorf("the last claim came %v before the last touch", last-at)
	}
	h.keepsFloor(t, runs)
	h.mustLive(t)
}

// With the default floor a burst after an idle time makes one run at once and one when the window clears (A2).
func window(t *testing.T, p place) {
	h := p.adopt(t, options{name: "window", policy: floor(30 * time.Second)})
	began := uptime()
	h.write(t, 1)
	h.awaitCopied(t, 1, patience)
	for i := range 200 {
		h.write(t, i+2)
	}
	h.awaitCopied(t, 201, 30*time.Second+patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 2 {
		t.Fatalf("the burst made %d runs, want 2", len(runs))
	}
	if delay := runs[0].Claim.At - began; delay > atOnce {
		t.Errorf("the first claim came %v after the first touch", delay)
	}
	h.followsWindow(t, runs[1], prompt)
	h.mustLive(t)
}

// Touches without end do not put a run off: one is claimed as soon as each window clears (TRG-12).
func touchesWithoutEnd(t *testing.T, p place) {
	lasting := either(10*time.Minute, 8*time.Second)
	h := p.adopt(t, options{name: "endless", policy: floor(time.Second)})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	written := 0
	for until := uptime() + lasting; uptime() < until; <-tick.C {
		written++
		h.write(t, written)
	}
	h.awaitCopied(t, written, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	for _, r := range runs[1:] {
		h.followsWindow(t, r, atOnce)
	}
	if least := int(lasting / (h.policy.Floor + 3*prompt)); len(runs) < least {
		t.Errorf("%v of touches made %d runs, want at least %d", lasting, len(runs), least)
	}
	h.keepsFloor(t, runs)
	h.mustLive(t)
}

// followsWindow holds a run that was waited for to the moment when its window cleared.
func (h *host) followsWindow(t *testing.T, r attempt, most time.Duration) {
	t.Helper()
	late := r.Claim.At - r.Settled.Finished.At - h.policy.Floor
	if !within(late, 0, most) {
		t.Errorf("claim %d of %s came %v after its window cleared, want 0 to %v", r.Claim.N, h.name, late, most)
	}
}
