package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"trueup/reconcile"
)

// A node is a host with labels, which takes targets until it is drained.
type node struct {
	labels []string

	mu      sync.Mutex
	drained bool
	asked   int
}

func (n *node) Takes(context.Context) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	return !n.drained, nil
}

func (n *node) Meets(requires []string) bool {
	return !slices.ContainsFunc(requires, func(l string) bool { return !slices.Contains(n.labels, l) })
}

func (n *node) drain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drained = true
}

// TestRequiredLabels: a target goes to a host that has its labels, and stays owed until one comes; no ticket is covered before.
func TestRequiredLabels(t *testing.T) {
	s := newStage(t, "anywhere", "eu")
	s.Targets[1].Requires = []string{"zone=eu"}
	s.Host, s.Owner = &node{}, "host-a /state"
	everything := reconcile.Wanted{All: true}
	claim := reconcile.Order{Claim: &reconcile.Claim{Epoch: "A", N: 1}, Owing: everything, Fresh: everything}
	o, err := s.Sweep(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.ticked, []reconcile.Key{"command:anywhere"}) || o.Covered != 0 {
		t.Errorf("ticked %v, covered up to %d", s.ticked, o.Covered)
	}
	if !s.standing("eu").Owed() {
		t.Error("what this host cannot tick is not owed")
	}
	if _, err := s.Tick(t.Context(), "command:eu", "by hand"); !errors.Is(err, reconcile.ErrUnfit) {
		t.Errorf("ticked by hand: %v", err)
	}

	other := s.beside("host-b")
	other.Host, other.Owner = &node{labels: []string{"zone=eu"}}, "host-b /state"
	if _, err := other.Sweep(t.Context(), reconcile.Order{}); err != nil {
		t.Fatal(err)
	}
	if s.standing("eu").Owed() {
		t.Error("the host with the label has left it")
	}
	if o, err = s.Sweep(t.Context(), claim); err != nil || o.Covered != 1 {
		t.Errorf("another host's success covers up to %d, %v", o.Covered, err)
	}
}

// TestDrainedInTheMidstOfASweep: what is held is finished, and nothing more is taken.
func TestDrainedInTheMidstOfASweep(t *testing.T) {
	s := newStage(t, "a", "b", "c")
	n := &node{}
	s.Host, s.Parallel = n, 1
	drains := func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		n.drain()
		return fine(ctx, run)
	}
	for _, name := range []string{"a", "b", "c"} {
		s.plays(name, drains)
	}
	everything := reconcile.Wanted{All: true}
	o, err := s.Sweep(t.Context(), reconcile.Order{Owing: everything, Fresh: everything})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Reports) != 1 || len(s.ticked) != 1 {
		t.Errorf("ticked %v", s.ticked)
	}
	leases, err := s.store.Leases(t.Context())
	if err != nil || len(leases) > 0 {
		t.Errorf("it keeps %v, %v", leases, err)
	}
	if _, err := s.Tick(t.Context(), "command:b", "by hand"); !errors.Is(err, reconcile.ErrUnfit) {
		t.Errorf("ticked by hand: %v", err)
	}
}

// TestHostsForgetTogether: what one host no longer declares and another does is not forgotten.
func TestHostsForgetTogether(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Host, s.Owner = &node{}, "host-a /state"
	other := s.beside("host-b")
	other.Owner = "host-b /state"
	var nodes []reconcile.Write
	for _, name := range []string{"host-a", "host-b"} {
		nodes = append(nodes, reconcile.Write{Family: reconcile.NodeFamily, Key: name, Value: []byte("{}")})
	}
	if err := s.store.Commit(t.Context(), reconcile.Batch{Records: nodes}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*reconcile.Reconciler{s.Reconciler, other} {
		if _, err := r.Sweep(t.Context(), reconcile.Order{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range []*reconcile.Reconciler{s.Reconciler, other} {
		r.Targets = r.Targets[:1]
		o, err := r.Sweep(t.Context(), reconcile.Order{})
		if err != nil || len(o.Gone) != i {
			t.Errorf("host %d: gone %v, %v", i, o.Gone, err)
		}
	}
}

// TestNothingIsForgottenThatAnotherHostWasJustAskedFor: a target moves from one host's configuration to another's. What the
// new host records before the former has forgotten the target stays asked.
func TestNothingIsForgottenThatAnotherHostWasJustAskedFor(t *testing.T) {
	s := newStage(t, "a", "moves")
	s.Host, s.Owner = &node{}, "host-a /state"
	other := s.beside("host-b")
	other.Host, other.Owner = &node{drained: true}, "host-b /state" // so that its sweep ends with what it has recorded
	var nodes []reconcile.Write
	for _, name := range []string{"host-a", "host-b"} {
		nodes = append(nodes, reconcile.Write{Family: reconcile.NodeFamily, Key: name, Value: []byte("{}")})
	}
	if err := s.store.Commit(t.Context(), reconcile.Batch{Records: nodes}); err != nil {
		t.Fatal(err)
	}
	s.sweep(reconcile.Order{})
	s.Targets = s.Targets[:1]
	asked := &afterAsk{Ledger: other.Ledger, then: func() { s.sweep(reconcile.Order{}) }}
	other.Ledger = asked
	everything := reconcile.Wanted{All: true}
	order := reconcile.Order{Claim: &reconcile.Claim{Epoch: "B", N: 1}, Owing: everything, Fresh: everything}
	if _, err := other.Sweep(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	if at := s.standing("moves"); !at.Owed() || len(at.Claims) != 1 {
		t.Errorf("what the new host was asked for is forgotten: %+v", at)
	}
}

// An afterAsk is a ledger on which something happens once the first ask is in.
type afterAsk struct {
	reconcile.Ledger
	then func()
}

func (a *afterAsk) Commit(ctx context.Context, b reconcile.Batch) error {
	err := a.Ledger.Commit(ctx, b)
	if then := a.then; len(b.Ask) > 0 && then != nil {
		a.then = nil
		then()
	}
	return err
}

// TestCopiedTrigger: two hosts whose triggers count in one epoch would cover each other's tickets, so whoever comes second is
// refused, however often, and the first goes on. A new epoch is the way out.
func TestCopiedTrigger(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Host, s.Owner = &node{}, "host-a /state"
	s.covers(s.sweep(s.claim()), 1, "the first host")
	other := s.beside("host-b")
	other.Owner = "host-b /state"
	s.plays("b", fails)
	for range 2 {
		if o, err := other.Sweep(t.Context(), s.claim()); !errors.Is(err, reconcile.ErrCopied) || o.Covered != 0 {
			t.Errorf("a copy covers up to %d, %v", o.Covered, err)
		}
	}
	s.plays("b", fine)
	s.covers(s.sweep(s.claim()), 4, "the first host")
	fresh := s.claim()
	fresh.Claim.Epoch, fresh.Claim.N = "F", 1
	o, err := other.Sweep(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	s.covers(o, 1, "in an epoch of its own")
}

// TestCopiesThatBeginAtOnce: neither sees the other before it asks, and whoever is second takes back what is mixed up. The first
// covers no ticket before it has asked again.
func TestCopiesThatBeginAtOnce(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Host, s.Owner = &node{}, "host-a /state"
	other := s.beside("host-b")
	other.Owner = "host-b /state"
	s.n = 6
	first, second := s.claim(), s.claim()
	s.Ledger = &blindOnce{Ledger: s.store}
	other.Ledger = &blindOnce{Ledger: other.Ledger, then: func() { s.covers(s.sweep(first), 7, "the first host") }}
	if o, err := other.Sweep(t.Context(), second); !errors.Is(err, reconcile.ErrCopied) || o.Covered != 0 {
		t.Errorf("the second covers up to %d, %v", o.Covered, err)
	}
	s.plays("b", fails)
	s.covers(s.sweep(s.claim()), 0, "the first host, with b failing")
	s.plays("b", fine)
	s.covers(s.sweep(s.claim()), 10, "the first host, once b is fine")
}

// A blindOnce is a ledger on which something happens right after its claims were first looked at.
type blindOnce struct {
	reconcile.Ledger
	then func()
}

func (b *blindOnce) Records(ctx context.Context, family, prefix string) ([]reconcile.Record, error) {
	found, err := b.Ledger.Records(ctx, family, prefix)
	if then := b.then; family == "claim" && prefix == "" && then != nil {
		b.then = nil
		then()
	}
	return found, err
}

// An earshot is a ledger that notes what it is asked, and breaks down at the second batch once it is told to.
type earshot struct {
	reconcile.Ledger
	batches []reconcile.Batch
	breaks  bool
}

func (e *earshot) Commit(ctx context.Context, b reconcile.Batch) error {
	if e.breaks && len(e.batches) == 1 {
		return reconcile.ErrUnwritable
	}
	e.batches = append(e.batches, b)
	return e.Ledger.Commit(ctx, b)
}

// TestAsksInParts: to ask for thousands of targets holds nobody up for long, and a claim is on record once all is asked.
func TestAsksInParts(t *testing.T) {
	s := newStage(t, many(4500)...)
	ledger := &earshot{Ledger: s.store, breaks: true}
	s.Host, s.Owner, s.Ledger = &node{drained: true}, "host-a /state", ledger
	order := s.claim()
	if _, err := s.Sweep(t.Context(), order); !errors.Is(err, reconcile.ErrUnwritable) {
		t.Fatalf("cut short: %v", err)
	}
	*ledger = earshot{Ledger: s.store}
	o := s.sweep(order)
	s.covers(o, 0, "nothing is ticked")
	if len(ledger.batches) < 3 {
		t.Fatalf("asked in %d batches", len(ledger.batches))
	}
	targets := 0
	for i, b := range ledger.batches[:3] {
		for _, a := range b.Ask {
			targets += len(a.Targets)
		}
		if len(b.Ask) != 1 || len(b.Ask[0].Targets) > 2000 || len(b.Records) != i/2 {
			t.Errorf("batch %d: %d asks and %d records", i, len(b.Ask), len(b.Records))
		}
	}
	if targets != 4500 || !s.standing("t04499").Owed() {
		t.Errorf("%d targets are asked for after a sweep that was cut short", targets)
	}
}

// TestAloud: what this host cannot tick is told to others when somebody asks for it; when a timer wants everything, theirs do
// as well.
func TestAloud(t *testing.T) {
	s := newStage(t, "anywhere", "eu", "us")
	for i, zone := range []string{"zone=eu", "zone=us"} {
		s.Targets[i+1].Requires = []string{zone}
	}
	ledger := &earshot{Ledger: s.store}
	s.Host, s.Owner, s.Ledger = &node{}, "host-a /state", ledger
	both := reconcile.Wanted{All: true, Keys: []reconcile.Key{"command:us", "command:anywhere"}}
	touched := reconcile.Wanted{All: true, Touched: true}
	for _, order := range []reconcile.Order{s.claim(), s.claim("eu", "anywhere"), {Owing: both, Fresh: both}, {Owing: touched, Fresh: touched}} {
		s.sweep(order)
	}
	var aloud []string
	for _, b := range ledger.batches {
		for _, a := range b.Ask {
			if a.Aloud {
				aloud = append(aloud, fmt.Sprint(a.Targets))
			}
		}
	}
	if want := []string{"[command:eu]", "[command:us]", "[command:eu command:us]"}; !slices.Equal(aloud, want) {
		t.Errorf("told to others: %s, want %s", aloud, want)
	}
}
