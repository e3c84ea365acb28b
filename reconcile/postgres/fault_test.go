package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

const ttl = 15 * time.Minute

func bid(target reconcile.Key, scopes ...reconcile.Scope) reconcile.Bid {
	return reconcile.Bid{Target: target, Scopes: scopes, Reason: "a test"}
}

// lease gets a lease that nobody stands in the way of.
func lease(t *testing.T, s *Store, target reconcile.Key, scopes ...reconcile.Scope) reconcile.Lease {
	t.Helper()
	answers, err := s.Grant(t.Context(), []reconcile.Bid{bid(target, scopes...)}, ttl)
	if err != nil {
		t.Fatal(err)
	}
	if answers[0].Refused != nil {
		t.Fatal(answers[0].Refused)
	}
	return answers[0].Lease
}

func quiet(l reconcile.Lease) reconcile.Settlement {
	return reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.OK}, Covered: true}
}

func settle(t *testing.T, s *Store, ends ...reconcile.Settlement) {
	t.Helper()
	answers, err := s.Settle(t.Context(), ends)
	if err := errors.Join(append(answers, err)...); err != nil {
		t.Fatal(err)
	}
}

// number reads one number past the store.
func number(t *testing.T, url, query string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background()) // some ask again and again
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestLostAnswer loses the connection while a transaction is committed: before the server has heard, or before it is
// heard. Either way each thing is recorded once, and nobody is told otherwise.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]breach{"before": before, "after": after} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, w := pgtest.URL(t), &wire{}
			s := w.over(t, url+"&pool_max_conns=1", Options{Holder: "a test"}) // whoever is in doubt has no other
			breaks := func(what string, do func()) {
				t.Helper()
				broken := false
				first := once(how)
				w.do(func() {
					w.breaks = func(sent []byte) breach {
						is := first(sent)
						broken = broken || is != whole
						return is
					}
				})
				do()
				w.do(func() { w.breaks = nil })
				if !broken {
					t.Errorf("%s: nothing broke", what)
				}
			}
			var l reconcile.Lease
			breaks("granting", func() { l = lease(t, s, "test:one", "x") })
			if err := s.Check(t.Context(), l.Fence); err != nil {
				t.Errorf("what was granted is not there: %v", err)
			}
			open := []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Planned{Policy: "p"}}
			batch := reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: open}},
				Records: []reconcile.Write{{Family: "marker", Key: "k", Value: []byte("x")}}, Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}
			breaks("writing", func() { commits(t, s, batch) })
			if events, err := s.Events(t.Context(), l.Run); err != nil || len(events) != 2 {
				t.Errorf("%d events, %v; want 2", len(events), err)
			}
			if got := number(t, url, "SELECT last FROM sequence"); got != int64(l.Fence)+1 {
				t.Errorf("number %d was drawn last, want one after %d", got, l.Fence)
			}
			end := quiet(l)
			end.Expected, end.Facts = 2, []reconcile.Fact{reconcile.Succeeded{}}
			breaks("settling", func() { settle(t, s, end) })
			for query, want := range map[string]int64{"SELECT count(*) FROM events": 3, "SELECT count(*) FROM leases": 0,
				"SELECT ticks_ok FROM tallies": 1, "SELECT revision FROM records": 1} {
				if got := number(t, url, query); got != want {
					t.Errorf("%s: %d, want %d", query, got, want)
				}
			}
		})
	}
}

// TestDoubtLosesItsAnswer: who asks whether a transaction was committed may lose that answer too.
func TestDoubtLosesItsAnswer(t *testing.T) {
	t.Parallel()
	url, w := pgtest.URL(t), &wire{}
	s := w.over(t, url, Options{})
	n := 0
	w.do(func() {
		w.breaks = func(sent []byte) breach {
			if n++; isCommit(sent) && n < 10 {
				n = 10
				return before
			}
			if n == 12 { // the first word on the next connection after its greeting
				return after
			}
			return whole
		}
	})
	lease(t, s, "test:one")
	if got := number(t, url, "SELECT count(*) FROM leases"); got != 1 {
		t.Errorf("%d leases, want 1", got)
	}
}

// TestStoppedInTransaction is a process that is stopped in the midst of a transaction, with the sequence locked: the server
// ends it, others go on after a moment, and when it goes on itself it does it again.
func TestStoppedInTransaction(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	stopped, other := openWith(t, url, Options{Patience: 2 * time.Second}), opened(t, url)
	defer stopped.Close()
	inside, goOn, tries := make(chan bool, 1), make(chan bool), 0
	done := make(chan error)
	go func() {
		done <- stopped.write(context.Background(), "being stopped", deed{draws: true, decide: func(t *tx) error {
			if tries++; tries == 1 {
				inside <- true
				<-goOn
			}
			t.ask(reconcile.Ask{Targets: []reconcile.Key{"test:one"}})
			return nil
		}})
	}()
	<-inside
	began := time.Now()
	l := lease(t, other, "test:two")
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("another process waited %s", took)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if tries != 2 {
		t.Errorf("it was done %d times, want once more", tries)
	}
	standings, err := other.Standings(t.Context())
	if err != nil || len(standings) != 1 || standings[0].Asked != l.Fence+1 {
		t.Errorf("standings %+v, %v; want one asked with the number after %d", standings, err, l.Fence)
	}
}

// slow is a ticker that takes a while, looks at its lease and counts.
type slow struct {
	each  time.Duration
	ticks *atomic.Int64
	among func(n int64)
}

func (k slow) Tick(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
	if n := k.ticks.Add(1); k.among != nil {
		k.among(n)
	}
	select {
	case <-time.After(k.each):
	case <-ctx.Done():
		return reconcile.Report{}, context.Cause(ctx)
	}
	return reconcile.Report{State: reconcile.OK}, run.Check(ctx)
}

func engine(s *Store, n int, k reconcile.Ticker) *reconcile.Reconciler {
	r := &reconcile.Reconciler{Ledger: s, TTL: ttl, Parallel: 4, Tickers: map[reconcile.Key]reconcile.Ticker{}}
	for i := range n {
		key := reconcile.Key(fmt.Sprintf("test:t%04d", i))
		r.Targets = append(r.Targets, reconcile.Target{Key: key, Fingerprint: "f"})
		r.Tickers[key] = k
	}
	return r
}

var everything = reconcile.Order{Owing: reconcile.Wanted{All: true}, Fresh: reconcile.Wanted{All: true}}

// TestServerRestarts kills the server in the midst of a sweep, and starts it again. The sweep goes on (PGL-09).
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	url := server.URL(t)
	s := openWith(t, url, Options{Patience: 30 * time.Second})
	defer s.Close()
	var ticks atomic.Int64
	restarted := make(chan bool)
	r := engine(s, 60, slow{20 * time.Millisecond, &ticks, func(n int64) {
		if n == 20 {
			go func() {
				server.Kill(t)
				server.Again(t)
				close(restarted)
			}()
		}
	}})
	o, err := r.Sweep(t.Context(), everything)
	if err != nil || len(o.Failed()) > 0 {
		t.Fatalf("the sweep: %v, failed %v: %+v", err, o.Failed(), o.Reports)
	}
	<-restarted
	standings, err := s.Standings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range standings {
		if st.Owed() || st.Report.State != reconcile.OK {
			t.Errorf("%s: %+v", st.Target, st)
		}
	}
	if got := number(t, url, "SELECT sum(ticks_ok)::bigint FROM tallies"); got != ticks.Load() {
		t.Errorf("%d ticks are counted, and %d were done", got, ticks.Load())
	}
}

// TestPartitioned cuts a process off from the database without a word, in the midst of a tick (LCK-13): the tick's context
// ends before the lease does, and whoever asks whether the lease is live is not told that it is.
func TestPartitioned(t *testing.T) {
	t.Parallel()
	url, w := pgtest.URL(t), &wire{}
	opened(t, url) // which makes the tables
	s := w.over(t, url, Options{Patience: time.Second})
	r := engine(s, 1, nil)
	r.TTL = 3 * time.Second
	var began, ended time.Time
	var checked error
	r.Tickers["test:t0000"] = tickerFunc(func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		began = time.Now()
		w.do(func() { w.dark = true })
		<-ctx.Done()
		ended = time.Now()
		checked = run.Check(context.WithoutCancel(ctx))
		return reconcile.Report{}, context.Cause(ctx)
	})
	_, err := r.Sweep(t.Context(), everything)
	if lasted := ended.Sub(began); lasted >= r.TTL || lasted < r.TTL/2 {
		t.Errorf("the tick's context ended after %s of a lease of %s", lasted, r.TTL)
	}
	if checked == nil || err == nil {
		t.Errorf("the lease is told to be live (%v), the sweep ends with %v", checked, err)
	}
}

type tickerFunc func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error)

func (f tickerFunc) Tick(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
	return f(ctx, run)
}
