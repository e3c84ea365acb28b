package reconcile_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

// lasting is a tick of some length that ends early when it is told to, and says why.
func lasting(d time.Duration) play {
	return func(ctx context.Context, _ *reconcile.Run) (reconcile.Report, error) {
		select {
		case <-ctx.Done():
			return reconcile.Report{}, context.Cause(ctx)
		case <-time.After(d):
			return reconcile.Report{State: reconcile.OK}, nil
		}
	}
}

// A tick may last many times its lease, which is renewed beside it, however busy it is (LCK-15).
func TestLongTickKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		s.plays("a", lasting(10*s.TTL))
		o := s.sweep(s.claim())
		equal(t, o.Reports["command:a"].State, reconcile.OK, "after ten leases' time")
	})
}

// lostLedger loses every lease at the first renewal.
type lostLedger struct{ reconcile.Ledger }

func (lostLedger) Renew(_ context.Context, fences []reconcile.Fence, _ time.Duration) ([]reconcile.Fence, error) {
	return fences, nil
}

func TestLostLeaseEndsTheTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		s.Ledger = lostLedger{s.store}
		var cause error
		s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
			_, err := lasting(time.Hour)(ctx, run)
			cause = context.Cause(ctx)
			return reconcile.Report{}, err
		})
		began := time.Now()
		s.sweep(s.claim())
		if !errors.Is(cause, reconcile.ErrLeaseLost) || time.Since(began) > s.TTL/2 {
			t.Errorf("ended after %v by %v", time.Since(began), cause)
		}
	})
}

// darkLedger is one that nobody reaches any more, once it is dark.
type darkLedger struct {
	reconcile.Ledger
	dark atomic.Bool
}

func (d *darkLedger) Renew(ctx context.Context, fences []reconcile.Fence, ttl time.Duration) ([]reconcile.Fence, error) {
	if d.dark.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.Ledger.Renew(ctx, fences, ttl)
}

// Renewals that get no answer end the tick before its lease does, so that nothing is written after it (LCK-13); one that is
// answered in time ends nothing.
func TestUnreachableLedgerEndsTheTickInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		dark := &darkLedger{Ledger: s.store}
		s.Ledger = dark
		var ended time.Duration
		s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
			dark.dark.Store(true)
			<-time.After(s.TTL / 2) // one renewal is missed
			dark.dark.Store(false)
			<-time.After(s.TTL)
			if ctx.Err() != nil {
				t.Errorf("one missed renewal ended it: %v", context.Cause(ctx))
			}
			began := time.Now()
			dark.dark.Store(true)
			<-ctx.Done()
			ended = time.Since(began)
			if err := context.Cause(ctx); !errors.Is(err, reconcile.ErrLeaseLost) {
				t.Errorf("ended by %v", err)
			}
			return reconcile.Report{}, ctx.Err()
		})
		s.sweep(s.claim())
		if ended == 0 || ended >= s.TTL {
			t.Errorf("it went on for %v of a lease of %v", ended, s.TTL)
		}
	})
}

// A tick that hangs on without heeding its context records nothing any more, and its target is owed.
func TestStaleTickRecordsNothing(t *testing.T) {
	s := newStage(t, "a")
	s.sweep(s.claim())
	s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		s.store.Close() // the process is taken for dead, and another one takes over
		s.store = s.process("another")
		if err := run.Check(ctx); err == nil {
			t.Error("the lease of a closed store is live")
		}
		err := run.Do(ctx, reconcile.Propose{Plan: reconcile.Plan{{ID: "x", Op: reconcile.Create}}})
		if err == nil {
			t.Error("a stale tick recorded a plan")
		}
		return reconcile.Report{State: reconcile.OK}, nil
	})
	if _, err := s.Sweep(t.Context(), s.claim()); err == nil {
		t.Error("the sweep has settled on a closed store")
	}
	if !s.standing("a").Owed() {
		t.Error("the target is not owed")
	}
}

// Targets with a scope in common take turns, whatever process ticks them.
func TestSharedScopesTakeTurns(t *testing.T) {
	s := newStage(t)
	var mu sync.Mutex
	inside, together := 0, false
	turn := func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		mu.Lock()
		inside++
		together = together || inside > 1
		mu.Unlock()
		defer func() { mu.Lock(); inside--; mu.Unlock() }()
		return fine(ctx, run)
	}
	for _, name := range many(30) {
		s.declare(name, turn, "host:passwd")
	}
	o := s.sweep(s.claim())
	if together {
		t.Error("two ticks held one scope at the same time")
	}
	for key, r := range o.Reports {
		equal(t, r.State, reconcile.OK, string(key))
	}
	s.covers(o, 1, "in one sweep")
}

// A slow tick keeps no worker from the others, and a quick one is settled while it goes on.
func TestSlowTickHoldsNobodyUp(t *testing.T) {
	s := newStage(t, many(40)...)
	s.Parallel = 2
	others := make(chan struct{})
	s.Progress = func(p reconcile.Progress) {
		if p.Report != nil && p.Done == 39 {
			close(others)
		}
	}
	s.plays("t00000", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		<-others // they are settled, or this waits for ever
		return fine(ctx, run)
	})
	s.covers(s.sweep(s.claim()), 1, "all")
}

// A sweep that is told to stop tells its ticks, records how they ended, and gives back what it had not begun.
func TestStoppedSweepGivesItsLeasesBack(t *testing.T) {
	s := newStage(t, many(40)...)
	s.Parallel = 2
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	for _, target := range s.Targets {
		s.plays(target.Key.Name(), func(ctx context.Context, _ *reconcile.Run) (reconcile.Report, error) {
			stop(errors.New("terminated"))
			<-ctx.Done()
			return reconcile.Report{}, ctx.Err()
		})
	}
	if _, err := s.Sweep(ctx, s.claim()); err == nil {
		t.Error("a stopped sweep is a success")
	}
	if leases, err := s.store.Leases(t.Context()); err != nil || len(leases) > 0 {
		t.Errorf("still leased: %v %v", leases, err)
	}
	for _, target := range s.Targets {
		if k := s.standing(target.Key.Name()); !k.Owed() || k.Failures > 0 || k.Report.State != reconcile.Waiting {
			t.Errorf("being stopped counts against %s: %+v", target.Key, k)
		}
		if runs := s.runs(target.Key.Name()); len(runs) > 0 {
			t.Errorf("%s has a run that tells of nothing", target.Key)
		}
	}
}

func TestTickTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		s.Targets[0].Timeout = time.Minute
		s.plays("a", lasting(time.Hour))
		o := s.sweep(s.claim())
		equal(t, o.Reports["command:a"].Note, "not done within its timeout of 1m0s", "its note")
	})
}
