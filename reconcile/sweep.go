package reconcile

import (
	"cmp"
	"context"
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
	Uptime   Uptime // of the host, by which leases end too; nil where it is not known
	// Owner tells reconcilers apart that share a ledger: their claims are numbered apart, and none forgets another's targets.
	Owner   string
	Host    Host      // which node it runs on; nil where the ledger is one host's alone
	Trigger Trigger   // of a sweep, for targets that a tick by hand gives reason to look at; none when nil
	Archive Archive   // of the ledger, which sweeps prune now and then; they do not when nil
	Keep    Retention // what they leave
}

// Progress is told as each tick begins and ends, and when it waits for long, from many goroutines.
type Progress struct {
	Target Key
	Report *Report // nil before the tick ends
	Waits  string  // what it waits for that no timeout ends; empty as the tick begins, and ends
	Done   int     // ticks that have ended
	Total  int     // ticks that are known to be due
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
	Pruned       Pruned // from the ledger
	PruneError   error  // why it was not; no failure of the sweep's
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
	strange, answers, err := r.record(ctx, order)
	if err != nil {
		return Outcome{}, fmt.Errorf("recording what is asked for: %w", err)
	}
	first := map[Key]bool{}
	for _, key := range order.Owing.Keys {
		first[key] = true
	}
	p := newPool(ctx, r)
	p.crowd.first, p.epoch = first, order.epoch()
	err = p.attend(func(standings map[Key]*Standing) []Target { return r.due(standings, first) })
	o := Outcome{Reports: p.reports, Strange: strange}
	if err != nil {
		return o, err
	}
	if answers {
		o.Covered, o.CoveredUntil = r.covered(*order.Claim, p.standing) // as it was read when nothing was due any more
	}
	if o.Gone, err = r.forget(ctx); err != nil {
		return o, err
	}
	o.Pruned, o.PruneError = r.prune(ctx)
	return o, nil
}

// Tick ticks one target, asked for or not. A *ReservedError says that somebody else holds a scope of it; it is owed then,
// and whoever gives the scope back looks for it.
func (r *Reconciler) Tick(ctx context.Context, key Key, reason string) (Report, error) {
	i := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Key == key })
	if i < 0 {
		return Report{}, fmt.Errorf("ticking %s: no such target is declared", key)
	}
	target := r.Targets[i]
	if err := r.refuse(ctx, target); err != nil {
		return Report{}, err
	}
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
		return slices.DeleteFunc(r.due(standings, nil), func(t Target) bool { return !p.excluded(t) })
	})
	if refused, ok := p.refused[key]; err == nil && ok {
		err = refused.why
	}
	if err == nil && r.Trigger != nil && len(p.reports[key].Notify) > 0 {
		err = r.Trigger.Notify(ctx, p.reports[key].Notify...)
	}
	return p.reports[key], err
}

// due are the targets to tick, in order: those asked for by name, then those that were covered longest ago.
func (r *Reconciler) due(standings map[Key]*Standing, first map[Key]bool) []Target {
	var due []Target
	for _, t := range r.Targets {
		s := standings[t.Key]
		if !r.fits(t) {
			continue // it is another node's to tick
		}
		if changed := s.Fingerprint != t.Fingerprint; changed || s.Owed() && s.NotBefore.IsZero() {
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

// standings are read with the claims of the order's epoch; without one there may be any.
func (r *Reconciler) standings(ctx context.Context, epoch string) (map[Key]*Standing, error) {
	all, err := r.Ledger.Standings(ctx, epoch)
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
		s, is := standings[t.Key].SettledOf(claim.Epoch)
		if !is {
			return 0, time.Time{}
		}
		if s.N < lowest.N {
			lowest = s
		}
	}
	return lowest.N, lowest.Claimed
}
