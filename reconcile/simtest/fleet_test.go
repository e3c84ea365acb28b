package simtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

// A fleet is hosts that share a ledger and a configuration, in false time. Nothing goes wrong in it.
type fleet struct {
	store   *store
	targets []reconcile.Target
	each    time.Duration // that a tick takes

	mu    sync.Mutex
	ticks map[string]int // by host
	calls
}

// Calls are what hosts had of the store.
type calls struct {
	grants, bids, granted, refused int
	settles, settled               int
	asks, asked                    int
	reads, read                    int
}

func newFleet(targets int, each time.Duration) *fleet {
	f := &fleet{store: newStore(time.Now), each: each, ticks: map[string]int{}}
	for i := range targets {
		f.targets = append(f.targets, reconcile.Target{Key: reconcile.Key(fmt.Sprintf("sim:t%05d", i)), Fingerprint: "x"})
	}
	return f
}

// A host is one of a fleet, as its ledger and its ticker.
type host struct {
	*ledger
	fleet *fleet
	name  string
}

func (f *fleet) host(i int) host {
	name := fmt.Sprint("host-", i)
	return host{f.store.open("sweep on " + name), f, name}
}

func (h host) Tick(ctx context.Context, _ *reconcile.Run) (reconcile.Report, error) {
	select {
	case <-ctx.Done():
		return reconcile.Report{}, context.Cause(ctx)
	case <-time.After(h.fleet.each):
	}
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.ticks[h.name]++
	return reconcile.Report{State: reconcile.OK}, nil
}

// sweep ticks everything that is owed.
func (h host) sweep(ctx context.Context, parallel int, all bool) error {
	tickers := map[reconcile.Key]reconcile.Ticker{}
	for _, t := range h.fleet.targets {
		tickers[t.Key] = h
	}
	r := &reconcile.Reconciler{Ledger: h, Targets: h.fleet.targets, Tickers: tickers, TTL: 15 * time.Minute, Parallel: parallel, Owner: h.name}
	wanted := reconcile.Wanted{All: all}
	_, err := r.Sweep(ctx, reconcile.Order{Owing: wanted, Fresh: wanted})
	return err
}

func (h host) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) ([]reconcile.Answer, error) {
	answers, err := h.ledger.Grant(ctx, bids, ttl)
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.grants++
	h.fleet.bids += len(bids)
	for _, a := range answers {
		if a.Refused != nil {
			h.fleet.refused++
		} else {
			h.fleet.granted++
		}
	}
	return answers, err
}

func (h host) Settle(ctx context.Context, ends []reconcile.Settlement) ([]error, error) {
	h.fleet.mu.Lock()
	h.fleet.settles++
	h.fleet.settled += len(ends)
	h.fleet.mu.Unlock()
	return h.ledger.Settle(ctx, ends)
}

func (h host) Commit(ctx context.Context, b reconcile.Batch) error {
	h.fleet.mu.Lock()
	for _, a := range b.Ask {
		h.fleet.asks++
		h.fleet.asked += len(a.Targets)
	}
	h.fleet.mu.Unlock()
	return h.ledger.Commit(ctx, b)
}

func (h host) Standings(ctx context.Context, epochs ...string) ([]reconcile.Standing, error) {
	all, err := h.ledger.Standings(ctx, epochs...)
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.reads++
	h.fleet.read += len(all)
	return all, err
}

// together has so many hosts sweep everything, all at once, and says how long that took until nothing was owed.
func (f *fleet) together(t *testing.T, hosts, parallel int) time.Duration {
	begun := time.Now()
	var sweeps sync.WaitGroup
	for i := range hosts {
		h := f.host(i)
		sweeps.Go(func() {
			if err := h.sweep(t.Context(), parallel, true); err != nil {
				t.Errorf("%s: %v", h.name, err)
			}
		})
	}
	sweeps.Wait()
	for key, s := range f.store.standings {
		if s.Owed() {
			t.Errorf("%s is owed when every sweep has ended", key)
		}
	}
	return time.Since(begun)
}

// Hosts divide the work: two finish a sweep in 0.6 times the time of one, four in 0.35 (D2). The model of a scale does the same with as
// many calls for as many targets, so what it says of larger fleets is not invented.
func TestHostsDivideTheWork(t *testing.T) {
	t.Parallel()
	for _, c := range []shape{{targets: 240, workers: 4, tick: time.Second}, {targets: 600, workers: 4, tick: 100 * time.Millisecond}} {
		for hosts, most := range map[int]float64{1: 1, 2: 0.6, 4: 0.35, 12: 0.2} {
			c.hosts = hosts
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(c.targets, c.tick)
				took := f.together(t, hosts, c.workers)
				alone := time.Duration(c.targets/c.workers) * c.tick
				if took > time.Duration(most*float64(alone)) {
					t.Errorf("%d hosts take %s, one takes %s", hosts, took, alone)
				}
				if len(f.ticks) != hosts {
					t.Errorf("only some of %d hosts have ticked: %v", hosts, f.ticks)
				}
				f.isLike(t, took, simulate(c, 1))
			})
		}
	}
}

// isLike compares the fleet with its model.
func (f *fleet) isLike(t *testing.T, took time.Duration, s *scale) {
	t.Helper()
	t.Logf("%d hosts: really %s %+v", s.shape.hosts, took, f.calls)
	t.Logf("in the model %s %+v", s.now, s.calls)
	for _, c := range []struct {
		what          string
		really, model int
		factor        float64
	}{
		{"milliseconds", int(took.Milliseconds()), int(s.now.Milliseconds()), 1.3},
		{"leases", f.granted, s.granted, 1.3},
		{"bids", f.bids, s.bids, 1.6},
		{"grants", f.grants, s.grants, 1.6},
		{"settlements", f.settles, s.settles, 1.4},
		{"targets asked for", f.asked, s.calls.asked, 1},
		{"standings read", f.read, s.read, 2},
	} {
		if a, b := float64(c.really), float64(c.model); a > b*c.factor || b > a*c.factor {
			t.Errorf("%d hosts: %s: really %d, in the model %d", s.shape.hosts, c.what, c.really, c.model)
		}
	}
}
