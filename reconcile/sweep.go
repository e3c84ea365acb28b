package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Reconciler ticks declared targets under leases of its ledger.
type Reconciler struct {
	Ledger   Ledger
	Targets  []Target
	Tickers  map[Key]Ticker
	TTL      time.Duration // of a lease
	Parallel int           // how many targets are ticked at once
	Progress func(Progress)
}

// Progress is told as each tick begins and ends, from many goroutines.
type Progress struct {
	Target Key
	Report *Report // nil as the tick begins
	Done   int     // ticks that have ended
	Total  int     // ticks that are known to be due
}

// An Order is what a sweep is asked for.
type Order struct {
	// Claim is the trigger's claim of this very activation; nil for a sweep that was started by hand, which answers no
	// ticket. A claim of another activation must not be given: its number may not be published yet, and somebody may
	// still commit and read the number before.
	Claim *Claim
	Owing Wanted // everything that the claim owes
	Fresh Wanted // what of it came with this attempt
}

// Wanted is everything, or some targets.
type Wanted struct {
	All  bool
	Keys []Key
}

// An Outcome is what became of a sweep or a tick.
type Outcome struct {
	Reports map[Key]Report // of each target that was due
	Strange []Key          // asked for, and declared nowhere
	Gone    []Key          // forgotten, since they are no longer declared
	// Covered is the highest number of the order's epoch that no target lags behind, with the instant of its claim. It is
	// zero while some target has never covered one.
	Covered      uint64
	CoveredUntil time.Time
}

// Failed are the targets whose tick failed, in the order of their names.
func (o Outcome) Failed() []Key {
	var failed []Key
	for key, r := range o.Reports {
		if r.State == Failing || r.State == Uncertain {
			failed = append(failed, key)
		}
	}
	slices.Sort(failed)
	return failed
}

// Sweep records what the order asks for, ticks every target that is owed, and says how far tickets are covered.
//
// The order of things makes tickets true: asks are durable before anything is observed, each ask and each lease draws
// from one sequence, and only a tick whose fence is greater than an ask covers it. An error means that the ledger could
// not be read or written; failures of targets are in the outcome.
func (r *Reconciler) Sweep(ctx context.Context, order Order) (Outcome, error) {
	strange, err := r.record(ctx, order)
	if err != nil {
		return Outcome{}, fmt.Errorf("recording what is asked for: %w", err)
	}
	first := map[Key]bool{}
	for _, key := range order.Owing.Keys {
		first[key] = true
	}
	p := newPool(ctx, r)
	err = p.attend(func(standings map[Key]*Standing) []Target { return r.due(standings, first) })
	o := Outcome{Reports: p.reports, Strange: strange}
	if err != nil {
		return o, err
	}
	standings, err := r.standings(ctx)
	if err != nil {
		return o, err
	}
	if order.Claim != nil {
		o.Covered, o.CoveredUntil = r.covered(*order.Claim, standings)
	}
	o.Gone, err = r.forget(ctx, standings)
	return o, err
}

// Tick ticks one target, asked for or not. A *ReservedError says that somebody else holds a scope of it; it is owed then,
// and whoever gives the scope back looks for it.
func (r *Reconciler) Tick(ctx context.Context, key Key, reason string) (Report, error) {
	i := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Key == key })
	if i < 0 {
		return Report{}, fmt.Errorf("ticking %s: no such target is declared", key)
	}
	target := r.Targets[i]
	if err := r.Ledger.Commit(ctx, Batch{Ask: []Ask{{Targets: []Key{key}, Reason: reason}}}); err != nil {
		return Report{}, fmt.Errorf("recording what is asked for: %w", err)
	}
	p := newPool(ctx, r)
	begun := false
	err := p.attend(func(standings map[Key]*Standing) []Target {
		if !begun {
			begun = true
			return []Target{target}
		}
		return slices.DeleteFunc(r.due(standings, nil), func(t Target) bool { return !target.excludes(t) })
	})
	if err == nil && p.refused[key] != nil {
		err = p.refused[key]
	}
	return p.reports[key], err
}

// record makes durable what is asked for, once for each claim. Where the claim before this one is on record, what it
// owed is too, and only what is fresh is asked for; else everything that the claim owes is.
func (r *Reconciler) record(ctx context.Context, order Order) (strange []Key, err error) {
	for {
		var writes []Write
		wanted := order.Owing
		if order.Claim != nil {
			records, err := r.Ledger.Records(ctx, "claim", "last")
			if err != nil {
				return nil, err
			}
			write := Write{Family: "claim", Key: "last"}
			if write.Value, err = json.Marshal(order.Claim); err != nil {
				return nil, err
			}
			if len(records) > 0 {
				var last Claim
				if err := json.Unmarshal(records[0].Value, &last); err != nil {
					return nil, fmt.Errorf("reading the last claim on record: %w", err)
				}
				write.Revision = records[0].Revision
				switch {
				case last.Epoch == order.Claim.Epoch && last.N >= order.Claim.N:
					return nil, nil
				case last.Epoch == order.Claim.Epoch && last.N == order.Claim.N-1:
					wanted = order.Fresh
				}
			}
			writes = []Write{write}
		}
		known, strange := r.known(wanted)
		b := Batch{Records: writes}
		if len(known) > 0 {
			b.Ask = []Ask{{Targets: known, Reason: order.reason(), Claim: order.Claim}}
		}
		if err := r.Ledger.Commit(ctx, b); !errors.Is(err, ErrConflict) {
			return strange, err
		}
	}
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

// due are the targets to tick, in order: those asked for by name, then those that were covered longest ago.
func (r *Reconciler) due(standings map[Key]*Standing, first map[Key]bool) []Target {
	var due []Target
	for _, t := range r.Targets {
		s := standings[t.Key]
		if (s.Owed() || s.Fingerprint != t.Fingerprint) && s.NotBefore.IsZero() {
			due = append(due, t)
		}
	}
	slices.SortStableFunc(due, func(a, b Target) int {
		if first[a.Key] != first[b.Key] {
			return cmp.Compare(rank(first[a.Key]), rank(first[b.Key]))
		}
		return standings[a.Key].CoveredAt.Compare(standings[b.Key].CoveredAt)
	})
	return due
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func (r *Reconciler) standings(ctx context.Context) (map[Key]*Standing, error) {
	all, err := r.Ledger.Standings(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what is known of the targets: %w", err)
	}
	standings := make(map[Key]*Standing, max(len(all), len(r.Targets)))
	for i := range all {
		standings[all[i].Target] = &all[i]
	}
	for _, t := range r.Targets {
		if standings[t.Key] == nil {
			standings[t.Key] = &Standing{Target: t.Key} // nothing is known of it yet
		}
	}
	return standings, nil
}

// covered is the lowest of the numbers that the targets have covered.
func (r *Reconciler) covered(claim Claim, standings map[Key]*Standing) (uint64, time.Time) {
	lowest := claim
	for _, t := range r.Targets {
		s := standings[t.Key].Settled
		if s == nil || s.Epoch != claim.Epoch {
			return 0, time.Time{}
		}
		if s.N < lowest.N {
			lowest = *s
		}
	}
	return lowest.N, lowest.Claimed
}

// forget drops what is known of targets that are no longer declared.
func (r *Reconciler) forget(ctx context.Context, standings map[Key]*Standing) (gone []Key, err error) {
	for _, t := range r.Targets {
		delete(standings, t.Key)
	}
	for key := range standings {
		gone = append(gone, key)
	}
	if len(gone) == 0 {
		return nil, nil
	}
	slices.Sort(gone)
	return gone, r.Ledger.Commit(ctx, Batch{Forget: gone})
}
