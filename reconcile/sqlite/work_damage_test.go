package sqlite

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestUnreadableItem: an item whose events make no sense is refused, named and listed beside the others, and goes when it
// is discarded, with its scopes (EVT-04). Nothing is decided on it meanwhile.
func TestUnreadableItem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage string
		says   string
	}{
		"an unknown event": {"UPDATE work_events SET type = 'levitated' WHERE item = 'disk' AND seq = 2", "unknown type of event"},
		"no JSON":          {"UPDATE work_events SET data = '{' WHERE item = 'disk' AND seq = 2", "reading an event of type checkpointed"},
		"no instant":       {"UPDATE work_events SET at = 'noon' WHERE item = 'disk' AND seq = 1", "event 1"},
		"a gap":            {"DELETE FROM work_events WHERE item = 'disk' AND seq = 2; UPDATE work_events SET type = 'blocked' WHERE item = 'disk' AND seq = 3", "follows event 1"},
		"nothing is left":  {"DELETE FROM work_events WHERE item = 'disk'", "it has none"},
		"no start":         {"DELETE FROM work_events WHERE item = 'disk' AND seq = 1", "does not follow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			s := reopen(t, path)
			order := ordering(t, s)
			f := order("disk", reconcile.WorkStarted, 0, "x", "test:one")
			order("disk", reconcile.WorkCheckpointed, f)
			order("disk", reconcile.WorkCheckpointed, f)
			order("other", reconcile.WorkStarted, 0, "y")
			spoil(t, path, c.damage)
			for _, do := range []reconcile.WorkFactType{reconcile.WorkStarted, reconcile.WorkCheckpointed, reconcile.WorkBlocked, reconcile.WorkUnblocked, reconcile.WorkEnded} {
				if _, err := s.Work(t.Context(), workOrder("disk", do, f, []reconcile.Scope{"z"})); !errors.Is(err, reconcile.ErrUnreadable) || !strings.Contains(err.Error(), c.says) || errors.Is(err, reconcile.ErrUnwritable) {
					t.Errorf("%s: got %v, want it refused, saying %q", do, err, c.says)
				}
			}
			if _, err := s.Item(t.Context(), "disk"); !errors.Is(err, reconcile.ErrUnreadable) {
				t.Errorf("reading it: %v", err)
			}
			items := must(s.Items(t.Context()))(t)
			if len(items) != 2 || items[0].State != reconcile.Unreadable || !items[0].NeedsPerson() || items[0].Session.Holder != "ada" ||
				!slices.Equal(items[0].Scopes, []reconcile.Scope{"x", "test:one"}) || items[1].State != reconcile.InProgress {
				t.Errorf("listed as %+v", items)
			}
			flaws := must(s.Inspect(t.Context()))(t)
			if !slices.ContainsFunc(flaws, func(f reconcile.Flaw) bool { return f.Where == "work item disk" && f.Do == doDiscard+"disk" }) {
				t.Errorf("flaws %+v, want one that says how it is discarded", flaws)
			}
			taken(t, s, "test:one", true)
			if err := s.Discard(t.Context(), "disk"); err != nil {
				t.Fatal(err)
			}
			taken(t, s, "test:one", false)
			order("disk", reconcile.WorkStarted, 0, "x")
			sane(t, path)
		})
	}
}

// TestDamageOfThePast: what is damaged before an item's last start is in nobody's way, and no remedy is named for it that would
// be refused.
func TestDamageOfThePast(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"an unknown event": "UPDATE work_events SET type = 'levitated' WHERE seq = 2",
		"no JSON":          "UPDATE work_events SET data = '{' WHERE seq = 1",
		"a gap":            "DELETE FROM work_events WHERE seq = 2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			s := reopen(t, path)
			order := ordering(t, s)
			f := order("disk", reconcile.WorkStarted, 0, "x")
			order("disk", reconcile.WorkCheckpointed, f)
			order("disk", reconcile.WorkEnded, f)
			f = order("disk", reconcile.WorkStarted, 0, "x")
			spoil(t, path, damage)
			flaws := must(s.Inspect(t.Context()))(t)
			if len(flaws) != 1 || flaws[0].Where != "work item disk" || flaws[0].Do != doAge {
				t.Errorf("flaws %+v, want one that needs nothing", flaws)
			}
			order("disk", reconcile.WorkEnded, f)
			must(s.Prune(t.Context(), reconcile.Retention{}))(t)
			sane(t, path)
		})
	}
}

// TestDamageOfWhatIsDone: nothing can be begun anew under a name whose last events make no sense, until it is discarded.
func TestDamageOfWhatIsDone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	order := ordering(t, s)
	order("disk", reconcile.WorkEnded, order("disk", reconcile.WorkStarted, 0, "x"))
	spoil(t, path, "UPDATE work_events SET type = 'levitated' WHERE seq = 2")
	flaws := must(s.Inspect(t.Context()))(t)
	if len(flaws) != 1 || flaws[0].Do != doDiscard+"disk" {
		t.Errorf("flaws %+v, want one that says how it is discarded", flaws)
	}
	if err := s.Discard(t.Context(), "disk"); err != nil {
		t.Fatal(err)
	}
	order("disk", reconcile.WorkStarted, 0, "x")
	sane(t, path)
}

// spoil does to a database what no trueup does.
func spoil(t *testing.T, path, statements string) {
	t.Helper()
	if _, err := rawDB(t, path).Exec(statements); err != nil {
		t.Fatal(err)
	}
}

// ordering is how a test orders work that is not refused. It returns the fence of the session.
func ordering(t *testing.T, s *Store) func(reconcile.ItemID, reconcile.WorkFactType, reconcile.Fence, ...reconcile.Scope) reconcile.Fence {
	return func(id reconcile.ItemID, do reconcile.WorkFactType, f reconcile.Fence, scopes ...reconcile.Scope) reconcile.Fence {
		t.Helper()
		return must(s.Work(t.Context(), workOrder(id, do, f, scopes)))(t).Session.Fence
	}
}

func workOrder(id reconcile.ItemID, do reconcile.WorkFactType, f reconcile.Fence, scopes []reconcile.Scope) reconcile.WorkOrder {
	return reconcile.WorkOrder{Item: id, Do: do, By: "ada", Fence: f, Scopes: scopes, For: time.Hour}
}

// must is a value where there is no error.
func must[V any](v V, err error) func(t *testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestItemIsReadFromItsLastStart: what was before costs nothing and spoils nothing.
func TestItemIsReadFromItsLastStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	const past = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
		INSERT INTO work_events SELECT 'nightly', n, '2020-01-01T00:00:00.000000Z', 'nonsense', '{' FROM n`
	if _, err := rawDB(t, path).Exec(past + `; INSERT INTO work_events VALUES ('nightly', 5001, '2020-01-01T00:00:00.000000Z', 'started', '{"by":"ada","fence":1,"scopes":["x"]}'),
		('nightly', 5002, '2020-01-01T00:00:00.000000Z', 'done', '{"by":"ada"}')`); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		i := must(s.Work(t.Context(), reconcile.WorkOrder{Item: "nightly", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"x"}, For: time.Hour}))(t)
		must(s.Items(t.Context()))(t)
		must(s.Work(t.Context(), reconcile.WorkOrder{Item: "nightly", Do: reconcile.WorkEnded, By: "ada", Fence: i.Session.Fence}))(t)
	}
	plan := shell(t, path, "explain query plan "+strings.ReplaceAll(oneItemSQL, "?1", "'nightly'"))
	if !strings.Contains(plan, "SEARCH e USING PRIMARY KEY (item=? AND seq>?)") {
		t.Errorf("it is read by\n%s", plan)
	}
	if p := must(s.Prune(t.Context(), reconcile.Retention{Keep: time.Hour}))(t); p.Items != 1 {
		t.Errorf("pruned %+v, want all that was before", p)
	}
	if n := number(t, path, "SELECT count(*) FROM work_events"); n != 6 {
		t.Errorf("%d events are left, want those of 3 nights", n)
	}
}
