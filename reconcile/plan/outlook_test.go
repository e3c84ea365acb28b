package plan

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

func drawPlan(t *rapid.T) (p reconcile.Plan) {
	for i := range rapid.IntRange(0, 12).Draw(t, "changes") {
		op := rapid.SampledFrom([]reconcile.Op{reconcile.Create, reconcile.Update, reconcile.Remove, reconcile.Remove, reconcile.Unknown}).Draw(t, "op")
		p = append(p, reconcile.Change{ID: fmt.Sprint(i), Op: op, Confirm: rapid.Bool().Draw(t, "confirm")})
	}
	return p.Sorted()
}

func drawEvidence(t *rapid.T, p reconcile.Plan) evidence {
	e := evidence{breaker: DefaultBreaker(), size: rapid.IntRange(0, 60).Draw(t, "size"), first: rapid.Bool().Draw(t, "first"),
		approvals: shelf[approval]{values: map[string]kept[approval]{}}, doubtful: map[string]reconcile.RunID{}}
	some := func(label string) (picked reconcile.Plan) {
		for _, c := range p {
			if rapid.Bool().Draw(t, label) {
				picked = append(picked, c)
			}
		}
		return picked
	}
	if held := some("held"); rapid.Bool().Draw(t, "a hold") {
		e.hold = kept[hold]{revision: 1, value: hold{Run: "r-00000", Digest: held.Digest(), Changes: ids(held),
			Answer: rapid.SampledFrom([]answer{unanswered, approved, rejected}).Draw(t, "answer")}}
	}
	for _, c := range some("approved") {
		c.Text = rapid.SampledFrom([]string{"", "", "another"}).Draw(t, "text")
		e.approvals.values[c.ID] = kept[approval]{revision: 1, value: approval{Change: c}}
	}
	for _, c := range some("doubtful") {
		e.doubtful[c.ID] = "r-11111"
	}
	return e
}

// Whatever the plan and the evidence, each change is in one part, and no change that is grave is done without leave.
func TestJudgeIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		e := drawEvidence(t, p)
		o := e.judge(p)
		parts := map[string]int{}
		removals := 0
		for _, part := range []reconcile.Plan{o.Do, o.Wait, o.Later, o.Dark} {
			for _, c := range part {
				parts[c.ID]++
			}
		}
		for _, c := range p {
			if parts[c.ID] != 1 {
				t.Fatalf("%v is in %d parts", c, parts[c.ID])
			}
		}
		for _, c := range o.Do {
			allowed := e.approvals.values[c.ID].value.Change == c
			switch _, doubtful := e.doubtful[c.ID]; {
			case c.Op == reconcile.Unknown:
				t.Fatalf("%v is unknown and done", c)
			case (c.Confirm || doubtful) && !allowed:
				t.Fatalf("%v is done without leave", c)
			case c.Op == reconcile.Remove && len(o.Dark) > 0:
				t.Fatalf("%v is removed in the dark", c)
			case c.Op == reconcile.Remove && !allowed:
				removals++
			}
		}
		if removals > 0 && (e.first || removals > 5 || e.size > 0 && 4*removals > e.size) {
			t.Fatalf("%d removals of %d pass without leave", removals, e.size)
		}
		if (o.Why == "") != (len(o.Wait) == 0) && o.Run == "" {
			t.Fatalf("%d changes wait since %q", len(o.Wait), o.Why)
		}
	})
}

func TestBreaker(t *testing.T) {
	for _, c := range []struct {
		removals, size int
		first          bool
		want           string
	}{
		{0, 0, true, ""},
		{1, 100, true, "1 removal, and the target has never been true before"},
		{5, 100, false, ""},
		{6, 100, false, "6 removals, more than 5"},
		{1, 4, false, ""},
		{2, 4, false, "2 removals of 4, more than 25 %"},
		{1, 3, false, "1 removal of 3, more than 25 %"},
		{5, 0, false, ""},
		{6, 0, false, "6 removals, more than 5"},
	} {
		if got := DefaultBreaker().over(c.removals, c.size, c.first); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	if got := (Breaker{Removals: 100, Fraction: 0.57}).over(57, 100, false); got != "" {
		t.Errorf("exactly at the bound: %q", got)
	}
	if (Breaker{}).over(1, 0, false) == "" {
		t.Error("the zero breaker lets a removal pass")
	}
}
