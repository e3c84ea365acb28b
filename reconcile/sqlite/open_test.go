package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestSettings asks SQLite itself what it does at a commit (SQL-14, SQL-15).
func TestSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "trusted_schema": "0",
		"journal_size_limit": fmt.Sprint(walLimit), "busy_timeout": "10000", "user_version": fmt.Sprint(latest(t)), "application_id": fmt.Sprint(application),
	} {
		var got string
		if err := s.writer.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", pragma, got, err, want)
		}
	}
	if _, err := s.db.ExecContext(t.Context(), "DELETE FROM leases"); err == nil {
		t.Error("a reader's connection writes")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o027 != 0 {
		t.Errorf("the database is %v, %v; want it closed to others", info.Mode(), err)
	}
}

// TestScopeIsUnique asks the database, past the store, for two leases on one scope.
func TestScopeIsUnique(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	try(t, s, "test:one")
	_, err := rawDB(t, path).Exec("INSERT INTO scopes VALUES ('test:one', 99, 0, NULL)")
	if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("a second lease on a scope: %v", err)
	}
}

func TestStrangeDatabases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		says string
	}{
		"newer":   {script("PRAGMA user_version = 9"), fmt.Sprintf("its schema 9 is newer than this trueup, which knows %d", latest(t))},
		"foreign": {foreign, "it is another program's database"},
		"text":    {text, "it is no database"},
		"damaged": {damage, "it is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			c.make(t, path)
			_, err := Open(t.Context(), path, Options{})
			unwritten(t, err, c.says)
			_, err = Open(t.Context(), path, Options{ReadOnly: true})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("opening for reading: %v, want an error that says %q", err, c.says)
			}
		})
	}
}

// latest is the number of the last migration.
func latest(t *testing.T) int {
	t.Helper()
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	return len(texts)
}

func script(text string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		s := reopen(t, path)
		if _, err := s.writer.conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}

func foreign(t *testing.T, path string) {
	if _, err := rawDB(t, path).Exec("CREATE TABLE songs (name TEXT)"); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) {
	if err := os.WriteFile(path, []byte(strings.Repeat("dear diary ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// damage overwrites what a database's first page says after its header.
func damage(t *testing.T, path string) {
	reopen(t, path).Close()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 3000)), 100)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLockedByAnother waits its time for a program that knows nothing of the gate, and says so then (SQL-13). Readers do
// not wait.
func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path, Options{Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other, err := rawDB(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	do(t, other, "BEGIN EXCLUSIVE")
	ask := reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}
	unwritten(t, s.Commit(t.Context(), ask), "another program keeps it locked")
	if _, err := s.Standings(t.Context()); err != nil {
		t.Errorf("reading beside a writer: %v", err)
	}
	do(t, other, "ROLLBACK")
	if err := s.Commit(t.Context(), ask); err != nil {
		t.Errorf("once it is free: %v", err)
	}
}

func do(t *testing.T, c *sql.Conn, text string) {
	t.Helper()
	if _, err := c.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// TestGate gives up waiting when its patience or its context ends, and takes its turn afterwards all the same.
func TestGate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path, Options{Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holder := newGate(path+".lock", time.Second)
	if err := holder.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	unwritten(t, s.Commit(t.Context(), reconcile.Batch{}), "kept the write lock")
	ended, end := context.WithCancelCause(t.Context())
	told := errors.New("told to stop")
	end(told)
	if err := s.Commit(ended, reconcile.Batch{}); !errors.Is(err, told) || errors.Is(err, reconcile.ErrUnwritable) {
		t.Errorf("got %v, want the reason why the context ended", err)
	}
	holder.leave()
	for range 3 {
		if err := s.Commit(t.Context(), reconcile.Batch{}); err != nil {
			t.Errorf("once it is free: %v", err)
		}
	}
	if err := holder.close(); err != nil {
		t.Error(err)
	}
}

// TestRestoredBackup makes and restores a backup as docs/ledger.md says: no fence that was drawn since is drawn again.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	before := try(t, s, "test:one").Lease
	backup := path + ".backup"
	shell(t, path, ".backup "+backup)
	since := try(t, s, "test:two").Lease
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	shell(t, path, ".restore "+backup)
	s = reopen(t, path)
	if a := try(t, s, "test:two"); a.Refused != nil || a.Lease.Fence <= since.Fence {
		t.Errorf("granted %+v after fence %d, which the backup does not know", a, since.Fence)
	}
	if err := s.Check(t.Context(), before.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("a lease came back with the backup: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// On another host nothing says how far the fences had come.
	elsewhere := filepath.Join(t.TempDir(), "state.db")
	shell(t, elsewhere, ".restore "+backup)
	s = reopen(t, elsewhere)
	if a := try(t, s, "test:two"); a.Refused != nil || a.Lease.Fence < leap {
		t.Errorf("granted %+v in a database that came without its note", a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, elsewhere)
	was, err := readNote(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if a := try(t, again, "test:three"); a.Lease.Fence < leap || int64(a.Lease.Fence) > was.last+100 {
		t.Errorf("fence %d after %d, want it to leap once", a.Lease.Fence, was.last)
	}
}
