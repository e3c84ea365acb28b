package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/reconcile"
)

// An Allowance is a person's leave to do what a run held back.
type Allowance struct {
	Run    reconcile.RunID
	By     string        // who, for people
	Digest string        // of what the person saw; empty for whatever the run holds back
	For    time.Duration // how long it lasts: what is not done by then waits anew
}

// A RefusedError says why a verdict does not count, and what to do. Every other error of a verdict is the ledger's.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

func (e *RefusedError) Unwrap() error { return e.Err }

func refused(format string, args ...any) error { return &RefusedError{fmt.Errorf(format, args...)} }

// Approve allows the changes that a run held back, each of them once, and asks for their target, in one transaction. It
// returns the changes. It refuses a run that still runs, that was approved before, or whose hold is no longer what waits,
// and says what to do then: a *RefusedError. A rejected run can be approved: a person may think better of it, unless an
// approval of it was used in part before it was taken back.
func Approve(ctx context.Context, l reconcile.Ledger, a Allowance) (reconcile.Plan, error) {
	var changes reconcile.Plan
	err := untilSettled(func() (err error) {
		changes, err = a.approve(ctx, l)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("approving run %s: %w", a.Run, err)
	}
	return changes, nil
}

// untilSettled gives a verdict on what waits now, again where that changes meanwhile.
func untilSettled(verdict func() error) error {
	for {
		if err := verdict(); !errors.Is(err, reconcile.ErrConflict) {
			return err
		}
	}
}

func (a Allowance) approve(ctx context.Context, l reconcile.Ledger) (reconcile.Plan, error) {
	if a.For <= 0 {
		return nil, refused("an approval that lasts %s allows nothing; give it a longer time", a.For)
	}
	h, held, err := waiting(ctx, l, a.Run, a.By)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Approval != nil:
		return nil, refused("%s approved it already, until %s; what is not done by then is asked anew, by another run; trueup reject %s takes the approval back",
			h.Approval.By, h.Approval.Until.Local().Format(time.DateTime), a.Run)
	case !held.there():
		return nil, gone(h)
	}
	if a.Digest == "" {
		a.Digest = h.Hold.Digest
	}
	until := time.Now().Add(a.For).Truncate(time.Second)
	facts, err := h.Decide(reconcile.Approve{By: a.By, Digest: a.Digest, Until: until})
	if err != nil {
		return nil, refused("%w; look at what it holds back with trueup show %s", err, a.Run)
	}
	target := h.Lease.Target
	before, err := open[approval](ctx, l, approvalFamily, target)
	if err != nil {
		return nil, err
	}
	b := verdict(h, facts, answered(held, approved, a.By))
	for _, c := range h.Waiting() {
		b.Records = append(b.Records, before.of(c.ID).put(approval{Run: a.Run, By: a.By, Until: until, Change: c}, a.For))
	}
	b.Ask[0].Reason = fmt.Sprintf("run %s was approved by %s", a.Run, a.By)
	return h.Waiting(), l.Commit(ctx, b)
}

// waiting reads a run and the hold of its target, which must be about each other.
func waiting(ctx context.Context, l reconcile.Ledger, run reconcile.RunID, by string) (h reconcile.History, held kept[hold], err error) {
	if by == "" {
		return h, held, refused("nobody says so; name who does")
	}
	events, err := l.Events(ctx, run)
	if err != nil {
		return h, held, err
	}
	if h, err = reconcile.Fold(events); err != nil {
		return h, held, err
	}
	if held, err = find[hold](ctx, l, heldFamily, string(h.Lease.Target)); err != nil {
		return h, held, err
	}
	switch now := held.value.Run; {
	case h.Hold == nil:
		return h, held, refused("it holds nothing back")
	case h.Phase == reconcile.Running:
		return h, held, refused("it still runs; try again when it has ended")
	case held.there() && now != run:
		return h, held, refused("other changes wait for approval by now; look at them with trueup show %s", now)
	}
	return h, held, nil
}

// gone refuses a run of whose changes none waits.
func gone(h reconcile.History) error {
	return refused("nothing of it waits any more; trueup plan %s shows what would be done now", h.Lease.Target)
}

// verdict is what a person's word comes to: the fact, the answer, and a tick that heeds it.
func verdict(h reconcile.History, facts []reconcile.Fact, answer reconcile.Write) reconcile.Batch {
	return reconcile.Batch{
		Append:  []reconcile.Append{{Run: h.Lease.Run, Expected: h.Seq(), Facts: facts}},
		Records: []reconcile.Write{answer},
		Ask:     []reconcile.Ask{{Targets: []reconcile.Key{h.Lease.Target}, Aloud: true}},
	}
}

// answered is the write that keeps a person's answer with the hold.
func answered(held kept[hold], a answer, by string) reconcile.Write {
	held.value.Answer, held.value.By = a, by
	return held.put(held.value, 0)
}
