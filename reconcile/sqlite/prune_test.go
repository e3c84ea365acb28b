package sqlite

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestPruneGivesSpaceBack compares the file before and after, also where it was not made to give space back by and by.
func TestPruneGivesSpaceBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ready bool
		most  int
	}{"by and by": {true, 0}, "written anew": {false, 0}, "written anew by a sweep": {false, 50}, "by and by, by a sweep": {true, 50}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			stuffed(t, path, 300, 10_000)
			if !c.ready {
				raw := rawDB(t, path)
				raw.SetMaxOpenConns(1)
				for _, text := range []string{"PRAGMA auto_vacuum = none", "VACUUM"} {
					if _, err := raw.Exec(text); err != nil {
						t.Fatal(err)
					}
				}
				raw.Close()
			}
			s := reopen(t, path)
			p, err := s.Prune(t.Context(), reconcile.Retention{Most: c.most})
			if err != nil || p.Runs != 300 || p.Bytes < 2_500_000 {
				t.Errorf("pruned %+v, %v; want 300 runs and the space of their logs", p, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if c.most > 0 { // whoever closes it last does so
				shell(t, path, "pragma wal_checkpoint(truncate)")
			}
			if info, err := os.Stat(path); err != nil || info.Size() > 500_000 {
				t.Errorf("the file has %d bytes, %v", info.Size(), err)
			}
			if mode := number(t, path, "PRAGMA auto_vacuum"); mode != incremental {
				t.Errorf("auto_vacuum is %d", mode)
			}
			sane(t, path)
		})
	}
}

// TestSweepsWriteNoLargeLedgerAnew: others would wait for it. Whoever prunes by hand does.
func TestSweepsWriteNoLargeLedgerAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	stuffed(t, path, 100, 10_000)
	raw := rawDB(t, path)
	raw.SetMaxOpenConns(1)
	for _, text := range []string{"PRAGMA auto_vacuum = none", "VACUUM", "DELETE FROM logs WHERE id % 2 = 0", "UPDATE runs SET opened = '2999-01-01T00:00:00.000000Z'"} {
		if _, err := raw.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	raw.Close()
	s := reopen(t, path)
	s.little = 100_000
	for _, c := range []struct{ most, mode int }{{50, 0}, {0, incremental}} {
		p, err := s.Prune(t.Context(), reconcile.Retention{Most: c.most})
		if h := must(s.Health(t.Context()))(t); (h.Free > 250_000) != (c.mode == 0) {
			t.Errorf("at most %d transactions: %d bytes are said to be free", c.most, h.Free)
		}
		if mode := number(t, path, "PRAGMA auto_vacuum"); err != nil || mode != int64(c.mode) || (p.Bytes > 0) != (c.mode > 0) {
			t.Errorf("at most %d transactions: auto_vacuum is %d, %+v, %v", c.most, mode, p, err)
		}
	}
	sane(t, path)
}

// TestLogQuota: logs never take more than their quota, the oldest go, and a lower quota holds from the next pruning on.
func TestLogQuota(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path, Options{Logs: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var runs []reconcile.RunID
	for range 20 {
		runs = append(runs, ran(t, s, "test:one", 1, 900)...)
		if n := number(t, path, "SELECT sum(octet_length(text)) FROM logs"); n > 10_000 || n != number(t, path, "SELECT logs FROM usage") {
			t.Fatalf("%d bytes of logs", n)
		}
	}
	for i, run := range runs {
		logs, err := s.Logs(t.Context(), run)
		if err != nil || (len(logs) == 1) != (i >= 20-11) {
			t.Errorf("run %d of 20 has logs %v, %v; want those of the last 11", i, len(logs), err)
		}
		if events, err := s.Events(t.Context(), run); err != nil || len(events) != 2 {
			t.Errorf("run %d of 20: %v, %v", i, events, err)
		}
	}
	ran(t, s, "test:one", 1, 50_000) // more than the quota by itself
	if n := number(t, path, "SELECT logs FROM usage"); n != 0 {
		t.Errorf("%d bytes of logs", n)
	}
	stuffed(t, filepath.Join(filepath.Dir(path), "more.db"), 1200, 100)
	lower, err := Open(t.Context(), filepath.Join(filepath.Dir(path), "more.db"), Options{Logs: 5000})
	if err != nil {
		t.Fatal(err)
	}
	defer lower.Close()
	p, err := lower.Prune(t.Context(), reconcile.Retention{Keep: 100 * time.Hour})
	if err != nil || p.Logs != 1150 || p.Runs != 0 {
		t.Errorf("pruned %+v, %v; want all logs but the last 50", p, err)
	}
}

// TestPruneBesideWriters: others write between the transactions of a pruning, and do not wait for its end.
func TestPruneBesideWriters(t *testing.T) {
	t.Parallel()
	const old = 4000
	path := filepath.Join(t.TempDir(), "state.db")
	stuffed(t, path, old, 100)
	s := reopen(t, path)
	left := func() (n int) {
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM runs WHERE run LIKE 'r-stuff%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	pruner := start(t, "upkeep", path)
	pruner.order("prune")
	done := make(chan string, 1)
	go func() { done <- pruner.answer() }()
	for between := 0; ; {
		select {
		case answer := <-done:
			if answer == "" || strings.HasPrefix(answer, "error") || between == 0 || left() > 0 {
				t.Errorf("%d writes were done while it pruned, and %d old runs are left; it says %q", between, left(), answer)
			}
			return
		default:
		}
		ran(t, s, "test:one", 1, 10)
		if n := left(); n > 0 && n < old {
			between++
		}
	}
}

// TestKilledInPrune kills pruners at any instant. What was cut is cut, what was not is whole, and the next one ends it.
func TestKilledInPrune(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	stuffed(t, path, rounds(300, 3000), 1000)
	for range rounds(4, 200) {
		c := start(t, "upkeep", path)
		c.order("prune")
		time.AfterFunc(rand.N(100*time.Millisecond), func() { _ = c.cmd.Process.Kill() })
		c.answer()
		c.kill()
		sane(t, path)
	}
	s := reopen(t, path)
	if _, err := s.Prune(t.Context(), reconcile.Retention{}); err != nil {
		t.Fatal(err)
	}
	if n := number(t, path, "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM events) + (SELECT count(*) FROM logs) + (SELECT logs FROM usage)"); n > 0 {
		t.Errorf("%d rows are left", n)
	}
	sane(t, path)
}

// TestPruneOnFullDisk: what cannot be cut is not cut in part, and once there is room the next pruning goes on.
func TestPruneOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := tmpfs(t, "size=8m")
	path := filepath.Join(dir, "state.db")
	stuffed(t, path, 1000, 1000)
	s := reopen(t, path)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	if _, err := s.Prune(t.Context(), reconcile.Retention{}); err != nil {
		unwritten(t, err, "the disk is full")
	}
	sane(t, path)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prune(t.Context(), reconcile.Retention{}); err != nil {
		t.Fatal(err)
	}
	if n := number(t, path, "SELECT count(*) FROM runs"); n != 0 {
		t.Errorf("%d runs are left", n)
	}
	sane(t, path)
}
