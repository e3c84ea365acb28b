package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/reconcile"
)

// A Registry keeps requests in a ledger and grants them.
type Registry struct {
	Ledger reconcile.Ledger
	TTL    time.Duration  // of a grant that is not renewed by checkpoints
	Host   reconcile.Host // the node that is granted something; nil where the ledger is one host's alone
}

// A Request is work that waits.
type Request struct {
	Target reconcile.Key
	Scopes []reconcile.Scope // what its run holds besides the target
	// Requires are labels that the node must have which is granted it.
	Requires []string
	Plan     []byte // what is to be done, for whoever does it
	Reason   string // why, for people
	// Checkpoint is how far the last that was granted it has come; nil when nobody was, or said so.
	Checkpoint []byte
}

// Intake records a request, once it has returned without an error. It takes the place of one that waits for the same target.
func (r Registry) Intake(ctx context.Context, q Request) error {
	value := q.keep(0)
	ask := reconcile.Ask{Targets: []reconcile.Key{q.Target}, Reason: q.Reason, Aloud: true}
	for {
		before, err := r.record(ctx, reconcile.WaitingFamily, q.Target)
		if err != nil {
			return err
		}
		w := reconcile.Write{Family: reconcile.WaitingFamily, Key: string(q.Target), Revision: before.Revision, Value: value}
		err = r.Ledger.Commit(ctx, reconcile.Batch{Ask: []reconcile.Ask{ask}, Records: []reconcile.Write{w}})
		if !errors.Is(err, reconcile.ErrConflict) {
			return wrap(err, "recording a request for %s", q.Target)
		}
	}
}

// Grant is granted at most so many of the requests that wait and that this node may do, each with a lease on all its scopes.
// What was tried longest ago comes first. One whose scopes somebody holds waits on, and so does, for a while, one that failed.
func (r Registry) Grant(ctx context.Context, most int) ([]*Run, error) {
	if r.Host != nil {
		if takes, err := r.Host.Takes(ctx); err != nil || !takes {
			return nil, err
		}
	}
	waiting, err := r.free(ctx)
	if err != nil {
		return nil, err
	}
	var runs []*Run
	for len(waiting) > 0 && len(runs) < most {
		n := min(len(waiting), most-len(runs))
		more, err := r.bid(ctx, waiting[:n])
		if runs = append(runs, more...); err != nil {
			return runs, err // a lease that was granted all the same lapses, and what waits does so again
		}
		waiting = waiting[n:]
	}
	return runs, nil
}

// bid is granted what nobody else was quicker to be granted.
func (r Registry) bid(ctx context.Context, waiting []waiter) (runs []*Run, err error) {
	bids := make([]reconcile.Bid, len(waiting))
	for i, q := range waiting {
		bids[i] = reconcile.Bid{Target: q.Target, Scopes: q.holds(), Reason: q.Reason}
	}
	answers, err := r.Ledger.Grant(ctx, bids, r.TTL)
	if err != nil {
		return nil, fmt.Errorf("acquiring leases: %w", err)
	}
	for _, a := range answers {
		if a.Refused != nil {
			continue
		}
		run, err := r.take(ctx, a.Lease)
		if err != nil {
			return runs, err
		}
		if run != nil {
			run.failures = a.Standing.Failures
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// take makes the plan that waits the granted one, under its fence, unless the lease has one. Where somebody was quicker, and
// reported before this lease was granted, nothing waits any more, and the lease is given back.
func (r Registry) take(ctx context.Context, l reconcile.Lease) (*Run, error) {
	for {
		granted, err := r.record(ctx, reconcile.GrantedFamily, l.Target)
		if err != nil {
			return nil, err
		}
		switch q, f, err := decode(granted); {
		case err != nil:
			return nil, err
		case f == l.Fence:
			return &Run{Request: q, Lease: l, registry: r, revision: granted.Revision}, nil
		}
		waits, err := r.record(ctx, reconcile.WaitingFamily, l.Target)
		if err != nil {
			return nil, err
		}
		var writes []reconcile.Write
		from := granted
		switch {
		case waits.Revision > 0:
			from = waits
			writes = append(writes, reconcile.Write{Family: reconcile.WaitingFamily, Key: waits.Key, Revision: waits.Revision})
		case granted.Revision == 0:
			_, err = r.Ledger.Settle(ctx, []reconcile.Settlement{{Lease: l}})
			return nil, wrap(err, "giving %s back", l.Target)
		}
		q, _, err := decode(from)
		if err != nil {
			return nil, err
		}
		writes = append(writes, reconcile.Write{Family: reconcile.GrantedFamily, Key: from.Key, Revision: granted.Revision, Value: q.keep(l.Fence)})
		err = r.Ledger.Commit(ctx, reconcile.Batch{Under: l.Fence, Records: writes})
		switch {
		case errors.Is(err, reconcile.ErrConflict): // a later request
		case err != nil:
			return nil, wrap(err, "taking the plan of %s", l.Target)
		default:
			return &Run{Request: q, Lease: l, registry: r, revision: granted.Revision + 1}, nil
		}
	}
}

// Resume goes on with a run after a restart, by the fence that it was granted, with the plan that it was granted then.
// ErrLeaseLost when that is not, or no longer, the fence of a live lease.
func (r Registry) Resume(ctx context.Context, f reconcile.Fence) (*Run, error) {
	if err := r.Ledger.Check(ctx, f); err != nil {
		return nil, err
	}
	leases, err := r.Ledger.Leases(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading who holds what: %w", err)
	}
	for _, l := range leases {
		if l.Fence != f {
			continue
		}
		known, err := r.standings(ctx)
		if err != nil {
			return nil, err
		}
		run, err := r.take(ctx, l)
		if run != nil {
			run.failures = known[l.Target].Failures
		}
		return run, err
	}
	return nil, fmt.Errorf("resuming under fence %d: %w", f, reconcile.ErrLeaseLost)
}
