package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

// book is a run's events, appended as a ledger would: only what was decided, and through the stored form.
type book struct {
	t      rapid.TB
	events []reconcile.Event
}

func open(t rapid.TB) *book {
	b := &book{t: t}
	b.append(reconcile.Leased{Lease: reconcile.Lease{Fence: 7, Run: reconcile.NewRunID(7), Target: "command:web"}})
	return b
}

func (b *book) append(facts ...reconcile.Fact) {
	b.t.Helper()
	for _, f := range facts {
		typ, data, err := reconcile.EncodeFact(f)
		if err != nil {
			b.t.Fatal(err)
		}
		read, err := reconcile.DecodeFact(typ, data)
		if err != nil {
			b.t.Fatal(err)
		}
		b.events = append(b.events, reconcile.Event{Seq: len(b.events) + 1, At: time.Unix(int64(len(b.events)), 0), Fact: read})
	}
}

func (b *book) history() reconcile.History {
	b.t.Helper()
	h, err := reconcile.Fold(b.events)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func (b *book) try(c reconcile.Command) error {
	b.t.Helper()
	facts, err := b.history().Decide(c)
	if err == nil {
		b.append(facts...)
	}
	return err
}

func (b *book) must(c reconcile.Command) {
	b.t.Helper()
	if err := b.try(c); err != nil {
		b.t.Fatalf("%T: %v", c, err)
	}
}

func (b *book) refuses(c reconcile.Command, words string) {
	b.t.Helper()
	if err := b.try(c); !errors.Is(err, reconcile.ErrUndecidable) || !strings.Contains(err.Error(), words) {
		b.t.Errorf("%T: %v, want a refusal with %q", c, err, words)
	}
}

var members = reconcile.Plan{
	{ID: "add ada", Op: reconcile.Create, Text: "member ada", Once: true},
	{ID: "see eve", Op: reconcile.Unknown, Text: "member eve"},
	{ID: "drop bob", Op: reconcile.Remove, Text: "member bob"},
}

func TestRunHoldsBackAndIsApprovedOnce(t *testing.T) {
	b := open(t)
	b.must(reconcile.Propose{Plan: members, Hold: []string{"drop bob"}, Why: "1 of 2"})
	b.refuses(reconcile.Propose{Plan: members}, "has a plan")
	b.refuses(reconcile.Begin{Change: "drop bob"}, "approval")
	b.refuses(reconcile.Finish{Change: "drop bob"}, "approval")
	b.refuses(reconcile.Begin{Change: "see eve"}, "unknown")
	b.refuses(reconcile.Begin{Change: "add eve"}, "not in its plan")
	b.refuses(reconcile.Close{}, "not done")
	b.must(reconcile.Begin{Change: "add ada"})
	b.refuses(reconcile.Begin{Change: "add ada"}, "begun before")
	b.refuses(reconcile.Close{}, "not done")
	b.must(reconcile.Finish{Change: "add ada", Took: time.Second})
	b.refuses(reconcile.Finish{Change: "add ada"}, "begun before")
	waiting := b.history().Waiting()
	b.refuses(reconcile.Approve{By: "eve", Digest: waiting.Digest()}, "running")
	b.must(reconcile.Close{})
	if got := b.history().Phase; got != reconcile.AwaitsYou {
		t.Fatalf("closed with something held back, it is %q", got)
	}
	b.refuses(reconcile.Finish{Change: "drop bob"}, "held")
	b.refuses(reconcile.Approve{By: "eve", Digest: members.Digest()}, "not what it holds")
	b.must(reconcile.Approve{By: "eve", Digest: waiting.Digest(), Until: time.Unix(99, 0)})
	b.refuses(reconcile.Approve{By: "eve", Digest: waiting.Digest()}, "approved")
	if h := b.history(); h.Phase != reconcile.Allowed || h.Approval.By != "eve" {
		t.Errorf("approved, it is %q by %+v", h.Phase, h.Approval)
	}
}

func TestApprovalIsTakenBack(t *testing.T) {
	b := open(t)
	b.must(reconcile.Propose{Plan: members, Hold: []string{"drop bob"}})
	b.must(reconcile.Close{Err: errors.New("503")})
	approve := reconcile.Approve{By: "eve", Digest: b.history().Waiting().Digest()}
	b.must(approve)
	b.must(reconcile.Reject{By: "ada", Reason: "the wrong one"})
	if h := b.history(); h.Phase != reconcile.Denied || h.Approval != nil || h.Verdict.By != "ada" {
		t.Errorf("taken back, it is %q: %+v, %+v", h.Phase, h.Approval, h.Verdict)
	}
	b.refuses(reconcile.Reject{By: "ada"}, "rejected")
	b.must(approve)
	if h := b.history(); h.Phase != reconcile.Allowed || h.Verdict != nil {
		t.Errorf("approved again, it is %q: %+v", h.Phase, h.Verdict)
	}
	b.must(reconcile.Reject{By: "ada", Done: 1})
	b.refuses(approve, "a part of it was done")
}

func TestRunThatFailsCanStillBeApproved(t *testing.T) {
	b := open(t)
	b.must(reconcile.Propose{Plan: members, Hold: []string{"drop bob"}})
	b.must(reconcile.Begin{Change: "add ada"})
	b.must(reconcile.Finish{Change: "add ada", Err: errors.New("503")})
	b.refuses(reconcile.Close{}, "not done")
	b.must(reconcile.Close{Err: errors.New("1 of 1 changes failed")})
	b.must(reconcile.Reject{By: "eve", Reason: "bob stays"})
	if got := b.history().Phase; got != reconcile.Denied {
		t.Errorf("rejected, it is %q", got)
	}
}

func TestRunWithoutAHoldIsNotJudged(t *testing.T) {
	b := open(t)
	b.must(reconcile.Close{})
	b.refuses(reconcile.Approve{By: "eve"}, "holds nothing back")
	b.refuses(reconcile.Close{}, "succeeded")
}

func TestRateLimitIsKept(t *testing.T) {
	b := open(t)
	at := time.Unix(1000, 0).UTC()
	b.must(reconcile.Close{Err: fmt.Errorf("listing members: %w", &reconcile.NotBeforeError{At: at, Err: errors.New("429")})})
	closing := b.events[len(b.events)-1].Fact.(reconcile.Failed)
	if closing.NotBefore == nil || !closing.NotBefore.Equal(at) {
		t.Errorf("closed by %+v", closing)
	}
}

// A plan in which two changes have one name could apply one and believe both.
func TestChangesNeedNamesOfTheirOwn(t *testing.T) {
	for _, plan := range []reconcile.Plan{{{ID: "a"}, {ID: "a"}}, {{Text: "nameless"}}} {
		if err := open(t).try(reconcile.Propose{Plan: plan}); err == nil {
			t.Errorf("%v was accepted", plan)
		}
	}
}

// What is not understood whole is not decided on (EVT-02, EVT-04).
func TestFoldRefusesDamage(t *testing.T) {
	whole := open(t)
	whole.must(reconcile.Propose{Plan: members})
	whole.must(reconcile.Close{Err: errors.New("x")})
	for name, events := range map[string][]reconcile.Event{
		"a gap":            {whole.events[0], whole.events[2]},
		"no opening":       {{Seq: 1, Fact: reconcile.Succeeded{}}},
		"opened twice":     {whole.events[0], {Seq: 2, Fact: whole.events[0].Fact}},
		"a missing start":  whole.events[1:],
		"nothing in there": {whole.events[0], {Seq: 2}},
		"after its end":    append(slices.Clip(whole.events), reconcile.Event{Seq: 4, Fact: reconcile.Applied{Change: "add ada"}}),
		"judged early":     {whole.events[0], {Seq: 2, Fact: reconcile.Approved{By: "eve"}}},
	} {
		if _, err := reconcile.Fold(events); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
	if _, err := reconcile.DecodeFact("from_the_future", []byte(`{}`)); !errors.Is(err, reconcile.ErrUnknownEvent) {
		t.Errorf("an unknown type: %v", err)
	}
	if _, err := reconcile.DecodeFact("planned", []byte(`{"changes":[{"op"`)); err == nil {
		t.Error("half an event was read")
	}
}

// Whatever is commanded in whatever order: what was held back is never done, nothing is done twice or without a plan,
// and a closed run says nothing more than a person's judgement.
func TestDecideKeepsTheRules(t *testing.T) {
	ids := []string{"add ada", "see eve", "drop bob", "made up"}
	rapid.Check(t, func(t *rapid.T) {
		b := open(t)
		for range rapid.IntRange(1, 30).Draw(t, "commands") {
			id := rapid.SampledFrom(ids).Draw(t, "change")
			var fault error
			if rapid.Bool().Draw(t, "fault") {
				fault = errors.New("fault")
			}
			digest := members.Removals().Digest()
			_ = b.try(rapid.SampledFrom([]reconcile.Command{ // a refusal is as good as a step
				reconcile.Propose{Plan: members, Hold: []string{"drop bob"}}, reconcile.Begin{Change: id},
				reconcile.Finish{Change: id, Err: fault}, reconcile.Finish{Change: id, Err: fault}, reconcile.Close{Err: fault},
				reconcile.Expire{}, reconcile.Approve{Digest: digest}, reconcile.Reject{},
			}).Draw(t, "command"))
		}
		held(t, b.events)
	})
}

func held(t *rapid.T, events []reconcile.Event) {
	applied := map[string]int{}
	planned, closed := false, false
	for _, e := range events {
		switch f := e.Fact.(type) {
		case reconcile.Planned:
			planned = true
		case reconcile.Intended, reconcile.ChangeFailed:
			if closed || !planned {
				t.Fatalf("%T without a plan or after the end", f)
			}
		case reconcile.Applied:
			applied[f.Change]++
			if closed || !planned || f.Change != "add ada" || applied[f.Change] > 1 {
				t.Fatalf("applied %q for the %d. time", f.Change, applied[f.Change])
			}
		case reconcile.Succeeded, reconcile.Failed, reconcile.LeaseExpired:
			if closed {
				t.Fatal("closed twice")
			}
			closed = true
		case reconcile.Approved, reconcile.Rejected:
			if !closed || !planned {
				t.Fatal("judged while it ran")
			}
		}
	}
}

func TestPlanIsSortedWithRemovalsLast(t *testing.T) {
	plan := reconcile.Plan{{ID: "1", Op: "-"}, {ID: "2", Op: "+"}, {ID: "3", Op: "?"}, {ID: "4", Op: "~"}, {ID: "5", Op: "+"}}
	var order []string
	for _, c := range plan.Sorted() {
		order = append(order, c.ID)
	}
	if !slices.Equal(order, []string{"3", "2", "5", "4", "1"}) {
		t.Errorf("in the order %v", order)
	}
	turned := slices.Clone(plan)
	slices.Reverse(turned)
	if plan.Digest() != turned.Digest() || plan.Digest() == plan[1:].Digest() {
		t.Error("a digest names a set, whatever its order, and no other set")
	}
}

// Each fence names another run, also where names grow longer, and neighbours do not look alike.
func TestRunIDs(t *testing.T) {
	seen := map[reconcile.RunID]reconcile.Fence{}
	for _, from := range []reconcile.Fence{0, 1<<25 - 5000, 1<<30 - 5000, 1<<40 - 5000, 1<<60 - 5000, 1<<64 - 10001} {
		for f := from; f < from+10000; f++ {
			id := reconcile.NewRunID(f)
			if other, twice := seen[id]; twice {
				t.Fatalf("fences %d and %d both name %s", other, f, id)
			}
			seen[id] = f
			next := reconcile.NewRunID(f + 1)
			same := 0
			for i := range min(len(id), len(next)) {
				if id[i] == next[i] {
					same++
				}
			}
			if len(id) == len(next) && same > len(id)-3 {
				t.Fatalf("%s and %s are a slip of the finger apart", id, next)
			}
		}
	}
}
