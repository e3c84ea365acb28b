package ledgertest

import (
	"time"

	"trueup/reconcile"
)

func asks() []test {
	return []test{
		{"a tick covers what was asked before its fence", coverage},
		{"what is asked for waits", waiting},
		{"a claim is settled once all that it asked for is covered", settledClaims},
		{"a claim that asked before an open ask is settled", settledBetween},
		{"a claim that asks twice is settled after the second", settledTwice},
		{"a new epoch replaces the old", newEpoch},
		{"an ask is idempotent by a record of its claim", idempotentAsk},
		{"what is forgotten is gone", forgetting},
	}
}

func claim(epoch string, n uint64) *reconcile.Claim {
	return &reconcile.Claim{Epoch: epoch, N: n, Claimed: time.Date(2026, 11, 29, 14, 2, int(n), 0, time.UTC)}
}

// is tells whether a claim is the wanted one.
func is(got *reconcile.Claim, want *reconcile.Claim) bool {
	if got == nil || want == nil {
		return got == want
	}
	return got.Epoch == want.Epoch && got.N == want.N && got.Claimed.Equal(want.Claimed)
}

// coverage is what makes tickets true: a tick that began before an ask does not cover it.
func coverage(b bench) {
	b.ask(nil, "test:one")
	a := b.grant("test:one")
	if !a.Standing.Owed() || a.Standing.Asked >= a.Lease.Fence {
		b.Errorf("granted with standing %+v, want it owed by an ask before fence %d", a.Standing, a.Lease.Fence)
	}
	b.another().ask(nil, "test:one") // while it is ticked
	b.store.Advance(time.Second)
	b.must(b.settle(quiet(a.Lease)))
	if s := b.standing("test:one"); !s.Owed() || s.Covered != a.Lease.Fence || !s.CoveredAt.Equal(a.Lease.Since.Add(time.Second)) {
		b.Errorf("the standing is %+v, want it owed by the later ask", s)
	}

	l := b.grant("test:one").Lease
	failed := reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.Failing, Note: "no"}}
	b.must(b.settle(failed))
	if s := b.standing("test:one"); !s.Owed() || s.Covered != a.Lease.Fence {
		b.Errorf("a failed tick covered: %+v", s)
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); s.Owed() {
		b.Errorf("the standing is %+v, want it covered", s)
	}
}

func waiting(b bench) {
	b.ask(claim("e", 3), "test:one")
	s := b.standing("test:one")
	if s.Report.State != reconcile.Waiting || s.Reason != "a test asks" || s.AskedAt.IsZero() || !is(s.AskedClaim, claim("e", 3)) ||
		s.Settled != nil || s.Good != nil || !s.CoveredAt.IsZero() || !s.Since.Equal(s.AskedAt) {
		b.Errorf("the standing is %+v", s)
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	b.ask(nil, "test:one")
	if s := b.standing("test:one"); s.Report.State != reconcile.OK || !s.Owed() {
		b.Errorf("the standing is %+v, want it owed and as it was reported", s)
	}
	if s := b.standing("test:none"); s.Target != "" {
		b.Errorf("a target that nobody asked for has standing %+v", s)
	}
}

func settledClaims(b bench) {
	b.ask(claim("e", 3), "test:one", "test:two")
	l := b.grant("test:one").Lease
	b.must(b.settle(reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.Held}}))
	if s := b.standing("test:one"); s.Settled != nil {
		b.Errorf("a held tick settled %+v", s.Settled)
	}
	late := b.grant("test:one").Lease
	b.ask(claim("e", 4), "test:one")
	b.must(b.settle(quiet(late)))
	if s := b.standing("test:one"); is(s.Settled, claim("e", 4)) {
		b.Errorf("a claim was settled by a tick that began before it asked")
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !is(s.Settled, claim("e", 4)) {
		b.Errorf("settled is %+v, want claim 4", s.Settled)
	}
	if s := b.standing("test:two"); s.Settled != nil {
		b.Errorf("one target's tick settled another's claim: %+v", s.Settled)
	}
}

// settledBetween is the web app's ticket beside an operator who asks by hand.
func settledBetween(b bench) {
	b.ask(claim("e", 3), "test:one")
	l := b.grant("test:one").Lease
	b.ask(nil, "test:one")
	if s := b.standing("test:one"); !is(s.AskedClaim, claim("e", 3)) {
		b.Errorf("an ask without a claim took the claim away: %+v", s.AskedClaim)
	}
	b.must(b.settle(quiet(l)))
	if s := b.standing("test:one"); !is(s.Settled, claim("e", 3)) || !s.Owed() {
		b.Errorf("settled is %+v, owed %t; want claim 3 and owed by the later ask", s.Settled, s.Owed())
	}
}

// settledTwice is a touch that is merged into a retry: the claim asks again, for what the first tick has not seen.
func settledTwice(b bench) {
	b.ask(claim("e", 3), "test:one")
	first := b.grant("test:one").Lease
	b.ask(claim("e", 3), "test:one")
	b.must(b.settle(quiet(first)))
	if s := b.standing("test:one"); s.Settled != nil {
		b.Errorf("settled is %+v before the claim's second ask was covered", s.Settled)
	}
	second := b.grant("test:one").Lease
	b.ask(claim("e", 2), "test:one") // a number that comes late asks too, and takes the higher one's place no more
	b.must(b.settle(quiet(second)))
	if s := b.standing("test:one"); s.Settled != nil || !is(s.AskedClaim, claim("e", 3)) {
		b.Errorf("settled is %+v, asked by %+v; want nothing settled while a lower claim is open", s.Settled, s.AskedClaim)
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !is(s.Settled, claim("e", 3)) {
		b.Errorf("settled is %+v, want claim 3", s.Settled)
	}
}

func newEpoch(b bench) {
	b.ask(claim("old", 9), "test:one")
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	b.ask(claim("new", 1), "test:one")
	if s := b.standing("test:one"); !is(s.Settled, claim("old", 9)) || !is(s.AskedClaim, claim("new", 1)) {
		b.Errorf("settled is %+v, asked by %+v", s.Settled, s.AskedClaim)
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !is(s.Settled, claim("new", 1)) {
		b.Errorf("settled is %+v, want claim 1 of the new epoch", s.Settled)
	}
}

func idempotentAsk(b bench) {
	once := reconcile.Batch{
		Records: []reconcile.Write{{Family: "claim", Key: "last", Value: []byte(`{"n":3}`)}},
		Ask:     []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}, Claim: claim("e", 3)}},
	}
	b.must(b.l.Commit(b.Context(), once))
	asked := b.standing("test:one").Asked
	b.refused(b.another().l.Commit(b.Context(), once), reconcile.ErrConflict)
	if s := b.standing("test:one"); s.Asked != asked {
		b.Errorf("asked %d and then %d for one claim", asked, s.Asked)
	}
}

func forgetting(b bench) {
	b.ask(nil, "test:one", "test:two")
	b.must(b.l.Commit(b.Context(), reconcile.Batch{Forget: []reconcile.Key{"test:one", "test:never"}}))
	all, err := b.l.Standings(b.Context())
	b.must(err)
	if len(all) != 1 || all[0].Target != "test:two" {
		b.Errorf("standings %+v", all)
	}
}
