package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// Gate is one activation's way through the trigger: Claim before the run, Settle after its success.
type Gate struct {
	Folders    Folders
	Policy     Policy
	Unit       string // the unit's name, for status.json and the journal
	Invocation string // identifies this activation; Settle settles no other's claim
	Clock      Clock
	Log        func(Event)                              // takes the journal entries
	Tell       func(status string, needs time.Duration) // tells the service manager what is waited for, and how long

	trouble Trouble // what this activation has met
}

// ErrUnrecorded means that the state folder refused the claim. The requests stay in the spool, the whole floor
// has been waited out, and the run is to go on: it will be asked for again.
var ErrUnrecorded = errors.New("the claim could not be recorded")

// Claim waits until a run may start, takes over what the spool asks for and returns the claim. It returns
// ErrUnrecorded when the run is to go on without one, and the context's error when it was told to stop.
//
// The order is the protocol: wait, read, record the claim, unlink, publish its number. A kill between any two
// steps leaves either the requests or the claim; the path unit watches both.
func (g *Gate) Claim(ctx context.Context) (Claim, error) {
	start := g.Clock.Now()
	state, err := ReadState(g.Folders.State)
	g.reportDamage(errors.Join(err, state.Damage))
	epoch, last := state.numbering()

	w := g.wait(state, start)
	if err != nil {
		w = wait{why: "the state folder cannot be read", until: start + g.Policy.Floor, phase: Failing}
	}
	if state.recorded(epoch) && w.until > g.Clock.Now() {
		g.show(state, epoch, last, w.phase)
	}
	if err := g.await(ctx, w, start); err != nil {
		return Claim{}, err
	}
	claim, seen, err := g.record(state, epoch, last+1)
	if err != nil {
		g.reportUnrecorded(err)
		if err := g.await(ctx, wait{why: "the claim cannot be recorded", until: start + g.Policy.Floor}, start); err != nil {
			return Claim{}, err
		}
		if claim, seen, err = g.record(state, epoch, last+1); err != nil {
			return Claim{}, fmt.Errorf("%w: %w", ErrUnrecorded, err)
		}
	}
	spool := openSpool(g.Folders.Spool)
	defer spool.close()
	g.reportTaken(spool.take(seen, claim.All))
	g.show(state, epoch, claim.N, Running)
	g.noteTrouble()
	g.reportClaimed(claim, w, g.Clock.Now()-start)
	return claim, nil
}

// record reads the spool and writes the claim for what it asks for, joined with what is still owed.
func (g *Gate) record(state State, epoch string, n uint64) (Claim, present, error) {
	spool := openSpool(g.Folders.Spool)
	defer spool.close()
	seen := spool.read()
	claim := Claim{
		Epoch: epoch, N: n, Attempt: 1, Invocation: g.Invocation,
		Claimed: g.Clock.Wall(), At: g.Clock.Now(), Boot: g.Clock.Boot(),
		All:      seen.everything() || g.sweepDue(state.Settled),
		Requests: seen.names,
	}
	if owed := state.Claim; owed != nil {
		claim.Attempt = owed.Attempt + 1
		claim.All = claim.All || owed.All
		claim.Requests = union(owed.Requests, seen.names)
	}
	if len(claim.Requests) > maxRequests {
		claim.Requests = nil
	}
	if len(claim.Requests) == 0 {
		claim.All = true // nothing is asked for by name: the timer's run, or too many names to tell apart
	}
	d, err := openState(g.Folders.State)
	if err != nil {
		return Claim{}, seen, err
	}
	defer d.close()
	return claim, seen, writeDurable(d, claimFile, 0o600, claim)
}

// sweepDue tells whether the last success for everything is older than the sweep interval, so that a steady
// stream of single requests cannot starve the full run.
func (g *Gate) sweepDue(s Settled) bool {
	age, known := s.Full.since(g.Clock)
	return !known || age >= g.Policy.Sweep
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

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
		return wait{why: "the state folder is damaged", until: floor, phase: Failing}
	}
	if s.Claim == nil {
		age, known := s.Settled.Finished.since(g.Clock)
		if !known {
			return wait{until: start, phase: Waiting} // never ran, or a boot ago: the floor is clear
		}
		return wait{why: "floor", until: start - age + g.Policy.Floor, phase: Waiting}
	}
	backoff := g.Policy.Backoff(s.Claim.Attempt)
	why := "backoff after failure " + strconv.Itoa(s.Claim.Attempt)
	if age, known := (Instant{Boot: s.Claim.Boot, At: s.Claim.At}).since(g.Clock); known {
		return wait{why: why, until: max(start-age+backoff, floor), phase: Failing, hurried: true}
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

// show publishes the number and the phase. A number that could not be published is never shown as settled
// (see Settle), so a failure costs promptness and no truth.
func (g *Gate) show(s State, epoch string, n uint64, phase Phase) {
	if g.Folders.Outbox == "" {
		return
	}
	if err := g.publish(g.status(s, epoch, n, phase)); err != nil {
		g.reportOutbox(err)
	}
}

func (g *Gate) status(s State, epoch string, n uint64, phase Phase) Status {
	status := Status{Version: 1, Unit: g.Unit, Epoch: epoch, Claims: n, State: phase}
	var until time.Time
	if status.Settled, until = s.Settled.coveredIn(epoch); !until.IsZero() {
		status.CoveredUntil = &until
	}
	return status
}

func (g *Gate) publish(status Status) error {
	outbox, err := openDir(g.Folders.Outbox)
	if err != nil {
		return err
	}
	defer outbox.close()
	if state, err := openDir(g.Folders.State); err == nil { // without a state folder there is nobody to exclude
		defer state.close()
		release, err := lock(state, g.Clock)
		if errors.Is(err, errLocked) {
			return err
		}
		if err == nil {
			defer release()
		}
	}
	return publish(outbox, status)
}

func (g *Gate) reportClaimed(c Claim, w wait, waited time.Duration) {
	what := "everything"
	if !c.All {
		what = strings.Join(c.Requests, ", ")
	}
	g.Tell(fmt.Sprintf("claim %d, attempt %d", c.N, c.Attempt), 0)
	g.log(Event{ID: MsgClaimed, Priority: journal.PriInfo,
		Message: fmt.Sprintf("claim %d for %s, attempt %d", c.N, what, c.Attempt),
		Fields: map[string]string{
			"TRUEUP_CLAIM": strconv.FormatUint(c.N, 10), "TRUEUP_ATTEMPT": strconv.Itoa(c.Attempt),
			"TRUEUP_ALL": strconv.FormatBool(c.All), "TRUEUP_REQUESTS": strings.Join(c.Requests, " "),
			"TRUEUP_WAIT": cmp.Or(w.why, "none"), "TRUEUP_WAITED_USEC": strconv.FormatInt(waited.Microseconds(), 10),
		}})
}
