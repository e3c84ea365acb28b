package ledgertest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
)

func leases() []test {
	return []test{
		{"two race for a scope", race},
		{"scopes are granted all or none", allOrNone},
		{"a bid's refusal is no other's", refusals},
		{"fences grow", fencesGrow},
		{"stale and made-up fences are refused", staleFences},
		{"renewing prolongs", renewing},
		{"another process does not renew", renewingOthers},
	}
}

// race lets two processes ask for one scope at once, often: one gets it, and the other is told by whom it was taken. With TRUEUP_PROVE=1 it
// does so a thousand times.
func race(b bench) {
	rivals := [2]bench{b, b.another()}
	seen := map[reconcile.Fence]bool{}
	rounds := 100
	if os.Getenv("TRUEUP_PROVE") == "1" {
		rounds = 1000
	}
	for round := range rounds {
		shared := reconcile.Scope(fmt.Sprintf("shared/%d", round))
		var answers [2][]reconcile.Answer
		var errs [2]error
		var both sync.WaitGroup
		for i, rival := range rivals {
			both.Go(func() {
				target := reconcile.Key(fmt.Sprintf("test:%d-%d", i, round))
				answers[i], errs[i] = rival.l.Grant(b.Context(), []reconcile.Bid{bid(target, shared)}, ttl)
			})
		}
		both.Wait()
		b.must(errors.Join(errs[:]...))
		winner := slices.IndexFunc(answers[:], func(a []reconcile.Answer) bool { return a[0].Refused == nil })
		if winner < 0 {
			b.Fatalf("round %d: nobody got the scope", round)
		}
		lease := answers[winner][0].Lease
		by, is := errors.AsType[*reconcile.ReservedError](answers[1-winner][0].Refused)
		if !is || by.Run != lease.Run || !slices.Equal(by.Scopes, []reconcile.Scope{shared}) {
			b.Fatalf("round %d: %s got the scope, and the other answer is %+v", round, lease.Run, answers[1-winner][0])
		}
		if seen[lease.Fence] {
			b.Fatalf("round %d: fence %d a second time", round, lease.Fence)
		}
		seen[lease.Fence] = true
	}
}

func allOrNone(b bench) {
	holder := b.grant("test:one", "x").Lease
	by := b.reserved(bid("test:two", "w", "x", "y"))
	if !slices.Equal(by.Scopes, []reconcile.Scope{"x"}) || by.Run != holder.Run || by.Holder != holder.Holder || !by.Until.Equal(holder.Until) {
		b.Errorf("refused by %+v, want scope x of %+v", by, holder)
	}
	b.grant("test:three", "w", "y") // what the refused bid had asked for beside x is free
	by = b.reserved(bid("test:four", "y", "w"))
	if !slices.Equal(by.Scopes, []reconcile.Scope{"y", "w"}) {
		b.Errorf("refused for %v, want both scopes that the run holds", by.Scopes)
	}
	b.reserved(bid("test:one")) // a target is a scope of its own
	b.must(b.settle(reconcile.Settlement{Lease: holder}))
	if got := b.grant("test:two", "x").Lease; !slices.Equal(got.Scopes, []reconcile.Scope{"test:two", "x"}) {
		b.Errorf("granted scopes %v", got.Scopes)
	}
}

func refusals(b bench) {
	bids := []reconcile.Bid{bid("test:one", "x"), bid("test:two", "x"), bid("test:three", "y"), bid("test:one")}
	answers, err := b.l.Grant(b.Context(), bids, ttl)
	b.must(err)
	for i, granted := range []bool{true, false, true, false} {
		if (answers[i].Refused == nil) != granted || granted && answers[i].Lease.Target != bids[i].Target {
			b.Errorf("answer %d is %+v, want granted %t", i, answers[i], granted)
		}
	}
	live, err := b.l.Leases(b.Context())
	b.must(err)
	if len(live) != 2 || live[0].Target != "test:one" || live[1].Target != "test:three" {
		b.Fatalf("live leases: %+v", live)
	}
	want := answers[2].Lease
	got := live[1]
	if got.Fence != want.Fence || got.Run != want.Run || !slices.Equal(got.Scopes, want.Scopes) || got.Holder != want.Holder ||
		got.Reason != "a test" || !got.Since.Equal(want.Since) || !got.Until.Equal(want.Since.Add(ttl)) {
		b.Errorf("listed as %+v, granted as %+v", got, want)
	}
}

// fencesGrow holds for leases and asks alike, and whoever draws them: they are one sequence.
func fencesGrow(b bench) {
	last := reconcile.Fence(0)
	grows := func(what string, f reconcile.Fence) {
		b.Helper()
		if f <= last {
			b.Errorf("%s drew %d after %d", what, f, last)
		}
		last = f
	}
	names := map[reconcile.RunID]bool{}
	for range 3 {
		for _, who := range []bench{b, b.another()} {
			l := who.grant("test:one").Lease
			grows("a lease", l.Fence)
			if names[l.Run] {
				b.Errorf("run %s is named twice", l.Run)
			}
			names[l.Run] = true
			who.ask(nil, "test:one", "test:two")
			grows("an ask", who.standing("test:one").Asked)
			if one, two := who.standing("test:one"), who.standing("test:two"); one.Asked != two.Asked {
				b.Errorf("one ask drew %d and %d", one.Asked, two.Asked)
			}
			b.must(who.settle(reconcile.Settlement{Lease: l}))
		}
	}
}

// staleFences: a hold that is over, or never was, writes nothing (PGL-11).
func staleFences(b bench) {
	stale := b.started("test:one")
	b.closed(stale, false)
	later := b.grant("test:one").Lease
	for name, f := range map[string]reconcile.Fence{"stale": stale.Fence, "made-up": later.Fence + 100} {
		b.Run(name, func(t *testing.T) {
			b := bench{T: t, store: b.store, l: b.l}
			b.refused(b.l.Check(b.Context(), f), reconcile.ErrLeaseLost)
			batch := reconcile.Batch{Under: f, Records: []reconcile.Write{{Family: "marker", Key: name, Value: []byte("x")}}}
			b.refused(b.l.Commit(b.Context(), batch), reconcile.ErrLeaseLost)
			b.refused(b.append(f, stale.Run, 3, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
			lease := later
			lease.Fence = f
			b.refused(b.settle(quiet(lease)), reconcile.ErrLeaseLost)
			lost, err := b.l.Renew(b.Context(), []reconcile.Fence{f, later.Fence}, ttl)
			b.must(err)
			if !slices.Equal(lost, []reconcile.Fence{f}) {
				b.Errorf("renewing lost %v, want %d", lost, f)
			}
			if left := b.records("marker", ""); len(left) > 0 {
				b.Errorf("what was refused was written: %+v", left)
			}
		})
	}
	b.must(b.l.Check(b.Context(), later.Fence))
	borrowed := quiet(later)
	borrowed.Lease.Target = "test:two" // a live fence of another target
	b.refused(b.settle(borrowed), reconcile.ErrLeaseLost)
}

func renewing(b bench) {
	l := b.grant("test:one").Lease
	for range 3 {
		b.store.Advance(ttl - time.Second)
		lost, err := b.l.Renew(b.Context(), []reconcile.Fence{l.Fence}, ttl)
		b.must(err)
		if len(lost) > 0 {
			b.Fatalf("lost %v", lost)
		}
	}
	b.must(b.l.Check(b.Context(), l.Fence))
	b.reserved(bid("test:one"))
	live, err := b.l.Leases(b.Context())
	b.must(err)
	if want := l.Since.Add(3*(ttl-time.Second) + ttl); len(live) != 1 || !live[0].Until.Equal(want) || !live[0].Since.Equal(l.Since) {
		b.Errorf("renewed to %+v, want until %s", live, want)
	}
}

func renewingOthers(b bench) {
	l := b.grant("test:one").Lease
	b.store.Advance(time.Minute)
	lost, err := b.another().l.Renew(b.Context(), []reconcile.Fence{l.Fence}, ttl)
	b.must(err)
	if !slices.Equal(lost, []reconcile.Fence{l.Fence}) {
		b.Errorf("a process renewed another's lease: lost %v", lost)
	}
	b.store.Advance(ttl - time.Minute)
	b.refused(b.l.Check(b.Context(), l.Fence), reconcile.ErrLeaseLost)
}
