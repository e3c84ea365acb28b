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
		{"claims of several triggers are settled apart", epochsApart},
		{"a claim of one trigger keeps no other's from being settled", epochsBeside},
		{"what a trigger asked is forgotten with its epoch", epochsGone},
		{"an ask is idempotent by a record of its claim", idempotentAsk},
		{"what is forgotten is gone", forgetting},
	}
}

func claim(epoch string, n uint64) *reconcile.Claim {
	return &reconcile.Claim{Epoch: epoch, N: n, Claimed: time.Date(2026, 11, 29, 14, 2, int(n), 0, time.UTC)}
}

// asked tells whether a claim is the highest of its epoch that has asked.
func asked(s reconcile.Standing, want *reconcile.Claim) bool {
	got, is := s.AskedBy(want.Epoch)
	return is && got.Epoch == want.Epoch && got.N == want.N && got.Claimed.Equal(want.Claimed)
}

// settled tells whether the claim of an epoch with the number is the highest that is covered; with zero, whether none is.
func settled(s reconcile.Standing, epoch string, n uint64) bool {
	got, is := s.SettledOf(epoch)
	if n == 0 || !is {
		return n == 0 && !is
	}
	want := claim(epoch, n)
	return got.Epoch == epoch && got.N == n && got.Claimed.Equal(want.Claimed)
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
	if s.Report.State != reconcile.Waiting || s.Reason != "a test asks" || s.AskedAt.IsZero() || !asked(s, claim("e", 3)) ||
		!settled(s, "e", 0) || s.Good != nil || !s.CoveredAt.IsZero() || !s.Since.Equal(s.AskedAt) {
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
	if s := b.standing("test:one"); !settled(s, "e", 0) {
		b.Errorf("a held tick settled %+v", s.Claims)
	}
	late := b.grant("test:one").Lease
	b.ask(claim("e", 4), "test:one")
	b.must(b.settle(quiet(late)))
	if s := b.standing("test:one"); settled(s, "e", 4) {
		b.Errorf("a claim was settled by a tick that began before it asked")
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !settled(s, "e", 4) {
		b.Errorf("settled is %+v, want claim 4", s.Claims)
	}
	if s := b.standing("test:two"); !settled(s, "e", 0) {
		b.Errorf("one target's tick settled another's claim: %+v", s.Claims)
	}
}

// settledBetween is the web app's ticket beside an operator who asks by hand.
func settledBetween(b bench) {
	b.ask(claim("e", 3), "test:one")
	l := b.grant("test:one").Lease
	b.ask(nil, "test:one")
	if s := b.standing("test:one"); !asked(s, claim("e", 3)) {
		b.Errorf("an ask without a claim took the claim away: %+v", s.Claims)
	}
	b.must(b.settle(quiet(l)))
	if s := b.standing("test:one"); !settled(s, "e", 3) || !s.Owed() {
		b.Errorf("settled is %+v, owed %t; want claim 3 and owed by the later ask", s.Claims, s.Owed())
	}
}

// settledTwice is a touch that is merged into a retry: the claim asks again, for what the first tick has not seen.
func settledTwice(b bench) {
	b.ask(claim("e", 3), "test:one")
	first := b.grant("test:one").Lease
	b.ask(claim("e", 3), "test:one")
	b.must(b.settle(quiet(first)))
	if s := b.standing("test:one"); !settled(s, "e", 0) {
		b.Errorf("settled is %+v before the claim's second ask was covered", s.Claims)
	}
	second := b.grant("test:one").Lease
	b.ask(claim("e", 2), "test:one") // a number that comes late asks too, and takes the higher one's place no more
	b.must(b.settle(quiet(second)))
	if s := b.standing("test:one"); !settled(s, "e", 0) || !asked(s, claim("e", 3)) {
		b.Errorf("settled is %+v, asked by %+v; want nothing settled while a lower claim is open", s.Claims, s.Claims)
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !settled(s, "e", 3) {
		b.Errorf("settled is %+v, want claim 3", s.Claims)
	}
}

// epochsApart is two hosts that share a ledger, each with tickets of its own.
func epochsApart(b bench) {
	b.ask(claim("host-b", 9), "test:one", "test:two")
	b.ask(claim("host-a", 1), "test:one")
	if s := b.standing("test:one"); !asked(s, claim("host-b", 9)) || !asked(s, claim("host-a", 1)) || len(s.Claims) != 2 {
		b.Errorf("asked by %+v, want both", s.Claims)
	}
	a := b.grant("test:one")
	if !asked(a.Standing, claim("host-a", 1)) || !asked(a.Standing, claim("host-b", 9)) {
		b.Errorf("granted as asked by %+v, want both", a.Standing.Claims)
	}
	b.must(b.settle(quiet(a.Lease)))
	if s := b.standing("test:one"); !settled(s, "host-a", 1) || !settled(s, "host-b", 9) {
		b.Errorf("settled is %+v, want both", s.Claims)
	}
	own, err := b.l.Standings(b.Context(), "host-a")
	b.must(err)
	if len(own) != 2 || !settled(own[0], "host-a", 1) || !asked(own[0], claim("host-a", 1)) {
		b.Errorf("with the claims of host-a alone all is %+v", own)
	}
	if s := b.standing("test:two"); !settled(s, "host-b", 0) || !settled(s, "host-a", 0) || asked(s, claim("host-a", 1)) {
		b.Errorf("another target's claims are %+v", s.Claims)
	}
	b.ask(claim("host-b", 10), "test:one")
	if s := b.standing("test:one"); !settled(s, "host-a", 1) || !settled(s, "host-b", 9) || !asked(s, claim("host-b", 10)) {
		b.Errorf("settled is %+v, want it as it was", s.Claims)
	}
}

// epochsBeside asks for one target from two triggers while a tick is under way: the one that asked before it is answered.
func epochsBeside(b bench) {
	b.ask(claim("host-a", 3), "test:one")
	l := b.grant("test:one").Lease
	b.another().ask(claim("host-b", 5), "test:one")
	b.must(b.settle(quiet(l)))
	if s := b.standing("test:one"); !settled(s, "host-a", 3) || !settled(s, "host-b", 0) || !s.Owed() {
		b.Errorf("settled is %+v, owed %t; want the claim of host-a alone", s.Claims, s.Owed())
	}
	l = b.grant("test:one").Lease
	b.ask(claim("host-a", 2), "test:one") // comes late
	b.must(b.settle(quiet(l)))
	if s := b.standing("test:one"); !settled(s, "host-a", 3) || !settled(s, "host-b", 5) || !asked(s, claim("host-a", 3)) {
		b.Errorf("settled is %+v, want 3 as before and 5", s.Claims)
	}
	b.ask(claim("host-a", 4), "test:one")
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); !settled(s, "host-a", 4) {
		b.Errorf("settled is %+v, want 4", s.Claims)
	}
}

func epochsGone(b bench) {
	b.ask(claim("old", 9), "test:one", "test:two")
	b.ask(claim("other", 2), "test:one")
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	b.must(b.l.Commit(b.Context(), reconcile.Batch{Gone: []string{"old", "never"},
		Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}, Claim: claim("new", 1)}}}))
	if s := b.standing("test:one"); len(s.Claims) != 2 || !asked(s, claim("new", 1)) || !settled(s, "other", 2) {
		b.Errorf("the claims are %+v, want those of new and other", s.Claims)
	}
	if s := b.standing("test:two"); len(s.Claims) > 0 || !s.Owed() {
		b.Errorf("the claims are %+v, owed %t; want none, and it owed", s.Claims, s.Owed())
	}
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); len(s.Claims) != 2 || !settled(s, "new", 1) {
		b.Errorf("the claims are %+v, want that of new settled", s.Claims)
	}
	b.ask(claim("other", 3), "test:one")
	b.ask(claim("new", 2), "test:one") // the last that asks goes, and others are answered all the same
	b.must(b.l.Commit(b.Context(), reconcile.Batch{Gone: []string{"new"}}))
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	if s := b.standing("test:one"); len(s.Claims) != 1 || !settled(s, "other", 3) {
		b.Errorf("the claims are %+v, want that of other settled", s.Claims)
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
