package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"trueup/reconcile"
)

// kept is a request as a record.
type kept struct {
	Scopes     []reconcile.Scope `json:"scopes,omitempty"`
	Requires   []string          `json:"requires,omitempty"`
	Plan       []byte            `json:"plan"`
	Reason     string            `json:"reason"`
	Checkpoint []byte            `json:"checkpoint,omitempty"`
	Fence      reconcile.Fence   `json:"fence,omitempty"` // of the last lease under which it was granted
}

// keep is the request as the value of a record.
func (q Request) keep(f reconcile.Fence) []byte {
	value, _ := json.Marshal(kept{q.Scopes, q.Requires, q.Plan, q.Reason, q.Checkpoint, f}) // texts, bytes and a number
	return value
}

// decode reads a request's record, and the fence of its last lease; nothing where there is none.
func decode(r reconcile.Record) (Request, reconcile.Fence, error) {
	if r.Revision == 0 {
		return Request{}, 0, nil
	}
	var k kept
	if err := json.Unmarshal(r.Value, &k); err != nil {
		return Request{}, 0, fmt.Errorf("reading the plan of %s: its record is damaged: %w", r.Key, err)
	}
	return Request{reconcile.Key(r.Key), k.Scopes, k.Requires, k.Plan, k.Reason, k.Checkpoint}, k.Fence, nil
}

// holds are the scopes that its run holds.
func (q Request) holds() []reconcile.Scope {
	return reconcile.Target{Key: q.Target, Scopes: q.Scopes}.Holds()
}

// A waiter is a request that waits.
type waiter struct {
	Request
	again bool // it was granted before
}

// Waiting lists the requests that nobody has been granted, by target. It lapses leases that have expired first, as every
// write does.
func (r Registry) Waiting(ctx context.Context) ([]Request, error) {
	leases, err := r.leases(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := r.waiting(ctx, leases)
	requests := make([]Request, len(waiting))
	for i, q := range waiting {
		requests[i] = q.Request
	}
	return requests, err
}

// leases are the live leases.
func (r Registry) leases(ctx context.Context) ([]reconcile.Lease, error) {
	if err := r.Ledger.Commit(ctx, reconcile.Batch{}); err != nil {
		return nil, fmt.Errorf("lapsing what has expired: %w", err)
	}
	leases, err := r.Ledger.Leases(ctx)
	if err != nil {
		err = fmt.Errorf("reading who holds what: %w", err)
	}
	return leases, err
}

// waiting are the requests whose targets no lease is on, by target.
func (r Registry) waiting(ctx context.Context, leases []reconcile.Lease) ([]waiter, error) {
	seen := map[reconcile.Key]bool{}
	for _, l := range leases {
		seen[l.Target] = true
	}
	var waiting []waiter
	for _, family := range []string{reconcile.WaitingFamily, reconcile.GrantedFamily} { // of two the later
		records, err := r.Ledger.Records(ctx, family, "")
		if err != nil {
			return nil, fmt.Errorf("reading what waits: %w", err)
		}
		for _, found := range records {
			q, _, err := decode(found)
			if err != nil {
				return nil, err
			}
			if !seen[q.Target] {
				seen[q.Target] = true
				waiting = append(waiting, waiter{q, family == reconcile.GrantedFamily})
			}
		}
	}
	slices.SortFunc(waiting, func(a, b waiter) int { return cmp.Compare(a.Target, b.Target) })
	return waiting, nil
}

// free are the requests that this node may be granted now, in the order in which it is.
func (r Registry) free(ctx context.Context) ([]waiter, error) {
	leases, err := r.leases(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := r.waiting(ctx, leases)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	held, err := r.held(ctx, leases)
	if err != nil {
		return nil, err
	}
	known, err := r.standings(ctx)
	if err != nil {
		return nil, err
	}
	waiting = slices.DeleteFunc(waiting, func(q waiter) bool {
		return q.again && !known[q.Target].NotBefore.IsZero() || r.Host != nil && !r.Host.Meets(q.Requires) ||
			slices.ContainsFunc(q.holds(), func(s reconcile.Scope) bool { return held[s] })
	})
	slices.SortStableFunc(waiting, func(a, b waiter) int {
		a1, b1 := known[a.Target], known[b.Target]
		return cmp.Or(a1.Ticked.Compare(b1.Ticked), a1.AskedAt.Compare(b1.AskedAt))
	})
	return waiting, nil
}

// held are the scopes that leases and work items hold.
func (r Registry) held(ctx context.Context, leases []reconcile.Lease) (map[reconcile.Scope]bool, error) {
	held := map[reconcile.Scope]bool{}
	for _, l := range leases {
		for _, s := range l.Scopes {
			held[s] = true
		}
	}
	work, is := r.Ledger.(reconcile.WorkLedger)
	if !is {
		return held, nil
	}
	items, err := work.Items(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what is reserved: %w", err)
	}
	for _, i := range items {
		for _, s := range i.Scopes {
			held[s] = true
		}
	}
	return held, nil
}

// standings are what is known of the targets.
func (r Registry) standings(ctx context.Context) (map[reconcile.Key]reconcile.Standing, error) {
	all, err := r.Ledger.Standings(ctx, "") // no claim asks for what the registry has
	if err != nil {
		return nil, fmt.Errorf("reading what became of earlier requests: %w", err)
	}
	known := make(map[reconcile.Key]reconcile.Standing, len(all))
	for _, s := range all {
		known[s.Target] = s
	}
	return known, nil
}

// longest is how long what fails waits at most before it is granted again.
const longest = 5 * time.Minute

// pause is how long what has failed so often before waits after another failure.
func pause(failures int) time.Duration {
	return min(time.Second<<min(failures, 10), longest)
}
