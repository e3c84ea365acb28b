package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// asked is what a query says, a line each row, as psql would have it.
func asked(t *testing.T, url, query string) []string {
	t.Helper()
	rows, err := rawConn(t, url).Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(values))
		for i, v := range values {
			if v != nil {
				words[i] = fmt.Sprint(v)
			}
		}
		lines = append(lines, strings.Join(words, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestViews compares what the views say with what the ledger says: they are a promise (docs/ledger.md).
func TestViews(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := openWith(t, url, Options{Holder: "sweep on a"})
	defer s.Close()
	running, held := lease(t, s, "test:one", "x"), lease(t, s, "test:two")
	hold := reconcile.HeldBack{Digest: "d", Changes: []string{"a"}, Why: "too many"}
	plan := reconcile.Planned{Changes: reconcile.Plan{{ID: "a", Op: reconcile.Remove, Text: "user a"}}}
	commits(t, s, reconcile.Batch{Under: running.Fence, Append: []reconcile.Append{{Run: running.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: running}}}}})
	end := quiet(held)
	end.Facts, end.Covered = []reconcile.Fact{reconcile.Leased{Lease: held}, plan, hold, reconcile.Succeeded{}}, false
	end.Records = []reconcile.Write{{Family: "held", Key: "test:two", Value: fmt.Appendf(nil, `{"run":%q,"why":"too many"}`, held.Run)}}
	settle(t, s, end)
	order := reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"y", "z"}, For: ttl, Note: "it is full"}
	item, err := s.Work(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"SELECT run, target, phase, fence, events, why, holder FROM runs_now": {
			fmt.Sprintf("%s|test:one|running|%d|1||sweep on a", running.Run, running.Fence), fmt.Sprintf("%s|test:two|held|%d|4|too many|", held.Run, held.Fence)},
		"SELECT scope, holder, run, target, fence, reason, item FROM who_holds": {
			fmt.Sprintf("test:one|sweep on a|%s|test:one|%d|a test|", running.Run, running.Fence), fmt.Sprintf("x|sweep on a|%s|test:one|%d|a test|", running.Run, running.Fence),
			fmt.Sprintf("y|ada|||%d|it is full|disk", item.Session.Fence), fmt.Sprintf("z|ada|||%d|it is full|disk", item.Session.Fence)},
		"SELECT item, state, holder, fence, scopes, reason, note FROM work_now": {fmt.Sprintf("disk|IN_PROGRESS|ada|%d|y z|it is full|", item.Session.Fence)},
	} {
		if got := asked(t, url, query); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant:\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if _, err := s.Work(t.Context(), reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkBlocked, By: "ada", Fence: item.Session.Fence, Note: "no space"}); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, url, "SELECT state, note, until FROM work_now"); !slices.Equal(got, []string{"BLOCKED|no space|"}) {
		t.Errorf("work_now: %q", got)
	}
}
