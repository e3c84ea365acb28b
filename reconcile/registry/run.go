package registry

import (
	"context"
	"fmt"
	"slices"

	"trueup/reconcile"
)

// A Run is a request that was granted.
type Run struct {
	Request
	Lease reconcile.Lease // its fence goes with whatever is written to the outside

	registry Registry
	revision int64 // of the granted plan
	failures int   // in a row, before it
}

// Checkpoint records how far the run has come, and prolongs its lease. ErrLeaseLost means that somebody else may be granted
// the plan, or was: nothing more is to be done.
func (r *Run) Checkpoint(ctx context.Context, how []byte) error {
	l := r.registry.Ledger
	lost, err := l.Renew(ctx, []reconcile.Fence{r.Lease.Fence}, r.registry.TTL)
	if err == nil && len(lost) > 0 {
		err = reconcile.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("prolonging the lease of %s: %w", r.Target, err)
	}
	q := r.Request
	q.Checkpoint = how
	w := reconcile.Write{Family: reconcile.GrantedFamily, Key: string(r.Target), Revision: r.revision, Value: q.keep(r.Lease.Fence)}
	if err := l.Commit(ctx, reconcile.Batch{Under: r.Lease.Fence, Records: []reconcile.Write{w}}); err != nil {
		return fmt.Errorf("recording how far %s is: %w", r.Target, err)
	}
	r.revision++
	r.Request = q
	return nil
}

// Report ends the run, in one transaction with the lease: it succeeded, or failed by an error. A failure that is not
// Terminal lets the plan wait again, with its last checkpoint, for a second at first and for twice as long after each
// further failure, five minutes at most; a terminal one drops it, so that what comes next is not kept waiting by it.
func (r *Run) Report(ctx context.Context, failure error) error {
	facts, err := r.closing(failure)
	if err != nil {
		return err
	}
	s := reconcile.Settlement{Lease: r.Lease, Facts: facts, Covered: failure == nil}
	s.Report = reconcile.Report{State: reconcile.OK, Run: r.Lease.Run, Own: r.Lease.Run}
	if failure != nil {
		s.Report.State, s.Report.Note, s.Report.Final = reconcile.Failing, failure.Error(), reconcile.IsTerminal(failure)
	}
	if failure == nil || s.Report.Final {
		s.Records = []reconcile.Write{{Family: reconcile.GrantedFamily, Key: string(r.Target), Revision: r.revision}}
	} else {
		s.Wait = pause(r.failures)
	}
	answers, err := r.registry.Ledger.Settle(ctx, []reconcile.Settlement{s})
	if err == nil {
		err = answers[0]
	}
	return wrap(err, "reporting %s", r.Target)
}

// closing is the run as events: it is opened as it ends.
func (r *Run) closing(failure error) ([]reconcile.Fact, error) {
	opened := reconcile.Leased{Lease: r.Lease}
	h, err := reconcile.Fold([]reconcile.Event{{Seq: 1, At: r.Lease.Since, Fact: opened}})
	if err != nil {
		return nil, err
	}
	end, err := h.Decide(reconcile.Close{Err: failure})
	return append([]reconcile.Fact{opened}, end...), err
}

// record is the target's record of a family; its revision is zero when there is none.
func (r Registry) record(ctx context.Context, family string, target reconcile.Key) (reconcile.Record, error) {
	records, err := r.Ledger.Records(ctx, family, string(target))
	if err != nil {
		return reconcile.Record{}, fmt.Errorf("reading the plan of %s: %w", target, err)
	}
	i := slices.IndexFunc(records, func(r reconcile.Record) bool { return r.Key == string(target) })
	if i < 0 {
		return reconcile.Record{}, nil
	}
	return records[i], nil
}

// wrap says what was being done, if there is an error.
func wrap(err error, doing string, about reconcile.Key) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(doing+": %w", about, err)
}
