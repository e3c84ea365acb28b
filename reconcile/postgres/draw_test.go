package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// named has the connections named after the schema, so that the server tells them from those of other tests.
func named(url string) string { return url + "&application_name=trueup%20" + pgtest.Schema(url) }

// paused begins a transaction that draws, and holds it open until it is told to go on.
func paused(s *Store, decide func(t *tx)) (goOn func() error) {
	inside, release, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		done <- s.write(context.Background(), "a test", deed{draws: true, decide: func(t *tx) error {
			decide(t)
			inside <- true
			<-release
			return nil
		}})
	}()
	<-inside
	return func() error {
		close(release)
		return <-done
	}
}

// waits wants something not to be done before a transaction that is open, and returns how to wait for it.
func waits(t *testing.T, url string, do func() error) (wait func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	for deadline := time.Now().Add(20 * time.Second); number(t, url, `SELECT count(*) FROM pg_stat_activity
		WHERE wait_event_type = 'Lock' AND application_name = 'trueup ' || current_schema()`) == 0; {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("it neither waits nor ends")
		}
	}
	return func() error { return <-done }
}

// TestAskMeetsGrant interleaves an ask with a grant, both ways. A tick covers the asks below its fence: an ask that is
// committed after the tick began to observe must have a number above, and one below must be known to the tick.
func TestAskMeetsGrant(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one, two := opened(t, named(url)), opened(t, named(url))
	asks := func(t *tx) { t.ask(reconcile.Ask{Targets: []reconcile.Key{"test:one"}}) }

	goOn := paused(one, asks)
	var granted []reconcile.Answer
	wait := waits(t, url, func() (err error) {
		granted, err = two.Grant(context.Background(), []reconcile.Bid{bid("test:one")}, ttl)
		return err
	})
	if err := errors.Join(goOn(), wait()); err != nil {
		t.Fatal(err)
	}
	if a := granted[0]; !a.Standing.Owed() || a.Standing.Asked >= a.Lease.Fence {
		t.Errorf("granted %+v, want it to know of the ask below its fence", a)
	}

	goOn = paused(two, asks) // the tick observes by now
	wait = waits(t, url, func() error { return one.Commit(context.Background(), aloud("test:one")) })
	if err := errors.Join(goOn(), wait()); err != nil {
		t.Fatal(err)
	}
	settle(t, two, quiet(granted[0].Lease))
	standings, err := one.Standings(t.Context())
	if err != nil || len(standings) != 1 || !standings[0].Owed() || standings[0].Asked != granted[0].Lease.Fence+2 {
		t.Errorf("standings %+v, %v; want it owed still", standings, err)
	}
}

// TestScopeIsUnique: whatever the code does, the database gives no scope to two.
func TestScopeIsUnique(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	l := lease(t, opened(t, url), "test:one", "x")
	_, err := rawConn(t, url).Exec(t.Context(), "INSERT INTO scopes (scope, fence, position) VALUES ('x', $1, 9)", int64(l.Fence))
	if refused, is := errors.AsType[*pgconn.PgError](err); !is || refused.Code != "23505" {
		t.Errorf("a second holder of the scope is answered with %v", err)
	}
}

// TestManyHosts does anything in any order from several processes, without a pause between: no scope has two holders, its
// fences only grow, what ended is counted once, and nothing fails because transactions cross.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	f := &field{holder: map[reconcile.Scope]reconcile.Fence{}, last: map[reconcile.Scope]reconcile.Fence{}}
	var hosts sync.WaitGroup
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for n := range 4 {
		s := openWith(t, url, Options{Holder: fmt.Sprint("host ", n), Patience: time.Minute})
		defer s.Close()
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		hosts.Go(func() {
			for range 25 {
				if err := f.turn(s, random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	hosts.Wait()
	if got := number(t, url, "SELECT sum(ticks_ok)::bigint FROM tallies"); got != f.settled {
		t.Errorf("%d ticks are counted, and %d were settled", got, f.settled)
	}
	if got := number(t, url, "SELECT count(*) FROM scopes"); got != 0 {
		t.Errorf("%d scopes are held in the end", got)
	}
	open := number(t, url, "SELECT sum(requests - ran - coalesced - held - handed_over - dropped - (waiting > 0)::int - (taken > 0)::int)::bigint FROM tallies")
	if open != 0 {
		t.Errorf("the books are out by %d", open)
	}
}

// A field is who holds what, as the hosts see it.
type field struct {
	mu      sync.Mutex
	holder  map[reconcile.Scope]reconcile.Fence
	last    map[reconcile.Scope]reconcile.Fence
	settled int64
}

// turn asks for some targets, ticks some, and settles them.
func (f *field) turn(s *Store, random *rand.Rand) error {
	key := func() reconcile.Key { return reconcile.Key(fmt.Sprintf("test:t%02d", random.IntN(20))) }
	ask := reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{key(), key(), key(), key()}, Claim: &reconcile.Claim{Epoch: s.options.Holder, N: random.Uint64N(50)}}}}
	if err := s.Commit(context.Background(), ask); err != nil {
		return err
	}
	var bids []reconcile.Bid
	for range 8 {
		bids = append(bids, bid(key(), reconcile.Scope(fmt.Sprint(random.IntN(10)))))
	}
	answers, err := s.Grant(context.Background(), bids, ttl)
	if err != nil {
		return err
	}
	var ends []reconcile.Settlement
	for _, a := range answers {
		if a.Refused == nil {
			end := quiet(a.Lease)
			end.Report.Notify = []reconcile.Key{key(), key()}[:random.IntN(3)]
			ends = append(ends, end)
			if err := f.took(a.Lease); err != nil {
				return err
			}
		}
	}
	for _, e := range ends {
		f.gave(e.Lease)
	}
	refused, err := s.Settle(context.Background(), ends)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled += int64(len(ends))
	return errors.Join(append(refused, err)...)
}

func (f *field) took(l reconcile.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, scope := range l.Scopes {
		if by := f.holder[scope]; by != 0 || f.last[scope] >= l.Fence {
			return fmt.Errorf("fence %d got %s, which fence %d holds, and which %d had last", l.Fence, scope, by, f.last[scope])
		}
		f.holder[scope], f.last[scope] = l.Fence, l.Fence
	}
	return nil
}

func (f *field) gave(l reconcile.Lease) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, scope := range l.Scopes {
		f.holder[scope] = 0
	}
}

// TestNothingOpenDuringATick looks at the server while ticks work outside: no transaction is open (PGL-13, PGL-15).
func TestNothingOpenDuringATick(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := opened(t, named(url))
	r := engine(s, 3, nil)
	r.Parallel = 1
	for key := range r.Tickers {
		r.Tickers[key] = tickerFunc(func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
			if err := run.Check(ctx); err != nil {
				return reconcile.Report{}, err
			}
			// The end of another tick may be on its way: it comes to its own end while this one works.
			const open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trueup ' || current_schema() AND xact_start IS NOT NULL"
			for deadline := time.Now().Add(20 * time.Second); number(t, url, open) != 0; {
				if time.Now().After(deadline) {
					t.Error("a transaction is open for as long as a tick works")
					break
				}
			}
			if n := number(t, url, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trueup ' || current_schema()"); n == 0 {
				t.Error("the connections cannot be seen, so that this test proves nothing")
			}
			return reconcile.Report{State: reconcile.OK}, nil
		})
	}
	if o, err := r.Sweep(t.Context(), everything); err != nil || len(o.Failed()) > 0 {
		t.Fatal(err, o.Failed())
	}
}

// TestRoundTrips counts how often a sweep of 1,000 targets with nothing to do waits for the server: what the way there
// costs is what a sweep costs.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	url, w := pgtest.URL(t), &wire{}
	s := w.over(t, url, Options{})
	targets := make([]reconcile.Key, 1000)
	for i := range targets {
		targets[i] = reconcile.Key(fmt.Sprintf("test:t%04d", i))
	}
	w.do(func() { w.trips = 0 })
	commits(t, s, reconcile.Batch{Ask: []reconcile.Ask{{Targets: targets, Claim: &reconcile.Claim{Epoch: "e", N: 1}}}})
	if _, err := s.Standings(t.Context()); err != nil {
		t.Fatal(err)
	}
	for rest := targets; len(rest) > 0; rest = rest[250:] {
		bids := make([]reconcile.Bid, 250)
		for i, key := range rest[:250] {
			bids[i] = bid(key)
		}
		answers, err := s.Grant(t.Context(), bids, ttl)
		if err != nil {
			t.Fatal(err)
		}
		ends := make([]reconcile.Settlement, len(answers))
		for i, a := range answers {
			ends[i] = quiet(a.Lease)
		}
		settle(t, s, ends...)
	}
	trips := 0
	w.do(func() { trips = w.trips })
	if want := 2 + 1 + 4*(3+3); trips > want+2 { // two may be looks whether a connection that has rested still lives
		t.Errorf("%d round trips, want %d", trips, want)
	}
	standings, err := s.Standings(t.Context())
	if err != nil || len(standings) != len(targets) || standings[999].Owed() {
		t.Errorf("%d standings, %v", len(standings), err)
	}
}
