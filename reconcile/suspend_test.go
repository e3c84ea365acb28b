package reconcile_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

// A boot is a clock that goes on in suspends, in which Go's stops. The wall clock may be set back meanwhile, so that the
// store finds a lease live that is over.
type boot struct{ slept atomic.Int64 }

func (b *boot) sleep(d time.Duration) { b.slept.Add(int64(d)) }

func (b *boot) clock() reconcile.Uptime {
	begun := time.Now()
	return func() time.Duration { return time.Since(begun) + time.Duration(b.slept.Load()) }
}

// A tick that was suspended for longer than its lease may not write, from the first instant at which it goes on: no time
// passes before the look that refuses, and none by Go's clock or the wall clock (LCK-17, LCK-18).
func TestSuspendedTickWritesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		sleeps time.Duration
		lost   bool
	}{"for longer than the lease": {16 * time.Minute, true}, "for a moment": {time.Minute, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, "a")
				host := new(boot)
				s.Uptime = host.clock()
				ticked := false
				s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
					if err := run.Check(ctx); err != nil {
						t.Errorf("before: %v", err)
					}
					host.sleep(c.sleeps)
					began := time.Now()
					err := run.Check(ctx)
					if errors.Is(err, reconcile.ErrLeaseLost) != c.lost || time.Since(began) > 0 {
						t.Errorf("the look after a suspend of %s says %v, after %s", c.sleeps, err, time.Since(began))
					}
					if c.lost && !errors.Is(context.Cause(ctx), reconcile.ErrLeaseLost) {
						t.Errorf("its context goes on: %v", context.Cause(ctx))
					}
					ticked = true
					return reconcile.Report{State: reconcile.OK}, err
				})
				s.sweep(s.claim())
				if !ticked {
					t.Error("nothing was ticked")
				}
			})
		})
	}
}

// Who cannot look before each write, such as a command that runs on, is told within a second of the resume.
func TestSuspendedWorkIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := new(boot)
		held, err := reconcile.HoldWork(t.Context(), new(clerk), reconcile.WorkOrder{Item: "disk", For: 15 * time.Minute}, host.clock())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Leave()
		<-time.After(time.Minute)
		host.sleep(16 * time.Minute)
		began := time.Now()
		<-held.Ctx.Done()
		if took := time.Since(began); took > time.Second || !errors.Is(context.Cause(held.Ctx), reconcile.ErrLeaseLost) {
			t.Errorf("told %s after the resume: %v", took, context.Cause(held.Ctx))
		}
	})
}

// A suspend that a renewal survives is followed by one at once.
func TestSuspendedWorkIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, clerk := new(boot), new(clerk)
		held, err := reconcile.HoldWork(t.Context(), clerk, reconcile.WorkOrder{Item: "disk", For: 15 * time.Minute}, host.clock())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Leave()
		<-time.After(time.Minute)
		host.sleep(6 * time.Minute)
		<-time.After(2 * time.Second)
		if renewed := clerk.refuses(nil); renewed != 1 || held.Ctx.Err() != nil {
			t.Errorf("renewed %d times, %v", renewed, context.Cause(held.Ctx))
		}
	})
}
