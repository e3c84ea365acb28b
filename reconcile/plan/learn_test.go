package plan_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
)

// A pupil learns who is invited, and keeps what it was told to know.
type pupil struct {
	kindtest.OrgKind
	told *string
}

func (p pupil) Observe(ctx context.Context, in plan.Input) (kindtest.Roster, error) {
	*p.told = string(in.Known)
	return p.OrgKind.Observe(ctx, in)
}

func (pupil) Learn(_ plan.Input, seen kindtest.Roster) []byte {
	text, _ := json.Marshal(slices.Sorted(maps.Keys(seen.Invited)))
	return text
}

// What a kind learns is told to its next tick, as the outside was at the end; a look ahead learns nothing, and what is known
// already is not written again.
func TestWhatAKindLearns(t *testing.T) {
	s, told := open(t, "ada"), ""
	s.kind = pupil{kindtest.OrgKind{Org: s.org}, &told}
	known := func() (string, int64) {
		t.Helper()
		found, err := s.ledger.Records(t.Context(), "known", string(acme))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return "", 0
		}
		return string(found[0].Value), found[0].Revision
	}
	if s.outlook(t.Context()); told != "" {
		t.Errorf("at first it knows %s", told)
	}
	if text, _ := known(); text != "" {
		t.Errorf("a look ahead has learned %s", text)
	}
	s.want("ada", "bob")
	s.expect(s.sweep(), reconcile.OK, "")
	if text, n := known(); text != `["bob"]` || n != 1 {
		t.Errorf("after a tick that invited bob it knows %s, at revision %d", text, n)
	}
	s.expect(s.sweep(), reconcile.OK, "")
	if text, n := known(); text != told || n != 1 {
		t.Errorf("the next was told %s, and knows %s, at revision %d", told, text, n)
	}
	s.org.Dark(true)
	s.sweep()
	if text, n := known(); text != `["bob"]` || n != 1 {
		t.Errorf("a tick that could not look knows %s, at revision %d", text, n)
	}
	r := reconcile.Reconciler{Ledger: s.ledger, TTL: time.Hour, Parallel: 1} // which does not know the target any more
	if _, err := r.Sweep(t.Context(), reconcile.Order{Owing: reconcile.Wanted{All: true}}); err != nil {
		t.Fatal(err)
	}
	if text, _ := known(); text != "" {
		t.Errorf("of a target that is gone it knows %s", text)
	}
}
