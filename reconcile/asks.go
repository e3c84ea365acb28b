package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// An Order is what a sweep is asked for.
type Order struct {
	// Claim is the trigger's claim of this very activation; nil for a sweep that was started by hand, which answers no
	// ticket. A claim of another activation must not be given: its number may not be published yet, and somebody may
	// still commit and read the number before.
	Claim *Claim
	Owing Wanted // everything that the claim owes
	Fresh Wanted // what of it came with this attempt
}

// epoch is the claim's; empty without one.
func (o Order) epoch() string {
	if o.Claim == nil {
		return ""
	}
	return o.Claim.Epoch
}

// Wanted is everything, or some targets.
type Wanted struct {
	All     bool
	Touched bool // somebody asked for everything, and not a timer alone
	Keys    []Key
}

// A Trigger asks for a sweep soon. It is a hint: what is asked of each target stands in the ledger, and the next sweep, whoever
// starts it, finds it there.
type Trigger interface {
	Notify(ctx context.Context, targets ...Key) error
}

// record makes durable what is asked for, once for each claim, and tells whether the sweep answers the claim's tickets.
// Where the claim before this one is on record, what it owed is too, and only what is fresh is asked for; else everything
// that the claim owes is. Numbers that go back have been given before, by a trigger whose folder was put back since: what
// was settled under them is no answer to who asks now, so everything is ticked and no ticket covered.
func (r *Reconciler) record(ctx context.Context, order Order) (strange []Key, answers bool, err error) {
	_, strange = r.known(order.Owing)
	if err := r.Alone(ctx, order.epoch()); err != nil {
		return nil, false, err
	}
	for {
		b, wanted, claim, begins := Batch{}, order.Owing, order.Claim, false
		if claim != nil {
			last, write, err := r.lastClaim(ctx, *claim)
			begins = last.Epoch != claim.Epoch
			if last.Epoch != claim.Epoch && last.Epoch != "" {
				b.Gone, last = []string{last.Epoch}, Claim{}
			}
			switch {
			case err != nil:
				return nil, false, err
			case last.N == claim.N && last.Claimed.Equal(claim.Claimed):
				return strange, true, nil // asked for already, by a sweep that was cut short
			case last.N >= claim.N:
				claim = nil
			default:
				b.Records = []Write{write}
			}
			if claim != nil && last.N == claim.N-1 && last.N > 0 {
				wanted = order.Fresh
			}
		}
		known, lost := r.known(wanted)
		b.Strange = len(lost)
		asks := r.asks(known, wanted, Ask{Reason: order.reason(), Claim: claim})
		err := r.ask(ctx, asks, b)
		if err == nil && begins {
			err = r.begun(ctx, claim)
		}
		if !errors.Is(err, ErrConflict) {
			return strange, claim != nil, err
		}
	}
}

// ask commits asks one by one, so that others can draw numbers in between: with the first what is declared, lest another
// host forgets what it was just asked for, and with the last the batch. Who is cut short asks for everything again.
func (r *Reconciler) ask(ctx context.Context, asks []Ask, last Batch) error {
	declares, err := r.declares(ctx)
	if err != nil {
		return err
	}
	for ; len(asks) > 1; asks, declares = asks[1:], nil {
		if err := r.Ledger.Commit(ctx, Batch{Ask: asks[:1], Records: declares}); err != nil {
			return err
		}
	}
	last.Ask, last.Records = asks, append(last.Records, declares...)
	return r.Ledger.Commit(ctx, last)
}

// lastClaim is the last claim on record, zero when there is none, and the write that puts this one there. One of another
// epoch was of a trigger that is gone.
func (r *Reconciler) lastClaim(ctx context.Context, claim Claim) (last Claim, write Write, err error) {
	write = Write{Family: claimFamily, Key: r.owner()}
	if write.Value, err = json.Marshal(claim); err != nil {
		return last, write, err
	}
	found, err := r.ownRecord(ctx, claimFamily)
	if err != nil || found.Revision == 0 {
		return last, write, err
	}
	write.Revision = found.Revision
	if err := json.Unmarshal(found.Value, &last); err != nil {
		return last, write, fmt.Errorf("reading the last claim on record: %w", err)
	}
	return last, write, nil
}

func (r *Reconciler) owner() string {
	if r.Owner == "" {
		return "sweep"
	}
	return r.Owner
}

// ownRecord is this reconciler's record of a family; its revision is zero when there is none.
func (r *Reconciler) ownRecord(ctx context.Context, family string) (Record, error) {
	records, err := r.Ledger.Records(ctx, family, r.owner())
	if err != nil {
		return Record{}, err
	}
	for _, found := range records {
		if found.Key == r.owner() {
			return found, nil
		}
	}
	return Record{}, nil
}

func (o Order) reason() string {
	switch {
	case o.Claim == nil:
		return "asked by hand"
	case o.Fresh.All || len(o.Fresh.Keys) == 0:
		return fmt.Sprintf("asked by claim %d for everything", o.Claim.N)
	}
	return fmt.Sprintf("asked by claim %d by name", o.Claim.N)
}

// known splits what is wanted into declared targets and others.
func (r *Reconciler) known(w Wanted) (known, strange []Key) {
	declared := map[Key]bool{}
	for _, t := range r.Targets {
		declared[t.Key] = true
		if w.All {
			known = append(known, t.Key)
		}
	}
	for _, key := range w.Keys {
		switch {
		case !declared[key]:
			strange = append(strange, key)
		case !w.All:
			known = append(known, key)
		}
	}
	return known, strange
}
