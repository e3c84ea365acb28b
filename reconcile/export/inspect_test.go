package export_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/export"
	"trueup/reconcile/sqlite"
)

// ledger is the export of one with something of everything.
func ledger(t *testing.T) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}, Claim: &reconcile.Claim{Epoch: "e", N: 1, Claimed: time.Now()}}}}))
	grant := func(target reconcile.Key, scopes ...reconcile.Scope) reconcile.Lease {
		answers, err := s.Grant(t.Context(), []reconcile.Bid{{Target: target, Scopes: append([]reconcile.Scope{reconcile.Scope(target)}, scopes...)}}, time.Hour)
		must(err)
		l := answers[0].Lease
		must(s.Commit(t.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}}}}}))
		return l
	}
	one := grant("test:one")
	_, err = s.Settle(t.Context(), []reconcile.Settlement{{Lease: one, Expected: 1, Facts: []reconcile.Fact{reconcile.Succeeded{}}, Report: reconcile.Report{State: reconcile.OK, Run: one.Run}, Covered: true}})
	must(err)
	grant("test:two", "host:web")
	must(s.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: "k", Value: []byte(`{"run":"r-n0zmm"}`), TTL: time.Hour}}}))
	order := func(id reconcile.ItemID, do reconcile.WorkFactType, scopes ...reconcile.Scope) {
		item, err := s.Item(t.Context(), id)
		o := reconcile.WorkOrder{Item: id, Do: do, By: "ada", Scopes: scopes, For: time.Hour}
		if err == nil && item.State == reconcile.InProgress {
			o.Fence = item.Session.Fence
		}
		_, err = s.Work(t.Context(), o)
		must(err)
	}
	order("blocked", reconcile.WorkStarted, "c")
	order("blocked", reconcile.WorkBlocked)
	order("live", reconcile.WorkStarted, "a", "b")
	order("over", reconcile.WorkStarted, "d")
	order("over", reconcile.WorkEnded)
	order("over", reconcile.WorkStarted, "d")
	order("over", reconcile.WorkEnded)
	var b bytes.Buffer
	must(s.Export(t.Context(), &b))
	return b.String()
}

// A listener is a sink that an inspector stands behind.
type listener struct {
	*export.Inspector
	last int64
}

func (l *listener) Begin(h export.Header) error { l.last = h.Fence; return nil }

func (l *listener) Columns(t export.Table) ([]export.Column, error) { return t.Columns(), nil }

func (l *listener) Put(t export.Table, _ []export.Column, values []any) error {
	return l.Row(t, values)
}

func inspect(t *testing.T, text string) []reconcile.Flaw {
	t.Helper()
	l := &listener{Inspector: export.NewInspector()}
	if err := export.Read(strings.NewReader(text), l); err != nil {
		t.Fatal(err)
	}
	return l.End(l.last)
}

// TestRowsThatDoNotAgree finds whatever is spoiled in a row where it is.
func TestRowsThatDoNotAgree(t *testing.T) {
	well := ledger(t)
	if flaws := inspect(t, well); len(flaws) > 0 {
		t.Fatalf("a sound ledger has flaws: %+v", flaws)
	}
	for name, c := range map[string]struct{ row, old, with, where string }{
		"opened":            {"runs", `"opened":"2`, `"opened":"yesterday 2`, "run r-a1y99"},
		"another's run":     {"runs", `"target":"test:one"`, `"target":"test:six"`, "run r-a1y99"},
		"covered at":        {"standings", `"covered_at":"2`, `"covered_at":"yesterday 2`, "target test:one"},
		"covered":           {"standings", `"covered":2`, `"covered":-1`, "target test:one"},
		"failures":          {"standings", `"failures":0`, `"failures":-1`, "target test:one"},
		"tallied":           {"tallies", `"ran":1`, `"ran":-1`, "tally of test:one"},
		"lease":             {"leases", `"until":"2`, `"until":"soon 2`, "run r-z1xyx"},
		"leased scope":      {"scopes", `"scope":"host:web"`, `"scope":"host:w"`, "run r-z1xyx"},
		"leased target":     {"leases", `"target":"test:two"`, `"target":"test:six"`, "run r-z1xyx"},
		"revision":          {"records", `"revision":1`, `"revision":0`, "record held k"},
		"expires":           {"records", `"expires":"2`, `"expires":"zz2`, "record held k"},
		"value":             {"records", `"value":{"run":"r-n0zmm"}`, `"value":{"run":5}`, "record held k"},
		"family":            {"records", `"family":"held"`, `"family":"future"`, "records future"},
		"scope":             {"scopes", `"scope":"b"`, `"scope":"bb"`, "work item live"},
		"scope elsewhere":   {"scopes", `"item":"blocked"`, `"item":"live"`, "work item blocked"},
		"state of session":  {"work_sessions", `"state":"active"`, `"state":"ended"`, "work item live"},
		"no end":            {"work_sessions", `"item":"live","holder":"ada","since":"2`, `"item":"live","holder":"ada","since":"noon 2`, "work item live"},
		"item that is over": {"work_items", `"item":"blocked"`, `"item":"over"`, "work item over"},
		"item unknown":      {"work_items", `"item":"blocked"`, `"item":"blockeder"`, "work item blockeder"},
		"numbers":           {"runs", `"fence":3`, `"fence":99`, "fence 99"},
	} {
		lines := strings.SplitAfter(well, "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"`+c.row+`":`) && strings.Contains(l, c.old) })
		if at < 0 {
			t.Errorf("%s: no row of %s has %s in\n%s", name, c.row, c.old, well)
			continue
		}
		lines[at] = strings.Replace(lines[at], c.old, c.with, 1)
		flaws := inspect(t, strings.Join(lines, ""))
		if !slices.ContainsFunc(flaws, func(f reconcile.Flaw) bool { return f.Where == c.where && f.What != "" && f.Do != "" }) {
			t.Errorf("%s: flaws %+v, want one of %s", name, flaws, c.where)
		}
	}
}
