package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
)

// A stage is a ledger in a folder, and targets whose ticks are played by functions.
type stage struct {
	t    *testing.T
	path string
	*reconcile.Reconciler
	store *sqlite.Store

	mu     sync.Mutex
	ticked []reconcile.Key
	n      uint64
}

// A play is a tick.
type play func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error)

func (p play) Tick(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
	return p(ctx, run)
}

func fine(context.Context, *reconcile.Run) (reconcile.Report, error) {
	return reconcile.Report{State: reconcile.OK}, nil
}

func fails(context.Context, *reconcile.Run) (reconcile.Report, error) {
	return reconcile.Report{}, errors.New("503")
}

func newStage(t *testing.T, names ...string) *stage {
	s := &stage{t: t, path: t.TempDir() + "/ledger.db"}
	s.Reconciler = &reconcile.Reconciler{Tickers: map[reconcile.Key]reconcile.Ticker{}, TTL: 15 * time.Minute, Parallel: 4}
	s.store = s.process("sweep")
	s.Ledger = s.store
	for _, name := range names {
		s.declare(name, fine)
	}
	return s
}

// process opens the ledger as another process would.
func (s *stage) process(holder string) *sqlite.Store {
	s.t.Helper()
	store, err := sqlite.Open(s.t.Context(), s.path, sqlite.Options{Holder: holder})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { store.Close() })
	return store
}

// beside is another process with the same configuration.
func (s *stage) beside(holder string) *reconcile.Reconciler {
	other := *s.Reconciler
	other.Ledger = s.process(holder)
	return &other
}

func (s *stage) declare(name string, p play, scopes ...reconcile.Scope) {
	key := reconcile.Key("command:" + name)
	s.plays(name, p)
	s.Targets = append(s.Targets, reconcile.Target{Key: key, Scopes: scopes, Fingerprint: "as declared"})
}

// plays sets what a target's next ticks do.
func (s *stage) plays(name string, p play) {
	key := reconcile.Key("command:" + name)
	s.Tickers[key] = play(func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		s.mu.Lock()
		s.ticked = append(s.ticked, key)
		s.mu.Unlock()
		return p(ctx, run)
	})
}

// since gives the names of the targets ticked since it was last asked, in order.
func (s *stage) since() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.ticked))
	for i, key := range s.ticked {
		names[i] = key.Name()
	}
	s.ticked = nil
	return strings.Join(names, " ")
}

func (s *stage) sweep(order reconcile.Order) reconcile.Outcome {
	s.t.Helper()
	o, err := s.Sweep(s.t.Context(), order)
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// claim is the next claim of the trigger, with all of it fresh.
func (s *stage) claim(names ...string) reconcile.Order {
	wanted := reconcile.Wanted{All: len(names) == 0}
	for _, name := range names {
		wanted.Keys = append(wanted.Keys, reconcile.Key("command:"+name))
	}
	s.n++
	return reconcile.Order{Owing: wanted, Fresh: wanted, Claim: &reconcile.Claim{Epoch: "E", N: s.n, Claimed: time.Now()}}
}

// retry is the next claim after a failure, with nothing fresh in it.
func (s *stage) retry() reconcile.Order {
	order := s.claim()
	order.Fresh = reconcile.Wanted{}
	return order
}

func (s *stage) standing(name string) reconcile.Standing {
	s.t.Helper()
	all, err := s.store.Standings(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(k reconcile.Standing) bool { return k.Target == reconcile.Key("command:"+name) })
	if i < 0 {
		return reconcile.Standing{}
	}
	return all[i]
}

// settled is the number that a target has settled in an epoch.
func (s *stage) settled(name, epoch string) uint64 {
	claim, _ := s.standing(name).SettledOf(epoch)
	return claim.N
}

func (s *stage) runs(name string) []reconcile.RunID {
	s.t.Helper()
	runs, err := s.store.Runs(s.t.Context(), reconcile.Key("command:"+name), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	return runs
}

// story reads a run's events as words.
func (s *stage) story(run reconcile.RunID) string {
	s.t.Helper()
	events, err := s.store.Events(s.t.Context(), run)
	if err != nil {
		s.t.Fatal(err)
	}
	words := make([]string, len(events))
	for i, e := range events {
		words[i], _, _ = reconcile.EncodeFact(e.Fact)
	}
	return strings.Join(words, " ")
}

func (s *stage) covers(o reconcile.Outcome, want uint64, when string) {
	s.t.Helper()
	if o.Covered != want {
		s.t.Errorf("%s: tickets below %d are covered, want %d", when, o.Covered, want)
	}
}

func equal[T comparable](t *testing.T, got, want T, what string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// countedLedger counts transactions.
type countedLedger struct {
	reconcile.Ledger
	mu sync.Mutex
	n  map[string]int
}

func (c *countedLedger) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *countedLedger) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) ([]reconcile.Answer, error) {
	c.count("grant")
	return c.Ledger.Grant(ctx, bids, ttl)
}

func (c *countedLedger) Commit(ctx context.Context, b reconcile.Batch) error {
	c.count("commit")
	return c.Ledger.Commit(ctx, b)
}

func (c *countedLedger) Settle(ctx context.Context, ends []reconcile.Settlement) ([]error, error) {
	c.count("settle")
	return c.Ledger.Settle(ctx, ends)
}

func many(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("t%05d", i)
	}
	return names
}
