package plan_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// REC-03, REC-04, REC-07, REC-37: valid inputs that want many people gone.
func TestManyRemovalsAreHeldOnceWhileCreationsGoOn(t *testing.T) {
	s := open(t, people(0, 100)...)
	var run reconcile.RunID
	for i := range 10 {
		s.want(append(people(0, 60), people(200, i+1)...)...)
		report := s.sweep()
		s.expect(report, reconcile.Held, "40 removals of 100, more than 25 %")
		if i == 0 {
			run = report.Run
		}
		if report.Run != run || report.Changes != 1 {
			t.Fatalf("sweep %d: %+v, want the hold of run %s and one creation", i, report, run)
		}
	}
	if held := s.held(); len(held) != 1 || held[0] != run {
		t.Errorf("the removals were raised by %v, want only %s", held, run)
	}
	s.has(110, "invited ×1", 10)
	if n := s.org.Writes(); n != 10 {
		t.Errorf("%d writes, want the ten creations", n)
	}
}

// REC-05: the share counts on a small team. Creations that go on do not thin what is held until it passes.
func TestWholeSmallTeamIsHeld(t *testing.T) {
	s := open(t, "ada", "bob", "cy", "dan")
	s.want("eve")
	first := s.sweep()
	s.expect(first, reconcile.Held, "4 removals of 4")
	s.want(append(people(0, 60), "eve")...)
	s.expect(s.sweep(), reconcile.Held, "")
	s.expect(s.sweep(), reconcile.Held, "4 removals of 4")
	s.has(65, "invited", 61)
	s.want(append(people(0, 60), "eve", "dan")...)
	again := s.sweep()
	s.expect(again, reconcile.Held, "3 removals, some of which run "+string(first.Run)+" held back")
	s.has(65, "invited", 61)
}

func TestRemovalsWithinTheBoundsPass(t *testing.T) {
	s := open(t, people(0, 40)...)
	other := reconcile.Write{Family: "held", Key: "org:acme.eu", Value: []byte(`{"run": "r-other", "changes": ["remove user000"]}`)}
	if err := s.ledger.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{other}}); err != nil {
		t.Fatal(err)
	}
	s.want(people(5, 35)...)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(35, "user", 35)
	s.want(people(11, 29)...)
	s.expect(s.sweep(), reconcile.Held, "6 removals, more than 5")
	s.has(35, "user", 35)
}

func TestOtherRemovalsNeedAnotherApproval(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	first := s.sweep().Run
	s.approve(first)
	s.want(append(people(7, 13), "ada")...)
	second := s.sweep()
	s.expect(second, reconcile.Held, "7 removals")
	s.has(21, "invited", 1)
	if second.Run == first {
		t.Fatal("another set was held by the run that was approved for less")
	}
	s.refuses(first, "trueup show "+string(second.Run))
	s.want(append(people(7, 13), "ada", "bob")...)
	s.expect(s.sweep(), reconcile.Held, "7 removals")
	s.approve(second.Run)
	s.want(append(people(7, 13), "ada", "bob", "cy")...)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(16, "invited", 3)
}

func TestApprovalIsUsedOnce(t *testing.T) {
	s, run := approvedSite(t)
	s.refuses(run, "grace approved it already")
	if known, err := s.ledger.Standings(t.Context()); err != nil || known[0].Reason != "run "+string(run)+" was approved by grace" {
		t.Errorf("nobody asks for the target: %+v, %v", known, err)
	}
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(14, "user", 14)
	s.refuses(run, "grace approved it already")
	s.org.Join("member", people(0, 6)...)
	again := s.sweep()
	s.expect(again, reconcile.Held, "6 removals")
	if again.Run == run {
		t.Error("what was approved once was not raised anew")
	}
	s.has(20, "user", 20)
}

// approvedSite is one of 20 members of whom 6 may be removed, as the run says that is returned.
func approvedSite(t *testing.T) (*site, reconcile.RunID) {
	t.Helper()
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	s.approve(run)
	return s, run
}

func TestAnotherHoldEndsAnApproval(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	s.approve(s.sweep().Run)
	s.want(people(7, 13)...)
	s.expect(s.sweep(), reconcile.Held, "7 removals")
	s.want(people(6, 14)...)
	s.expect(s.sweep(), reconcile.Held, "6 removals")
	s.has(20, "user", 20)
}

func TestApprovalEnds(t *testing.T) {
	s, run := approvedSite(t)
	s.later = 2 * time.Hour
	again := s.sweep()
	s.expect(again, reconcile.Held, "6 removals")
	if again.Run == run {
		t.Error("after its approval ended it was not raised anew")
	}
	s.has(20, "user", 20)
	s.refuses(run, "trueup show "+string(again.Run))
	s.approve(again.Run)
	s.expect(s.sweep(), reconcile.OK, "")
}

func TestApprovalThatEndsInMidTickEndsTheRemovals(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	s.approve(s.sweep().Run)
	s.later = 30 * time.Minute
	s.org.Answer = func(string) error {
		s.later = time.Hour + time.Second // the lease is younger than the approval
		return nil
	}
	s.expect(s.sweep(), reconcile.Failing, "has ended before this was done")
	s.has(19, "user", 19)
	s.expect(s.sweep(), reconcile.Held, "5 removals of 19")
	s.has(19, "user", 19)
}

func TestInterruptedRemovalsGoOn(t *testing.T) {
	s, run := approvedSite(t)
	s.org.Answer = func(write string) error {
		if write >= "remove user003" {
			return errors.New("503")
		}
		return nil
	}
	s.expect(s.sweep(), reconcile.Failing, "3 of 6 changes failed, the first: - member user003: 503")
	s.has(17, "user", 17)
	s.org.Answer = nil
	report := s.sweep()
	s.expect(report, reconcile.OK, "")
	s.has(14, "user", 14)
	for _, e := range s.history(report.Run).Events {
		if a, is := e.Fact.(reconcile.Applied); is && a.Approved != run {
			t.Errorf("%s does not name the run whose approval allowed it: %q", a.Change, a.Approved)
		}
	}
}

// REC-01: what cannot be read is not empty.
func TestUnreadableSourceRemovesNothing(t *testing.T) {
	s := open(t, people(0, 8)...)
	for name, spoil := range map[string]func(){
		"gone":      func() { os.Remove(s.file) },
		"empty":     func() { s.write("") },
		"blank":     func() { s.write("\n\n") },
		"truncated": func() { s.write(`{"user000": "member", "user0`) },
		"not ours":  func() { s.write("<html>503</html>\n") },
	} {
		spoil()
		if r := s.sweep(); r.State != reconcile.Uncertain || s.org.Writes() != 0 {
			t.Errorf("%s: %+v after %d writes", name, r, s.org.Writes())
		}
	}
	s.want("ada")
	s.expect(s.sweep(), reconcile.Held, "8 removals of 8")
	s.has(9, "user", 8)
}

func TestPartThatIsUnknownKeepsRemovalsBack(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(append(people(1, 19), "ada", "eve:?")...)
	report := s.sweep()
	s.expect(report, reconcile.Uncertain, "1 thing could not be read, the first: member eve as ?; until then 1 change")
	s.has(21, "invited", 1)
	if h := s.history(report.Run); len(h.Plan) != 2 || len(h.Plan.Removals()) != 0 {
		t.Errorf("the run tells of what it leaves alone: %v", h.Plan)
	}
	if o := s.outlook(t.Context()); len(o.Later) != 1 || len(o.Dark) != 1 || len(o.Do)+len(o.Wait) != 0 {
		t.Errorf("the outlook is %+v", o)
	}
	s.want(append(people(1, 19), "ada")...)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(20, "invited", 1)
}

func TestHoldStandsWhileSomethingIsUnknown(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	s.want(append(people(6, 14), "eve:?")...)
	s.expect(s.sweep(), reconcile.Uncertain, "6 changes")
	s.want(people(6, 14)...)
	if r := s.sweep(); r.State != reconcile.Held || r.Run != run || len(s.held()) != 1 {
		t.Errorf("after the dark: %+v, raised by %v", r, s.held())
	}
}

func TestConfirmWaitsHoweverSmall(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(append(people(1, 19), "user000:owner")...)
	r := s.sweep()
	s.expect(r, reconcile.Held, "1 change to be confirmed")
	if o := s.outlook(t.Context()); len(o.Wait) != 1 || o.Run != r.Run || s.org.Writes() != 0 {
		t.Errorf("the outlook is %+v", o)
	}
	s.approve(r.Run)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(20, "owner", 1)
}

func TestHoldGoesWithItsReason(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	s.want(people(0, 20)...)
	s.expect(s.sweep(), reconcile.OK, "")
	s.refuses(run, "nothing of it waits any more; trueup plan org:acme")
}

func TestRejectedRemovalsStayAndAreNotRaisedAgain(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	if _, err := plan.Reject(t.Context(), s.ledger, run, "grace", "they are on leave"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.expect(s.sweep(), reconcile.OK, "6 changes left undone, as grace wants it")
	}
	if _, err := plan.Reject(t.Context(), s.ledger, run, "heidi", ""); err == nil {
		t.Error("it was rejected twice")
	}
	s.want(people(7, 13)...)
	other := s.sweep()
	s.expect(other, reconcile.Held, "7 removals")
	s.refuses(run, "trueup show "+string(other.Run))
	if _, err := plan.Reject(t.Context(), s.ledger, other.Run, "grace", ""); err != nil {
		t.Fatal(err)
	}
	s.approve(other.Run) // on second thoughts
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(13, "user", 13)
}

// rejects takes a person's approval back.
func (s *site) rejects(run reconcile.RunID) plan.Rejection {
	s.Helper()
	r, err := plan.Reject(s.Context(), s.ledger, run, "grace", "the wrong run")
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func TestMistakenApprovalIsTakenBack(t *testing.T) {
	s, run := approvedSite(t)
	if r := s.rejects(run); len(r.Left) != 6 || len(r.Done) != 0 || r.Running != "" {
		t.Errorf("taken back: %+v", r)
	}
	for range 2 {
		s.expect(s.sweep(), reconcile.OK, "6 changes left undone, as grace wants it")
	}
	s.has(20, "user", 20)
	if h := s.history(run); h.Phase != reconcile.Denied || h.Verdict.Reason != "the wrong run" || h.Verdict.Done != 0 {
		t.Errorf("the run is %s: %+v", h.Phase, h.Verdict)
	}
	s.approve(run) // it was right after all
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(14, "user", 14)
	if _, err := plan.Reject(t.Context(), s.ledger, run, "grace", ""); err == nil || !strings.Contains(err.Error(), "nothing is left of what grace approved: it was done") {
		t.Errorf("an approval that was used: %v", err)
	}
}

// unleased is a ledger that cannot tell who holds leases.
type unleased struct{ reconcile.Ledger }

func (unleased) Leases(context.Context) ([]reconcile.Lease, error) {
	return nil, reconcile.ErrUnwritable
}

func TestFailedRejectionRejectsNothing(t *testing.T) {
	s, run := approvedSite(t)
	if r, err := plan.Reject(t.Context(), unleased{s.ledger}, run, "grace", ""); !errors.Is(err, reconcile.ErrUnwritable) {
		t.Errorf("it says %+v, %v", r, err)
	}
	if r := s.rejects(run); len(r.Left) != 6 {
		t.Errorf("taken back: %+v", r)
	}
}

func TestApprovalUsedInPartIsTakenBack(t *testing.T) {
	s, run := approvedSite(t)
	var during plan.Rejection
	s.org.Answer = func(write string) error {
		if write == "remove user002" {
			during = s.rejects(run)
		}
		return nil
	}
	again := s.sweep() // the target is asked for, and ticked once more
	s.has(17, "user", 17)
	if len(during.Left) != 4 || len(during.Done) != 2 {
		t.Errorf("taken back when two were done: %+v", during)
	}
	if h := s.history(during.Running); h.Phase != reconcile.Broken || !h.Applied("remove user002") || h.Applied("remove user003") {
		t.Errorf("the run that was on is %s: %v", h.Phase, h.Events)
	}
	if h := s.history(run); h.Verdict == nil || h.Verdict.Done != 2 {
		t.Errorf("the run does not say what was done: %+v", h.Verdict)
	}
	s.expect(again, reconcile.Held, "3 removals, some of which run "+string(run)+" held back")
	s.rejects(again.Run)
	s.expect(s.sweep(), reconcile.OK, "3 changes left undone")
	s.has(17, "user", 17)
}

func TestApprovalTakenBackInPartIsNotGivenAgain(t *testing.T) {
	s, run := approvedSite(t)
	s.org.Answer = func(write string) error {
		if write == "remove user003" {
			return &reconcile.NotBeforeError{At: time.Now().Add(time.Hour), Err: errors.New("429")}
		}
		return nil
	}
	s.expect(s.sweep(), reconcile.Limited, "3 of 6 changes done")
	if r := s.rejects(run); len(r.Left) != 3 || len(r.Done) != 3 || r.Running != "" {
		t.Errorf("taken back: %+v", r)
	}
	s.refuses(run, "a part of it was done before the rest was rejected")
}

func TestApprovalIsRefusedWithAReason(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(6, 14)...)
	run := s.sweep().Run
	for words, a := range map[string]plan.Allowance{
		"name who does":            {Run: run, For: time.Hour},
		"give it a longer time":    {Run: run, By: "grace"},
		"is not what it holds":     {Run: run, By: "grace", For: time.Hour, Digest: strings.Repeat("0", 64)},
		reconcile.ErrNoRun.Error(): {Run: "r-zzzzz", By: "grace", For: time.Hour},
	} {
		if _, err := plan.Approve(t.Context(), s.ledger, a); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, want a refusal with %q", a, err, words)
		}
	}
	s.refuses(run[:0], reconcile.ErrNoRun.Error())
}
