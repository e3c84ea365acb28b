package postgres

import (
	"errors"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestHomes: a ledger that is not where it was (restored from a backup, promoted) draws no number that may have been drawn
// meanwhile, and what came along with it is over.
func TestHomes(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := opened(t, url)
	l := lease(t, s, "test:one")
	order := reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"x"}, For: ttl}
	if _, err := s.Work(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	rehome := func(home string) {
		t.Helper()
		if _, err := rawConn(t, url).Exec(t.Context(), "UPDATE sequence SET home = "+home); err != nil {
			t.Fatal(err)
		}
	}
	rehome("'00000001-' || (SELECT string_agg(CASE n WHEN 1 THEN '7' ELSE part END, '-') FROM string_to_table(ledger_place(), '-') WITH ORDINALITY AS p (part, n))")
	if err := s.Check(t.Context(), l.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("a lease from elsewhere: %v", err)
	}
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence}, ttl); err != nil || len(lost) != 1 {
		t.Errorf("a lease from elsewhere is renewed: lost %v, %v", lost, err)
	}
	answers, err := s.Settle(t.Context(), []reconcile.Settlement{quiet(l)})
	if err != nil || !errors.Is(answers[0], reconcile.ErrLeaseLost) {
		t.Errorf("settled under a lease from elsewhere: %v, %v", answers, err)
	}
	next := lease(t, s, "test:one")
	if next.Fence < l.Fence+1<<20 {
		t.Errorf("fence %d after %d, want it far above", next.Fence, l.Fence)
	}
	if item, err := s.Item(t.Context(), "disk"); err != nil || item.State != reconcile.Blocked {
		t.Errorf("the item is %+v, %v", item, err)
	}
	if again := lease(t, s, "test:two"); again.Fence != next.Fence+1 {
		t.Errorf("fence %d after %d, want it to leap once", again.Fence, next.Fence)
	}
	if err := s.Leap(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := lease(t, s, "test:one"); after.Fence <= next.Fence+2 { // which that had before
		t.Errorf("fence %d after %d, want it to leap as it was told to", after.Fence, next.Fence)
	}
}

// TestPromoted: on a standby that was promoted numbers leap, and leases go on, so that nobody else gets what they hold.
func TestPromoted(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s, other := opened(t, url), opened(t, url)
	l := lease(t, s, "test:one", "x")
	if _, err := rawConn(t, url).Exec(t.Context(), "UPDATE sequence SET home = '00000000-' || ledger_place()"); err != nil {
		t.Fatal(err)
	}
	answers, err := other.Grant(t.Context(), []reconcile.Bid{bid("test:two", "x"), bid("test:three")}, ttl)
	if err != nil || answers[0].Refused == nil || answers[1].Lease.Fence < l.Fence+1<<20 {
		t.Errorf("granted %+v, %v; want the scope refused and the numbers far above %d", answers, err, l.Fence)
	}
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence}, ttl); err != nil || len(lost) > 0 {
		t.Errorf("lost %v, %v", lost, err)
	}
	settle(t, s, quiet(l))
}

// TestOneSequence: the row that numbers come from is one, and what a hand does to it is told.
func TestOneSequence(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := opened(t, url)
	lease(t, s, "test:one")
	conn := rawConn(t, url)
	for _, damage := range []string{"UPDATE sequence SET last = 0", "INSERT INTO sequence SELECT * FROM sequence"} {
		if _, err := conn.Exec(t.Context(), damage); err == nil {
			t.Errorf("%s: nobody minds", damage)
		}
	}
	if _, err := conn.Exec(t.Context(), "DELETE FROM sequence"); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), aloud("test:one")); !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("without its row: %v", err)
	}
}

// TestPlace: a database is named as it is found, by a socket as well, and without its password.
func TestPlace(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://a:s3cret@/d?host=/run/pg&port=5433&search_path=x": "postgres://a@/d?host=/run/pg&port=5433&search_path=x",
		"postgres://a:s3cret@h/d":                                     "postgres://a@h:5432/d",
	} {
		if _, place, err := configure(address); err != nil || place != want {
			t.Errorf("%s, %v; want %s", place, err, want)
		}
	}
}
