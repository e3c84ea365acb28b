package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
)

// REC-13, ACT-04, REC-30: one of many that fails stops no other.
func TestOneOfManyFails(t *testing.T) {
	s := open(t, "bob")
	s.want(append(people(0, 100), "bob")...)
	s.org.Answer = func(write string) error {
		if write == "invite user007" {
			return errors.New("403 blocked")
		}
		return nil
	}
	r := s.sweep()
	s.expect(r, reconcile.Failing, "1 of 100 changes failed, the first: + member user007 as member: 403 blocked")
	s.has(100, "invited ×1", 99)
	if h := s.history(r.Run); r.Changes != 99 || !h.Failed("invite user007") || !h.Applied("invite user099") {
		t.Errorf("the run does not tell who was left out: %+v", r)
	}
	s.org.Answer = nil
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(101, "invited ×1", 100)
}

// REC-26: what the outside takes and ignores has failed.
func TestWhatDidNotTakeHasFailed(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.want(people(1, 19)...)
	s.org.Deaf = map[string]bool{"remove user000": true}
	s.expect(s.sweep(), reconcile.Failing, "1 of 1 change failed, the first: - member user000: was done and is still wanted")
	s.org.Deaf = nil
	s.expect(s.sweep(), reconcile.OK, "")
}

// A failure that a retry may mend speaks for all, so that one that nothing mends does not end the retries.
func TestTerminalFailureDoesNotSpeakForOthers(t *testing.T) {
	s := open(t, "bob")
	s.want("bob", "ada", "cy")
	terminal := map[string]bool{"invite ada": true}
	s.org.Answer = func(write string) error {
		if terminal[write] {
			return reconcile.Terminal(errors.New("no such user"))
		}
		return errors.New("503")
	}
	s.expect(s.sweep(), reconcile.Failing, "2 of 2 changes failed, the first: + member cy as member: 503")
}

func TestPatienceStopsTheTick(t *testing.T) {
	s := open(t, "bob")
	s.want("bob", "ada", "cy", "dan")
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	s.org.Answer = func(write string) error {
		if write == "invite cy" {
			return &reconcile.NotBeforeError{At: at, Err: errors.New("429")}
		}
		return nil
	}
	s.expect(s.sweep(), reconcile.Limited, "1 of 3 changes done, then + member cy as member: 429, not before")
	if n := s.org.Writes(); n != 2 {
		t.Errorf("%d writes, want none after the refusal", n)
	}
	if left, _ := s.ledger.Records(t.Context(), "marker", "org:acme invite cy"); len(left) != 0 {
		t.Errorf("what was surely not done left a marker: %v", left)
	}
	s.later, s.org.Answer = 2*time.Hour, nil
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(4, "invited ×1", 3)
}

// mute is a kind that cannot ask what happened.
type mute struct{ plan.Kind[kindtest.Roster] }

func TestDoubtfulChangeWaitsForAPerson(t *testing.T) {
	s := open(t, "bob")
	s.kind = mute{s.kind}
	s.want("bob", "ada", "cy")
	s.org.Answer = func(write string) error {
		if write == "invite ada" {
			return errors.New("connection reset")
		}
		return nil
	}
	begun := s.sweep()
	s.expect(begun, reconcile.Failing, "connection reset")
	s.org.Answer = nil
	s.want("bob", "ada:?", "cy")
	s.expect(s.sweep(), reconcile.Uncertain, "") // a plan that does not see her does not tell that she was invited
	s.want("bob", "ada", "cy")
	r := s.sweep()
	s.expect(r, reconcile.Held, "member ada as member may have been done already, by run "+string(begun.Run))
	s.expect(s.sweep(), reconcile.Held, "may have been done already")
	s.has(2, "invited ×1", 1)
	s.approve(r.Run)
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(3, "invited ×1", 2)
	s.expect(s.sweep(), reconcile.OK, "")
	for _, family := range []string{"held", "approval", "marker"} {
		if left, err := s.ledger.Records(t.Context(), family, ""); len(left) != 0 || err != nil {
			t.Errorf("what nobody needs any more is left: %v, %v", left, err)
		}
	}
}

func TestDoubtEndsWithTheWish(t *testing.T) {
	s := open(t, "bob")
	s.kind = mute{s.kind}
	s.want("bob", "ada")
	s.org.Answer = func(string) error { return errors.New("connection reset") }
	begun := s.sweep()
	s.org.Join("member", "ada") // she had got it
	r := s.sweep()
	s.expect(r, reconcile.OK, "")
	events := s.history(r.Run).Events
	if !slices.ContainsFunc(events, func(e reconcile.Event) bool {
		return e.Fact == reconcile.Recovered{Run: begun.Run, Change: "invite ada", Happened: true}
	}) {
		t.Errorf("the run does not say what became of the invitation: %v", events)
	}
}

// unsure is a kind that cannot reach what would tell it what happened.
type unsure struct{ kindtest.OrgKind }

func (unsure) Happened(context.Context, plan.Input, kindtest.Roster, reconcile.Change) (bool, error) {
	return false, errors.New("502")
}

func TestWhatCannotBeAskedAfterIsNotRepeated(t *testing.T) {
	s := open(t, "bob")
	s.want("bob", "ada")
	s.org.Answer = func(string) error { return errors.New("connection reset") }
	begun := s.sweep().Run
	kind := s.kind
	s.kind, s.org.Answer = unsure{kind.(kindtest.OrgKind)}, nil
	s.want("bob", "ada", "cy")
	s.expect(s.sweep(), reconcile.Failing, "1 of 2 changes failed, the first: + member ada as member: asking whether run "+string(begun))
	s.has(2, "invited ×1", 1)
	s.kind = kind
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(3, "invited ×1", 2)
}

// slow is a kind whose outside lists invitations late, and tells of each when asked.
type slow struct{ kindtest.OrgKind }

func (k slow) Observe(ctx context.Context, in plan.Input) (kindtest.Roster, error) {
	seen, err := k.OrgKind.Observe(ctx, in)
	seen.Invited = nil
	return seen, err
}

func TestWhatIsSlowToShowIsNotRepeated(t *testing.T) {
	s := open(t, "bob")
	s.kind = slow{kindtest.OrgKind{Org: s.org}}
	s.want("bob", "ada")
	for range 3 {
		s.expect(s.sweep(), reconcile.OK, "")
	}
	s.has(2, "invited ×1", 1)
	if runs, err := s.ledger.Runs(t.Context(), acme, 9); err != nil || len(runs) != 1 {
		t.Errorf("%d runs tell of one invitation, %v", len(runs), err)
	}

	s = open(t, "bob")
	s.kind = slow{kindtest.OrgKind{Org: s.org}}
	s.want("bob", "ada")
	s.org.Answer = func(string) error { return errors.New("connection reset") }
	s.expect(s.sweep(), reconcile.Failing, "connection reset")
	s.org.Answer = nil
	if err := s.org.Write("invite", "ada", "member"); err != nil { // it arrives after all
		t.Fatal(err)
	}
	for range 3 {
		s.expect(s.sweep(), reconcile.OK, "")
	}
	s.has(2, "invited ×1", 1)
}

// jumbled is a kind that plans in the wrong order.
type jumbled struct{ kindtest.OrgKind }

func (k jumbled) Plan(in plan.Input, seen kindtest.Roster) (reconcile.Plan, error) {
	p, err := k.OrgKind.Plan(in, seen)
	slices.Reverse(p)
	return p, err
}

func TestRemovalsComeLast(t *testing.T) {
	s := open(t, people(0, 20)...)
	s.kind = jumbled{kindtest.OrgKind{Org: s.org}}
	s.want(append(people(1, 18), "user019:admin", "ada")...)
	var order []string
	s.org.Answer = func(write string) error {
		order = append(order, write)
		return nil
	}
	s.expect(s.sweep(), reconcile.OK, "")
	if got := strings.Join(order, ", "); got != "invite ada, role user019, remove user000" {
		t.Errorf("the changes were done in the order %s", got)
	}
}

// staged is a kind that sees one thing at a time.
type staged struct{ kindtest.OrgKind }

func (k staged) Plan(in plan.Input, seen kindtest.Roster) (reconcile.Plan, error) {
	p, err := k.OrgKind.Plan(in, seen)
	return p[:min(1, len(p))], err
}

func TestWhatIsWantedOnlyAfterwardsIsLeftToTheNextTick(t *testing.T) {
	s := open(t, "ada", "bob")
	s.kind = staged{kindtest.OrgKind{Org: s.org}}
	s.want("ada:admin", "bob:admin")
	s.expect(s.sweep(), reconcile.Failing, "1 more change wanted after the rest was done, the first: ~ member bob as admin")
	s.expect(s.sweep(), reconcile.OK, "")
	s.has(2, "admin", 2)
}

// printing is a kind whose commands print.
type printing struct {
	kindtest.OrgKind
	broken bool
}

func (k printing) Observe(ctx context.Context, in plan.Input) (kindtest.Roster, error) {
	in.Log("check", "looking")
	if k.broken {
		return kindtest.Roster{}, errors.New("exit status 1")
	}
	return k.OrgKind.Observe(ctx, in)
}

func TestWhatIsPrintedIsKeptWithTheRun(t *testing.T) {
	s := open(t, "bob")
	kind := kindtest.OrgKind{Org: s.org}
	for _, broken := range []bool{false, true} {
		s.kind = printing{kind, broken}
		s.want("bob", fmt.Sprint("ada", broken))
		r := s.sweep()
		logs, err := s.ledger.Logs(t.Context(), r.Run)
		if err != nil || len(logs) == 0 || logs[0].Stream != "check" || logs[0].Text != "looking" {
			t.Errorf("broken %v, run %q: %v, %v", broken, r.Run, logs, err)
		}
	}
}

// A tick that is told to stop in mid change records how that change ended.
func TestStopInMidChangeIsRecorded(t *testing.T) {
	s := open(t, "bob")
	s.want("bob", "ada", "cy")
	ctx, stop := context.WithCancel(t.Context())
	s.org.Answer = func(string) error {
		stop()
		return nil
	}
	r := reconcile.Reconciler{Ledger: s.ledger, Targets: []reconcile.Target{{Key: acme}}, TTL: time.Hour, Parallel: 1,
		Tickers: map[reconcile.Key]reconcile.Ticker{acme: s.ticker()}}
	if _, err := r.Sweep(ctx, reconcile.Order{Owing: reconcile.Wanted{All: true}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the sweep ended as %v", err)
	}
	runs, err := s.ledger.Runs(t.Context(), acme, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := s.history(runs[0])
	if last := h.Events[len(h.Events)-1].Fact; !h.Applied("invite ada") || h.Applied("invite cy") || !strings.Contains(fmt.Sprint(last), "context canceled") {
		t.Errorf("the run ended with %v", h.Events)
	}
	if s.org.Writes() != 1 {
		t.Errorf("%d writes, want none after the word to stop", s.org.Writes())
	}
}
