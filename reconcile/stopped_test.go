package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

// A lease whose renewals never get an answer ends its tick a tenth of its time before it lapses, also at the first (LCK-13).
func TestFirstRenewalMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		dark := &darkLedger{Ledger: s.store}
		dark.dark.Store(true)
		s.Ledger = dark
		var ended time.Duration
		s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
			<-ctx.Done()
			ended = time.Until(run.Lease.Until)
			return reconcile.Report{}, context.Cause(ctx)
		})
		s.sweep(s.claim())
		if least := s.TTL / 15; ended < least || ended > s.TTL/6 {
			t.Errorf("ended %s before the lease, want %s at least", ended, least)
		}
	})
}

// A tick that takes its time to end, because the process was told to stop, keeps its lease for as long as that takes.
func TestStoppedTickKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a")
		ctx, stop := context.WithCancel(t.Context())
		s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
			stop()
			<-time.After(3 * s.TTL) // it does not hear
			if err := s.store.Check(t.Context(), run.Lease.Fence); err != nil {
				t.Errorf("after three leases' time: %v", err)
			}
			if err := reconcile.Grace(ctx).Err(); err != nil {
				t.Errorf("its grace has ended: %v", err)
			}
			return reconcile.Report{}, context.Cause(ctx)
		})
		if _, err := s.Sweep(ctx, s.claim()); !errors.Is(err, context.Canceled) {
			t.Errorf("the sweep says %v", err)
		}
		if runs := s.runs("a"); len(runs) > 0 {
			t.Errorf("that it was stopped is told as %v", runs)
		}
	})
}

// Its grace ends when the lease is lost meanwhile, and when the process is told again.
func TestGraceEnds(t *testing.T) {
	for name, c := range map[string]struct {
		again bool
		cause error
	}{"the lease is lost": {false, reconcile.ErrLeaseLost}, "told again": {true, context.Canceled}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, "a")
				dark := &darkLedger{Ledger: s.store}
				s.Ledger = dark
				grace, again := context.WithCancel(t.Context())
				defer again()
				ctx, stop := context.WithCancelCause(reconcile.WithGrace(t.Context(), grace))
				told := errors.New("told to stop")
				s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
					dark.dark.Store(!c.again)
					stop(told)
					<-ctx.Done()
					if err := reconcile.Grace(ctx).Err(); err != nil {
						t.Errorf("no time is left: %v", err)
					}
					if c.again {
						again()
					}
					<-reconcile.Grace(ctx).Done()
					if left := time.Until(run.Lease.Until); left < s.TTL/15 {
						t.Errorf("only %s are left of the lease", left)
					}
					if ended := context.Cause(reconcile.Grace(ctx)); !errors.Is(ended, c.cause) || !errors.Is(context.Cause(ctx), told) {
						t.Errorf("the grace ended by %v, and the tick by %v", ended, context.Cause(ctx))
					}
					return reconcile.Report{}, context.Cause(ctx)
				})
				if _, err := s.Sweep(ctx, s.claim()); !errors.Is(err, told) {
					t.Errorf("the sweep says %v", err)
				}
			})
		})
	}
}

// Work that takes its time to end is renewed meanwhile too.
func TestStoppedWorkKeepsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clerk := new(clerk)
		ctx, stop := context.WithCancel(t.Context())
		held, err := reconcile.HoldWork(ctx, clerk, reconcile.WorkOrder{Item: "disk", For: 15 * time.Minute}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Leave()
		stop()
		<-time.After(time.Hour + time.Minute)
		if renewed := clerk.refuses(reconcile.ErrLeaseLost); renewed != 12 || reconcile.Grace(held.Ctx).Err() != nil {
			t.Errorf("renewed %d times in an hour, and its grace says %v", renewed, context.Cause(reconcile.Grace(held.Ctx)))
		}
		<-reconcile.Grace(held.Ctx).Done()
	})
}
