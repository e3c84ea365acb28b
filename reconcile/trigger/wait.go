package trigger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// wait is what stands between an activation and its claim.
type wait struct {
	why     string
	until   time.Duration // on the boot clock; in the past when the window is clear
	phase   Phase
	hurried bool // a touch ends it as soon as the floor is over
}

// wait says how long this activation has to wait, from the state that it found. Readings that lie ahead of the
// clock are taken as now, so that nothing waits longer than the floor or its backoff.
func (g *Gate) wait(s State, start time.Duration) wait {
	floor := start + g.Policy.Floor
	if s.Damage != nil {
		return wait{why: "the state folder cannot be read", until: floor, phase: Failing}
	}
	if g.Clock.Boot() == "" {
		return wait{why: "the boot id cannot be read", until: floor, phase: Waiting}
	}
	if s.Claim == nil {
		at, known := s.Settled.Finished.reading(g.Clock)
		if !known {
			return wait{until: start, phase: Waiting} // never ran, or a boot ago: the floor is clear
		}
		return wait{why: "floor", until: at + g.Policy.Floor, phase: Waiting}
	}
	backoff := g.Policy.Backoff(s.Claim.Attempt)
	why := "backoff after failure " + strconv.Itoa(s.Claim.Attempt)
	if at, known := (Instant{Boot: s.Claim.Boot, At: s.Claim.At}).reading(g.Clock); known {
		return wait{why: why, until: max(at+backoff, floor), phase: Failing, hurried: true}
	}
	if s.Claim.Attempt < 3 {
		return wait{until: start, phase: Waiting} // a power cut: the run is due at boot
	}
	// A run that takes its host down must not loop it, however often it is asked for.
	return wait{why: why + ", counted from boot", until: min(g.Clock.Booted(), start) + backoff, phase: Failing}
}

// await waits, tells the service manager so, and returns early when a touch may hurry it.
func (g *Gate) await(ctx context.Context, w wait, start time.Duration) error {
	left := w.until - g.Clock.Now()
	if left <= 0 {
		return nil
	}
	at := g.Clock.Wall().Add(left)
	status := fmt.Sprintf("waiting until %s: %s", at.Format(time.TimeOnly), w.why)
	g.Tell(status, left)
	g.log(Event{ID: MsgWaiting, Priority: journal.PriInfo, Message: status, Fields: map[string]string{
		"TRUEUP_WAIT": w.why, "TRUEUP_UNTIL": at.Format(time.RFC3339Nano)}})
	if !w.hurried {
		return waitUntil(ctx, g.Clock, w.until)
	}
	if err := waitUntil(ctx, g.Clock, min(w.until, start+g.Policy.Floor)); err != nil {
		return err
	}
	_, err := awaitTouch(ctx, g.Clock, g.Folders.Spool, w.until)
	return err
}
