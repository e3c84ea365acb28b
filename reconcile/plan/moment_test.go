package plan_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/sqlite"
)

// meanwhile is a kind to which something happens as it first observes, after its policy was read.
type meanwhile struct {
	plan.Kind[kindtest.Roster]
	once *sync.Once
	do   func()
}

func (m meanwhile) Observe(ctx context.Context, in plan.Input) (kindtest.Roster, error) {
	m.once.Do(m.do)
	return m.Kind.Observe(ctx, in)
}

// Somebody writes and asks while a tick is on that has read what is wanted already, and another sweep finds the target held
// (B3). The holder ticks it again, and must read again: with what it has it would cover a write that it has not seen.
func TestPolicyIsReadAgainForWhoAskedSince(t *testing.T) {
	s := open(t, "ada")
	beside, err := sqlite.Open(t.Context(), s.ledgerPath, sqlite.Options{Holder: "beside"})
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	wanted := reconcile.Wanted{All: true}
	engine := func(l reconcile.Ledger, k plan.Kind[kindtest.Roster]) reconcile.Reconciler {
		options := kindtest.OrgKind{}.Options()
		options.Policy = policy.Source{File: s.file}
		return reconcile.Reconciler{Ledger: l, Targets: []reconcile.Target{{Key: acme}}, TTL: time.Hour, Parallel: 1,
			Tickers: map[reconcile.Key]reconcile.Ticker{acme: plan.New(k, policy.NewReader(t.Context(), nil), options)}}
	}
	kind := meanwhile{s.kind, new(sync.Once), func() {
		s.want("ada", "eve")
		service := engine(beside, s.kind)
		claim := &reconcile.Claim{Epoch: "E", N: 5, Claimed: time.Now()}
		if o, err := service.Sweep(t.Context(), reconcile.Order{Claim: claim, Owing: wanted, Fresh: wanted}); err != nil || o.Covered != 0 {
			t.Errorf("the sweep beside covers %d (%v), and it could tick nothing", o.Covered, err)
		}
	}}
	holder := engine(s.ledger, kind)
	if _, err := holder.Sweep(t.Context(), reconcile.Order{Owing: wanted}); err != nil {
		t.Fatal(err)
	}
	standings, err := s.ledger.Standings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if settled, is := standings[0].SettledOf("E"); !is || settled.N != 5 {
		t.Errorf("the holder did not look again: settled %+v", settled)
	}
	s.has(2, "eve", 1)
}
