package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
)

// waiting expects one hold.
func (s *site) waiting(run reconcile.RunID, told bool) plan.Hold {
	s.Helper()
	holds, err := plan.Waiting(s.Context(), s.ledger, "")
	if err != nil || len(holds) != 1 || holds[0].Run != run || holds[0].Told != told || holds[0].Target != acme {
		s.Fatalf("what waits: %+v, %v; want the hold of run %s, told %v", holds, err, run, told)
	}
	return holds[0]
}

// A change that fails must not hide that others wait: the report says so, and whoever is to be told is told.
func TestFailureDoesNotHideWhatWaits(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(append(people(6, 14), "ada")...)
	s.org.Answer = func(string) error { return errors.New("403") }
	first := s.sweep()
	s.expect(first, reconcile.Failing, "403; 6 changes wait for approval")
	if first.Held != first.Run || first.Run == "" {
		t.Errorf("the report names run %q, held by %q", first.Run, first.Held)
	}
	hold := s.waiting(first.Run, false)
	if hold.Changes != 6 || !strings.Contains(hold.Why, "6 removals") {
		t.Errorf("what waits: %+v", hold)
	}
	for range 2 {
		if err := hold.Tell(t.Context(), s.ledger); err != nil { // a second telling finds that it was told
			t.Fatal(err)
		}
	}
	s.waiting(first.Run, true)
	s.org.Answer = nil
	second := s.sweep()
	s.expect(second, reconcile.Held, "6 removals")
	if second.Held != first.Run || second.Own == "" || second.Own == first.Run {
		t.Errorf("run %q tells of run %q, held by %q", second.Own, second.Run, second.Held)
	}
	if h := s.history(second.Own); h.Waits != first.Run || h.Hold != nil {
		t.Errorf("run %s does not say that the rest waits: %+v", second.Own, h.Waits)
	}
	s.waiting(first.Run, true)
	s.approve(first.Run)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(15, "invited", 1)
}

// What is answered, superseded or no longer wanted waits no more, and what takes its place is told anew.
func TestWaitingIsWhatWaits(t *testing.T) {
	s := open(t, people(0, 20)...)
	none := func(what string) {
		t.Helper()
		if holds, err := plan.Waiting(t.Context(), s.ledger, acme); len(holds) > 0 || err != nil {
			t.Errorf("%s still waits: %+v, %v", what, holds, err)
		}
	}
	s.want(people(6, 14)...)
	first := s.sweep().Run
	if err := s.waiting(first, false).Tell(t.Context(), s.ledger); err != nil {
		t.Fatal(err)
	}
	s.want(people(7, 13)...)
	second := s.sweep().Run
	s.waiting(second, false)
	s.want(people(0, 20)...)
	s.sweep()
	none("what is wanted again")
	s.want(people(6, 14)...)
	third := s.sweep().Run
	if _, err := plan.Reject(t.Context(), s.ledger, third, "grace", ""); err != nil {
		t.Fatal(err)
	}
	none("what was rejected")
	if r := s.sweep(); r.Held != "" {
		t.Errorf("what was rejected is held by %s", r.Held)
	}
	s.approve(third)
	none("what was approved")
}

// An answer and a telling may come at the same time.
func TestVerdictBesideTelling(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	hold := s.waiting(run, false)
	l := &crossing{Ledger: s.ledger, before: func() { _ = hold.Tell(t.Context(), s.ledger) }}
	if _, err := plan.Approve(t.Context(), l, plan.Allowance{Run: run, By: "grace", For: time.Hour}); err != nil {
		t.Errorf("the telling keeps the person from answering: %v", err)
	}
	if l.before != nil {
		t.Error("nothing crossed")
	}
}

// crossing is a ledger on which something happens just before the first commit.
type crossing struct {
	reconcile.Ledger
	before func()
}

func (c *crossing) Commit(ctx context.Context, b reconcile.Batch) error {
	if do := c.before; do != nil {
		c.before = nil
		do()
	}
	return c.Ledger.Commit(ctx, b)
}

// What the ledger refuses is no refusal of the verdict.
func TestRefusalsAreTold(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	broken := &crossing{Ledger: s.ledger, before: func() { s.ledger.Close() }}
	_, err := plan.Approve(t.Context(), broken, plan.Allowance{Run: run, By: "grace", For: time.Hour})
	if _, is := errors.AsType[*plan.RefusedError](err); is || err == nil {
		t.Errorf("a ledger that fails refuses a verdict: %v", err)
	}
	for name, a := range map[string]plan.Allowance{"nobody": {Run: run, For: time.Hour}, "no time": {Run: run, By: "grace"}} {
		if _, err := plan.Approve(t.Context(), s.ledger, a); err != nil {
			if _, is := errors.AsType[*plan.RefusedError](err); is {
				continue
			}
		}
		t.Errorf("%s: no refusal", name)
	}
}

// An approval under the id of another change allows nothing, and stops nothing.
func TestStaleApprovalIsNotUsed(t *testing.T) {
	for _, dark := range []bool{false, true} {
		s := open(t, people(0, 20)...)
		s.want(append(people(1, 19), "user000:owner")...)
		s.approve(s.sweep().Run)
		next := append(people(1, 19), "user000:admin")
		if dark {
			next = append(next, "eve:?") // keeps the approval on record
		}
		s.want(next...)
		r := s.sweep()
		if want := map[bool]reconcile.State{false: reconcile.OK, true: reconcile.Uncertain}[dark]; r.State != want {
			t.Errorf("dark %v: the tick ended as %s: %s", dark, r.State, r.Note)
		}
		for _, e := range s.history(r.Run).Events {
			if a, is := e.Fact.(reconcile.Applied); is && a.Approved != "" {
				t.Errorf("dark %v: %s was done as approved in run %s", dark, a.Change, a.Approved)
			}
		}
		s.has(20, "admin", 1)
	}
}

// hanging is a kind whose outside never answers.
type hanging struct{ kindtest.OrgKind }

func (hanging) Observe(ctx context.Context, _ plan.Input) (kindtest.Roster, error) {
	<-ctx.Done()
	return kindtest.Roster{}, ctx.Err()
}

// broken is a kind with a fault.
type broken struct{ kindtest.OrgKind }

func (broken) Plan(plan.Input, kindtest.Roster) (reconcile.Plan, error) { panic("nil map") }

// A fault of one kind ends neither the previews of the others nor their ticks, and tells where it is.
func TestPanicIsAnError(t *testing.T) {
	s := open(t, "bob")
	s.kind = broken{kindtest.OrgKind{Org: s.org}}
	_, err := s.ticker().Preview(t.Context(), reconcile.Target{Key: acme}, reconcile.Standing{}, s.ledger)
	p, is := errors.AsType[*reconcile.PanicError](err)
	if !is || !strings.Contains(string(p.Stack), "waiting_test.go") || err.Error() != "panic: nil map" {
		t.Errorf("previewed as %v", err)
	}
	r := s.sweep()
	s.expect(r, reconcile.Failing, "ticking org:acme: panic: nil map")
	if logs, err := s.ledger.Logs(t.Context(), r.Run); err != nil || len(logs) != 1 || !strings.Contains(logs[0].Text, "waiting_test.go") {
		t.Errorf("the run keeps %+v, %v", logs, err)
	}
}

func TestPreviewTakesNoLongerThanATick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := plan.New(hanging{}, nil, plan.Options[kindtest.Roster]{})
		begun := time.Now()
		_, err := ticker.Preview(t.Context(), reconcile.Target{Key: acme, Timeout: time.Minute}, reconcile.Standing{}, nil)
		if err == nil || !strings.Contains(err.Error(), "not done within its timeout of 1m0s") || time.Since(begun) != time.Minute {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}
