package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// Hosts are reconcilers that share one ledger, each with a session of its own, and one configuration.
type hosts struct {
	testing.TB
	each time.Duration // that a tick takes
	all  []*reconcile.Reconciler

	mu    sync.Mutex
	ticks map[string]int // by host
	times map[reconcile.Key]int
	met   chan struct{} // closed when each host has begun a tick
}

// A tickOf is the ticker of one host.
type tickOf struct {
	*hosts
	name string
}

func (h tickOf) Tick(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
	h.mu.Lock()
	h.ticks[h.name]++
	h.times[run.Target.Key]++
	if h.ticks[h.name] == 1 && len(h.ticks) == len(h.all) {
		close(h.met)
	}
	h.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-h.met:
		select {
		case <-ctx.Done():
		case <-time.After(h.each):
		}
	}
	return reconcile.Report{State: reconcile.OK}, context.Cause(ctx)
}

func newHosts(t testing.TB, n, targets, parallel int, each time.Duration) *hosts {
	t.Helper()
	h := &hosts{TB: t, each: each, ticks: map[string]int{}, times: map[reconcile.Key]int{}, met: make(chan struct{})}
	address := pgtest.URL(t)
	for i := range n {
		name := fmt.Sprint("host-", i)
		s, err := Open(t.Context(), address, Options{Holder: "sweep on " + name, Node: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		r := &reconcile.Reconciler{Ledger: s, Owner: name, TTL: 15 * time.Minute, Parallel: parallel, Tickers: map[reconcile.Key]reconcile.Ticker{}}
		for i := range targets {
			key := reconcile.Key(fmt.Sprintf("command:target-%06d", i))
			r.Targets = append(r.Targets, reconcile.Target{Key: key, Fingerprint: "x"})
			r.Tickers[key] = tickOf{h, name}
		}
		h.all = append(h.all, r)
	}
	return h
}

// sweep has all hosts sweep what is wanted at once, and says how long that took.
func (h *hosts) sweep(wanted reconcile.Wanted) time.Duration {
	h.Helper()
	begun := time.Now()
	ctx, stop := context.WithCancel(h.Context())
	defer stop()
	var sweeps sync.WaitGroup
	for _, r := range h.all {
		sweeps.Go(func() {
			o, err := r.Sweep(ctx, reconcile.Order{Owing: wanted, Fresh: wanted})
			if failed := o.Failed(); err != nil || len(failed) > 0 {
				h.Errorf("%s: %v failed: %v", r.Owner, failed, err)
				stop() // the others would wait for it
			}
		})
	}
	sweeps.Wait()
	return time.Since(begun)
}

// covered wants nothing owed.
func (h *hosts) covered() {
	h.Helper()
	standings, err := h.all[0].Ledger.Standings(h.Context())
	if err != nil || len(standings) != len(h.all[0].Targets) {
		h.Fatalf("%d targets are known: %v", len(standings), err)
	}
	for _, s := range standings {
		if s.Owed() {
			h.Errorf("%s is owed when every sweep has ended", s.Target)
		}
	}
}

// Hosts on one ledger divide the targets: each is ticked once for what was asked of it, and every host has its part.
func TestHostsDivide(t *testing.T) {
	t.Parallel()
	h := newHosts(t, 4, 160, 2, 10*time.Millisecond)
	ask := reconcile.Ask{Reason: "a test"}
	for _, target := range h.all[0].Targets {
		ask.Targets = append(ask.Targets, target.Key)
	}
	if err := h.all[0].Ledger.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{ask}}); err != nil {
		t.Fatal(err)
	}
	// A host whose queue was emptied before it came would have no part: those that come first wait for it in their first tick.
	h.sweep(reconcile.Wanted{})
	h.covered()
	for key, n := range h.times {
		if n != 1 {
			t.Errorf("%s was ticked %d times", key, n)
		}
	}
	for name, n := range h.ticks {
		if n < 8 || n > 100 {
			t.Errorf("%s has ticked %d of 160 targets: %v", name, n, h.ticks)
		}
	}
}

// BenchmarkHosts sweeps targets that take a second by one host, two and four, and fails when two take more than 0.6 times as long
// as one, or four more than 0.35 (D2).
func BenchmarkHosts(b *testing.B) {
	for b.Loop() {
		var took [5]time.Duration
		for _, n := range []int{1, 2, 4} {
			h := newHosts(b, n, 160, 4, time.Second)
			took[n] = h.sweep(reconcile.Wanted{All: true})
			h.covered()
			b.Logf("%d hosts: %s, ticks %v", n, took[n].Round(10*time.Millisecond), h.ticks)
			b.ReportMetric(took[n].Seconds()/took[1].Seconds(), fmt.Sprintf("of-1-by-%d", n))
		}
		if took[2] > took[1]*6/10 || took[4] > took[1]*35/100 {
			b.Errorf("one host takes %s, two %s, four %s", took[1], took[2], took[4])
		}
	}
}
