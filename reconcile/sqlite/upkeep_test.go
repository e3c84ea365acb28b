package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// upkeep exports to a file, imports one into another ledger, or prunes, and tells by how many KiB the most that its
// process has had in memory has grown.
func upkeep(ctx context.Context, s *Store, order string) (string, error) {
	debug.SetGCPercent(10) // what is garbage is no matter here
	before, err := mostMemory()
	if err != nil {
		return "", err
	}
	words := strings.Fields(order)
	switch words[0] {
	case "export":
		err = NewFile(words[1], 0o600, func(f *os.File) error { return s.Export(ctx, f) })
	case "import":
		f, opened := os.Open(words[1])
		if opened != nil {
			return "", opened
		}
		defer f.Close()
		err = Import(ctx, words[2], f)
	case "prune":
		_, err = s.Prune(ctx, reconcile.Retention{})
	}
	if err != nil {
		return "", err
	}
	after, err := mostMemory()
	return fmt.Sprint(after - before), err
}

// mostMemory is the most that this process has had in memory, in KiB.
func mostMemory() (kib int, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(rest, &kib)
	return kib, err
}

// ran leaves closed runs of a target behind, each with a log of a size.
func ran(t *testing.T, s *Store, target reconcile.Key, n, size int) (runs []reconcile.RunID) {
	t.Helper()
	text := strings.Repeat("x", size)
	for range n {
		l := try(t, s, target).Lease
		answers, err := s.Settle(t.Context(), []reconcile.Settlement{{
			Lease: l, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Succeeded{}},
			Report: reconcile.Report{State: reconcile.OK, Run: l.Run}, Covered: true,
			Logs: []reconcile.Log{{Run: l.Run, Stream: "check", Text: text}},
		}})
		if err != nil || answers[0] != nil {
			t.Fatal(answers, err)
		}
		runs = append(runs, l.Run)
	}
	return runs
}

// stuffed fills a ledger with closed runs that each have a log of a size, in one go.
func stuffed(t *testing.T, path string, n, size int) {
	t.Helper()
	s := reopen(t, path)
	l := try(t, s, "test:model").Lease
	if _, err := s.Settle(t.Context(), []reconcile.Settlement{{Lease: l}}); err != nil {
		t.Fatal(err)
	}
	_, data, err := reconcile.EncodeFact(reconcile.Leased{Lease: l})
	if err != nil {
		t.Fatal(err)
	}
	const many = "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < ?1) "
	at := stamp(time.Now().Add(-time.Hour))
	raw := rawDB(t, path)
	for _, text := range []string{
		"INSERT INTO runs " + many + "SELECT n + 100, 'r-stuff' || n, 'test:model', ?2 FROM many",
		"INSERT INTO events " + many + "SELECT 'r-stuff' || n, 1, ?2, 'leased', json_set(?3, '$.run', 'r-stuff' || n, '$.fence', n + 100) FROM many",
		"INSERT INTO events " + many + "SELECT 'r-stuff' || n, 2, ?2, 'succeeded', '{\"changes\":0}' FROM many WHERE ?3 > ''",
		"INSERT INTO logs (run, at, stream, text, cut) " + many + "SELECT 'r-stuff' || n, ?2, 'check', printf('%.*c', ?4, 'x'), 0 FROM many WHERE ?3 > ''",
		"UPDATE sequence SET last = ?1 + 100 WHERE ?2 > '' AND ?3 > ''",
	} {
		args := []any{n, at, string(data), size}
		if !strings.Contains(text, "?4") {
			args = args[:3]
		}
		if !strings.Contains(text, "?3") {
			args = args[:2]
		}
		if _, err := raw.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// sane wants a ledger without flaws.
func sane(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found, err := s.Inspect(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("flaws in %s: %+v, %v", filepath.Base(path), found, err)
	}
}

// alone wants nothing in a folder but these, the ledger's companions aside.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		known := false
		for _, w := range want {
			known = known || strings.HasPrefix(e.Name(), w)
		}
		if !known {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}
