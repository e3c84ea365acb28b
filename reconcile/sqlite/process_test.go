package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile"
)

// rounds is how often a test of chance is tried: few times here, often where TRUEUP_PROVE=1.
func rounds(few, often int) int {
	if os.Getenv("TRUEUP_PROVE") == "1" {
		return often
	}
	return few
}

// TestProcessesWrite lets eight processes write at once: each transaction is committed, none finds the database locked
// (SQL-01).
func TestProcessesWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	each := rounds(40, 1000)
	var writers []*child
	for range 8 {
		writers = append(writers, start(t, "writer", path))
	}
	for _, w := range writers {
		w.order("%d", each)
	}
	for i, w := range writers {
		for n := range each {
			if line := w.answer(); !strings.HasSuffix(line, fmt.Sprint(" ", n+1)) {
				t.Fatalf("writer %d after %d writes: %s", i, n, line)
			}
		}
	}
	if n := number(t, path, "SELECT count(*) FROM events"); n != int64(8*each) {
		t.Errorf("%d events, want %d", n, 8*each)
	}
}

// TestProcessesClaim lets three processes bid for one scope at once (LCK-22, LCK-23, LCK-25).
func TestProcessesClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	claimants := []*child{start(t, "claimant", path), start(t, "claimant", path), start(t, "claimant", path)}
	for round := range rounds(100, 1000) {
		for _, c := range claimants {
			c.order("scope/%d", round)
		}
		won := 0
		for _, c := range claimants {
			switch line := c.answer(); line {
			case "won": // and wrote a record that only one can create
				won++
			case "lost":
			default:
				if !strings.Contains(line, "is not at revision 0") || won == 0 {
					t.Fatalf("round %d: %s", round, line)
				}
			}
		}
		if won == 0 {
			t.Fatalf("round %d: nobody got the scope", round)
		}
	}
}

// TestKilledInCommit kills a writer at any instant of its commits: what it was told to be committed is there, and the
// database is sound (SQL-09, SQL-10, SQL-14).
func TestKilledInCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	for round := range rounds(25, 500) {
		w := start(t, "writer", path)
		w.order("1000000")
		told := make(chan string, 1)
		after := 1 + rand.IntN(40)
		go func() {
			last := ""
			for n := 0; ; n++ {
				line := w.answer()
				if line == "" {
					told <- last
					return
				}
				last = line
				if n == after {
					_ = w.cmd.Process.Kill()
				}
			}
		}()
		var run string
		var seq int64
		if _, err := fmt.Sscan(<-told, &run, &seq); err != nil {
			t.Fatal(err)
		}
		w.kill()
		if n := number(t, path, "SELECT max(seq) FROM events WHERE run = ? AND type <> 'lease_expired'", run); n < seq || n > seq+1 {
			t.Fatalf("round %d: the last event is %d, and %d was committed", round, n, seq)
		}
		if n := number(t, path, "SELECT count(*) FROM events WHERE run NOT IN (SELECT run FROM runs)"); n > 0 {
			t.Fatalf("round %d: %d events of runs that were never opened", round, n)
		}
	}
	var verdict string
	if err := rawDB(t, path).QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
	s := reopen(t, path)
	if err := s.Commit(t.Context(), reconcile.Batch{Forget: []reconcile.Key{"test:none"}}); err != nil {
		t.Fatal(err)
	}
	if live, err := s.Leases(t.Context()); err != nil || len(live) > 0 {
		t.Errorf("leases of dead processes live: %v, %v", live, err)
	}
}

// number reads one number past the store.
func number(t *testing.T, path, query string, args ...any) (n int64) {
	t.Helper()
	if err := rawDB(t, path).QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// reopen opens a ledger for the length of the test.
func reopen(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
