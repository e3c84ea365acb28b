package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// worker starts work, as trueup work start does, or past what the code checks: "start ITEM SCOPE…", "force ITEM SCOPE…".
func worker(ctx context.Context, s *Store, order string) (string, error) {
	words := strings.Fields(order)
	o := reconcile.WorkOrder{Item: reconcile.ItemID(words[1]), Do: reconcile.WorkStarted, By: "a worker", For: time.Hour}
	for _, scope := range words[2:] {
		o.Scopes = append(o.Scopes, reconcile.Scope(scope))
	}
	if words[0] == "force" {
		fence, err := force(ctx, s, o)
		return fmt.Sprint(fence, " ", err), nil
	}
	item, err := s.Work(ctx, o)
	return fmt.Sprint(item.Session.Fence, " ", err), nil
}

// force starts work without looking at who holds the scopes.
func force(ctx context.Context, s *Store, o reconcile.WorkOrder) (f reconcile.Fence, err error) {
	err = s.write(ctx, "forcing", func(t *tx) error {
		next, err := t.upcoming()
		if err != nil {
			return err
		}
		f = next
		return t.happened(o.Item, 1, reconcile.WorkFact{Type: o.Do, By: o.By, Fence: next, Scopes: o.Scopes})
	})
	return f, err
}

// overlapping is two sets of scopes with at least one in common.
func overlapping() (sets [2]string) {
	common := rand.IntN(6)
	for i := range sets {
		words := []string{fmt.Sprint("s/", common)}
		for _, n := range rand.Perm(6)[:rand.IntN(4)] {
			if n != common {
				words = append(words, fmt.Sprint("s/", n))
			}
		}
		rand.Shuffle(len(words), func(a, b int) { words[a], words[b] = words[b], words[a] })
		sets[i] = strings.Join(words, " ")
	}
	return sets
}

// TestWorkersRace lets two processes start work on overlapping scopes a thousand times, and kills one or both of them in the
// midst of it now and then: one gets the scopes, whole, or in a round with a kill perhaps nobody (P3; LCK-22, LCK-23).
func TestWorkersRace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tmpfs(t, "size=64m"), "state.db") // which syncs in no time
	s := reopen(t, path)
	workers := [2]*child{start(t, "worker", path), start(t, "worker", path)}
	last := reconcile.Fence(0)
	for round := range 1000 {
		sets := overlapping()
		for i, w := range workers {
			w.order("start item-%d-%d %s", round, i, sets[i])
		}
		victims := map[int]bool{}
		if rand.IntN(rounds(40, 4)) == 0 {
			victims[rand.IntN(2)], victims[rand.IntN(2)] = true, true
			<-time.After(time.Duration(rand.IntN(4000)) * time.Microsecond)
			for i := range victims {
				workers[i].kill()
			}
		}
		won := 0
		for i, w := range workers {
			line := w.answer()
			if won += strings.Count(line, "<nil>"); !strings.Contains(line, "<nil>") && !strings.Contains(line, "scope reserved by item-") && !victims[i] {
				t.Fatalf("round %d: %s", round, line)
			}
		}
		items, err := s.Items(t.Context())
		if err != nil || len(items) > 1 || len(items) < won || len(victims) == 0 && won != 1 {
			t.Fatalf("round %d (%q): %d were told that they won, and the ledger has %+v, %v", round, sets, won, items, err)
		}
		for _, i := range items {
			var n int
			err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM scopes WHERE item = ?", string(i.ID)).Scan(&n)
			if err != nil || n != len(i.Scopes) || i.Session.Fence <= last {
				t.Fatalf("round %d: %d scopes are held for %+v, after fence %d, %v", round, n, i, last, err)
			}
			last = i.Session.Fence
			if _, err := s.Work(t.Context(), reconcile.WorkOrder{Item: i.ID, Do: reconcile.WorkEnded, Fence: last}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range victims {
			workers[i] = start(t, "worker", path)
		}
	}
	if last > leap {
		t.Errorf("fence %d: a kill was taken for a restored backup", last)
	}
}

// TestIndexRefusesWork switches the code's checks off: of two processes that take overlapping scopes the database itself
// refuses one, each time, and likewise a lease on them and a second session of an item.
func TestIndexRefusesWork(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	workers := [2]*child{start(t, "worker", path), start(t, "worker", path)}
	raw := rawDB(t, path)
	for round := range rounds(100, 1000) {
		sets := overlapping()
		for i, w := range workers {
			w.order("force item-%d-%d %s", round, i, sets[i])
		}
		answers := workers[0].answer() + "\n" + workers[1].answer()
		if strings.Count(answers, "<nil>") != 1 || strings.Count(answers, "UNIQUE constraint failed: scopes.scope") != 1 {
			t.Fatalf("round %d (%q): %s", round, sets, answers)
		}
		if round == 0 {
			pastTheChecks(t, s)
		}
		if _, err := raw.Exec("DELETE FROM scopes; DELETE FROM work_sessions; DELETE FROM work_items"); err != nil {
			t.Fatal(err)
		}
	}
}

// pastTheChecks tries what else the database refuses while one item is open.
func pastTheChecks(t *testing.T, s *Store) {
	t.Helper()
	items, err := s.Items(t.Context())
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	id, scope := items[0].ID, items[0].Scopes[0]
	for says, past := range map[string]func(tx *tx) error{
		"scopes.scope": func(tx *tx) error {
			next, err := tx.upcoming()
			if err != nil {
				return err
			}
			return tx.lease(reconcile.Lease{Fence: next, Run: "r-99999", Target: "test:one", Scopes: []reconcile.Scope{scope}, Since: tx.now, Until: tx.now}, "")
		},
		"work_sessions.item": func(tx *tx) error {
			next, err := tx.upcoming()
			if err != nil {
				return err
			}
			return tx.beginSession(id, reconcile.WorkFact{Fence: next})
		},
		"work_items.item": func(tx *tx) error { return tx.reserve(id, []reconcile.Scope{"free"}) },
	} {
		err := s.write(t.Context(), "forcing", past)
		if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed: "+says) {
			t.Errorf("got %v, want the database to refuse a second %s", err, says)
		}
	}
}
