package trigger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
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

// errOvertaken means that another gate has claimed or settled since this one looked at the state folder.
var errOvertaken = errors.New("another gate came first")

// Claim waits until a run may start, takes over what the spool asks for and returns the claim. It returns
// ErrUnrecorded when the run is to go on without one, and the context's error when it was told to stop.
//
// The order is the protocol: wait, read, record the claim, unlink, publish its number. A kill between any two
// steps leaves either the requests or the claim; the path unit watches both.
func (g *Gate) Claim(ctx context.Context) (Claim, error) {
	start := g.Clock.Now()
	found, err := ReadState(g.Folders.State)
	found.Damage = errors.Join(err, found.Damage)
	g.reportDamage(found.Damage)
	r, w, err := g.claimInTurn(ctx, found, start)
	if err != nil {
		return Claim{}, err
	}
	spool := openSpool(g.Folders.Spool)
	defer spool.close()
	g.reportTaken(spool.take(r.seen, r.claim.Fresh.All, g.Clock.Wall()))
	g.show(ctx, r.state, r.claim.Epoch, r.claim.N, Running)
	g.noteTrouble(spool, r.seen)
	g.reportClaimed(r.claim, w, g.Clock.Now()-start)
	return r.claim, nil
}

// claimInTurn waits and records the claim. How long to wait was read before the lock was had: a gate that finds under
// it that another came first waits again, from the state that it found there.
func (g *Gate) claimInTurn(ctx context.Context, found State, start time.Duration) (recorded, wait, error) {
	for {
		w := g.wait(found, start)
		if w.until > start {
			g.showWait(ctx, found, w.phase)
			if err := g.await(ctx, w, start); err != nil {
				return recorded{}, w, err
			}
		}
		if err := ctx.Err(); err != nil {
			return recorded{}, w, err
		}
		r, err := g.recordOrWait(ctx, found, start)
		if !errors.Is(err, errOvertaken) {
			return r, w, err
		}
		found, start = r.state, g.Clock.Now()
	}
}

// recorded is a claim, and what it was made from.
type recorded struct {
	claim Claim
	seen  present
	state State
}

// recordOrWait is record, tried once more when a floor has passed where the state folder refuses.
func (g *Gate) recordOrWait(ctx context.Context, found State, start time.Duration) (recorded, error) {
	r, err := g.record(ctx, found)
	if err == nil || errors.Is(err, errOvertaken) || ctx.Err() != nil {
		return r, err
	}
	g.reportUnrecorded(err)
	g.showWait(ctx, found, Failing)
	if err := g.await(ctx, wait{why: "the claim cannot be recorded", until: start + g.Policy.Floor}, start); err != nil {
		return r, err
	}
	r, err = g.record(ctx, found)
	if err == nil || errors.Is(err, errOvertaken) || ctx.Err() != nil {
		return r, err
	}
	g.noteUnrecorded(r.seen)
	return r, fmt.Errorf("%w: %w", ErrUnrecorded, err)
}

// record reads the spool and writes the claim for what it asks for, joined with what is still owed.
func (g *Gate) record(ctx context.Context, found State) (recorded, error) {
	d, err := openState(g.Folders.State)
	if err != nil {
		return recorded{}, err
	}
	defer d.close()
	release, err := lock(ctx, d, g.Clock) // a settle that hung and woke must not look before this and remove after it
	if err != nil {
		return recorded{}, err
	}
	defer release()
	r := recorded{state: readState(d)}
	if r.state.mark() != found.mark() {
		return r, errOvertaken
	}
	spool := openSpool(g.Folders.Spool)
	defer spool.close()
	r.seen = spool.read()
	r.claim = g.next(r.state, r.seen)
	return r, writeDurable(d, claimFile, 0o600, r.claim)
}

// next is the claim for what is asked for and what is still owed.
func (g *Gate) next(state State, seen present) Claim {
	epoch, last := g.numbering(state)
	claim := Claim{
		Epoch: epoch, N: last + 1, Attempt: 1, Invocation: g.Invocation,
		Claimed: g.Clock.Wall(), At: g.Clock.Now(), Boot: g.Clock.Boot(),
		All:      seen.everything() || g.sweepDue(state.Settled.Full),
		Touched:  seen.everything(),
		Requests: seen.names,
	}
	owed := state.Claim
	if owed != nil {
		claim.Attempt = owed.Attempt + 1
		claim.All, claim.Touched = claim.All || owed.All, claim.Touched || owed.Touched
		claim.Requests = union(owed.Requests, seen.names)
	}
	if len(claim.Requests) > maxRequests {
		claim.Requests = nil
	}
	if len(claim.Requests) == 0 {
		claim.All = true // nothing is asked for by name: the timer's run, or too many names to tell apart
	}
	claim.Fresh, claim.Full = g.fresh(claim, owed, seen)
	return claim
}

// fresh is what of a claim this attempt takes up, and when everything last was. What is owed from before is fresh again
// only where somebody asks, and once a sweep interval, however long it fails.
func (g *Gate) fresh(claim Claim, owed *Claim, seen present) (fresh Asked, full Instant) {
	if claim.All && (owed == nil || !owed.All || seen.everything() || g.sweepDue(owed.Full)) {
		return Asked{All: true}, now(g.Clock)
	}
	if owed != nil {
		full = owed.Full
	}
	return Asked{Requests: seen.names}, full
}

// numbering is the epoch and the last number used in it. An outbox that does not fit the state folder shows that one
// of the two is old, come back from a backup or from under a mount: numbers were used already, or tickets were drawn
// that what is settled must not cover. So a new epoch begins.
func (g *Gate) numbering(s State) (epoch string, last uint64) {
	epoch, last = s.numbering()
	covered, _ := s.Settled.coveredIn(epoch)
	shown, err := ReadStatus(g.Folders.Outbox)
	switch {
	case last == math.MaxUint64:
		return newEpoch(), 0
	case err != nil: // nothing is shown, so no ticket can have been drawn from it
	case shown.Epoch == epoch && (shown.Claims > last || shown.Claims < covered),
		shown.Epoch != epoch && covered > 0:
		return newEpoch(), 0
	}
	return epoch, last
}

// sweepDue tells whether everything was last seen to longer ago than the sweep interval, so that a steady stream of
// single requests cannot starve the full run.
func (g *Gate) sweepDue(last Instant) bool {
	at, known := last.reading(g.Clock)
	return !known || g.Clock.Now()-at >= g.Policy.Sweep
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
