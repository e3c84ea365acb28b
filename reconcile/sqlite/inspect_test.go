package sqlite

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// inspected is a ledger with something of everything, closed.
func inspected(t *testing.T, path string) {
	s, err := Open(t.Context(), path, Options{Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ran(t, s, "test:one", 1, 10)
	answers := must(s.Grant(t.Context(), []reconcile.Bid{{Target: "test:two", Scopes: []reconcile.Scope{"test:two", "host:web"}}}, time.Hour))(t)
	l := answers[0].Lease
	b := reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}}}},
		Records: []reconcile.Write{{Family: "held", Key: "k", Value: []byte(`{"run":"r-n0zmm"}`), TTL: time.Hour}}}
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	order := ordering(t, s)
	order("live", reconcile.WorkStarted, 0, "a", "b")
	order("blocked", reconcile.WorkBlocked, order("blocked", reconcile.WorkStarted, 0, "c"))
	order("again", reconcile.WorkBlocked, order("again", reconcile.WorkStarted, 0, "d"))
	order("again", reconcile.WorkUnblocked, 0)
}

// TestTablesThatDoNotAgree: whatever is spoiled in a row is found where it is, and no ledger is made of an export that has it.
func TestTablesThatDoNotAgree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	well := filepath.Join(dir, "well.db")
	inspected(t, well)
	sane(t, well)
	for name, c := range map[string]struct{ damage, where string }{
		"covered at":        {"UPDATE standings SET covered_at = 'yesterday'", "target test:one"},
		"covered":           {"UPDATE standings SET covered = -1", "target test:one"},
		"failures":          {"UPDATE standings SET failures = -1", "target test:one"},
		"good":              {`UPDATE standings SET good = '["x"]'`, "target test:one"},
		"opened":            {"UPDATE runs SET opened = 'yesterday'", "run r-n0zmm"},
		"logged":            {"UPDATE logs SET at = 'yesterday'", "log of run r-n0zmm"},
		"tallied":           {"UPDATE tallies SET ran = -1 WHERE target = 'test:one'", "tally of test:one"},
		"lease":             {"UPDATE leases SET until = 'soon'", "run r-a1y99"},
		"leased scope":      {"DELETE FROM scopes WHERE scope = 'host:web'", "run r-a1y99"},
		"leased target":     {"DELETE FROM scopes WHERE scope = 'test:two'", "run r-a1y99"},
		"revision":          {"UPDATE records SET revision = 0", "record held k"},
		"negative revision": {"UPDATE records SET revision = -1", "record held k"},
		"expires":           {"UPDATE records SET expires = 'zz'", "record held k"},
		"value":             {`UPDATE records SET value = CAST('{"run":5}' AS BLOB)`, "record held k"},
		"scope":             {"DELETE FROM scopes WHERE scope = 'b'", "work item live"},
		"scopes":            {"DELETE FROM scopes WHERE item = 'blocked'", "work item blocked"},
		"scope too many":    {"INSERT INTO scopes (scope, item, position) VALUES ('e', 'live', 2)", "work item live"},
		"session":           {"DELETE FROM work_sessions WHERE item = 'blocked'", "work item blocked"},
		"fence":             {"UPDATE work_sessions SET fence = 99 WHERE item = 'again' AND state = 'active'", "work item again"},
		"active":            {"UPDATE work_sessions SET state = 'active' WHERE item = 'blocked'", "work item blocked"},
		"the former":        {"UPDATE work_sessions SET state = CASE WHEN state = 'active' THEN 'ended' ELSE 'expired' END WHERE item = 'again'; UPDATE work_sessions SET state = 'active' WHERE item = 'again' AND state = 'expired'", "work item again"},
		"no end":            {"UPDATE work_sessions SET until = NULL WHERE item = 'live'", "work item live"},
		"ended":             {"UPDATE work_sessions SET state = 'ended' WHERE item = 'live'", "work item live"},
		"since":             {"UPDATE work_sessions SET since = 'noon' WHERE item = 'live'", "work item live"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			inspected(t, path)
			spoil(t, path, c.damage)
			s := must(Open(t.Context(), path, Options{ReadOnly: true}))(t)
			defer s.Close()
			flaws := must(s.Inspect(t.Context()))(t)
			if !slices.ContainsFunc(flaws, func(f reconcile.Flaw) bool { return f.Where == c.where && f.Do != "" }) {
				t.Errorf("flaws %+v, want one of %s", flaws, c.where)
			}
			lines := slices.Concat(exported(t, s)...)
			if err := Import(t.Context(), filepath.Join(t.TempDir(), "new.db"), bytes.NewReader(lines)); err == nil || !strings.Contains(err.Error(), c.where) {
				t.Errorf("imported: %v, want it refused for %s", err, c.where)
			}
		})
	}
}

// TestScopeOfNobody: a scope whose item has lost its session is refused to others like any that is held.
func TestScopeOfNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	inspected(t, path)
	spoil(t, path, "DELETE FROM work_sessions WHERE item = 'blocked'")
	_, err := reopen(t, path).Work(t.Context(), reconcile.WorkOrder{Item: "mine", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"c"}})
	if err == nil || !strings.Contains(err.Error(), "scope reserved by") {
		t.Errorf("got %v, want it refused", err)
	}
}

// TestDamagedSuccess: what keeps every target from being looked at says which one it is.
func TestDamagedSuccess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	inspected(t, path)
	spoil(t, path, `UPDATE standings SET good = '["x"]' WHERE target = 'test:one'`)
	s := reopen(t, path)
	if _, err := s.Standings(t.Context()); err == nil || !strings.Contains(err.Error(), "the last success of test:one is damaged, see trueup ledger check") {
		t.Errorf("read with %v", err)
	}
}
