package plan

import (
	"context"
	"fmt"

	"trueup/reconcile"
)

// A Rejection is what became of the changes that a run held back when they were rejected.
type Rejection struct {
	Left reconcile.Plan // stay undone
	Done reconcile.Plan // were done under an approval before it was taken back
	// Running ticks the target: the change that it is at may be done all the same. Empty when no approval was taken back.
	Running reconcile.RunID
}

// Reject says that the changes that a run held back are not wanted, and why if there is a reason. They stay undone and are
// not raised again while exactly they wait. An approval that was given before is taken back: what has not been done under
// it is rejected, and raised again by another run where a part was done. It refuses a run that still runs, that was rejected
// before, whose hold is no longer what waits, or of whose approval nothing is left: a *RefusedError.
func Reject(ctx context.Context, l reconcile.Ledger, run reconcile.RunID, by, reason string) (Rejection, error) {
	var r Rejection
	err := untilSettled(func() (err error) {
		r, err = reject(ctx, l, run, by, reason)
		return err
	})
	if err != nil {
		return Rejection{}, fmt.Errorf("rejecting run %s: %w", run, err)
	}
	return r, nil
}

func reject(ctx context.Context, l reconcile.Ledger, run reconcile.RunID, by, reason string) (r Rejection, err error) {
	h, held, err := waiting(ctx, l, run, by)
	if err != nil {
		return r, err
	}
	target, approved := h.Lease.Target, h.Approval
	r.Left = h.Waiting()
	var taken []reconcile.Write
	if approved != nil {
		if taken, err = r.takeBack(ctx, l, target, run); err != nil {
			return r, err
		}
	}
	switch {
	case approved != nil && len(taken) == 0:
		return r, refused("nothing is left of what %s approved: it was done, is wanted no more, or the approval has ended; trueup history %s shows the runs",
			approved.By, target)
	case !held.there():
		return r, gone(h)
	}
	facts, err := h.Decide(reconcile.Reject{By: by, Reason: reason, Done: len(r.Done)})
	if err != nil {
		return r, &RefusedError{err}
	}
	if approved != nil { // before it counts: nothing may fail after that
		if r.Running, err = ticking(ctx, l, target); err != nil {
			return r, err
		}
	}
	b := verdict(h, facts, answered(held, rejected, by))
	b.Records = append(b.Records, taken...)
	b.Ask[0].Reason = fmt.Sprintf("run %s was rejected by %s", run, by)
	return r, l.Commit(ctx, b)
}

// takeBack finds what is left of a run's approval, splits the changes by it, and returns the writes that end it.
func (r *Rejection) takeBack(ctx context.Context, l reconcile.Ledger, target reconcile.Key, run reconcile.RunID) (writes []reconcile.Write, err error) {
	approvals, err := open[approval](ctx, l, approvalFamily, target)
	changes := r.Left
	r.Left = nil
	for _, c := range changes {
		if a := approvals.of(c.ID); a.value.Run == run {
			r.Left = append(r.Left, c)
			writes = append(writes, a.drop()...)
		} else {
			r.Done = append(r.Done, c)
		}
	}
	return writes, err
}

// ticking is the run that ticks a target now, if any.
func ticking(ctx context.Context, l reconcile.Ledger, target reconcile.Key) (reconcile.RunID, error) {
	leases, err := l.Leases(ctx)
	for _, lease := range leases {
		if lease.Target == target {
			return lease.Run, err
		}
	}
	return "", err
}
