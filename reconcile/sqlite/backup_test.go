package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestBackupDuringLoad takes backups while processes write and are killed: each backup is a ledger without flaws, of one
// instant, from which everything goes on elsewhere, above all fences that were drawn.
func TestBackupDuringLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	var writers []*child
	for range 3 {
		w := start(t, "writer", path)
		w.order("1000000")
		w.answer() // it has begun
		writers = append(writers, w)
	}
	for round := range rounds(3, 100) {
		ran(t, s, "test:one", 2, 100)
		told := writers[0].answer() // what is committed before the backup is in it
		backup := filepath.Join(t.TempDir(), "backup.db")
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		if round%3 == 2 {
			writers[round%2+1].kill()
			writers[round%2+1] = start(t, "writer", path)
			writers[round%2+1].order("1000000")
		}
		sane(t, backup)
		var run string
		var seq int64
		if _, err := fmt.Sscan(told, &run, &seq); err != nil {
			t.Fatal(told, err)
		}
		if n := number(t, backup, "SELECT max(seq) FROM events WHERE run = ?", run); n < seq {
			t.Errorf("the backup has %d events of run %s, and %d were committed before it", n, run, seq)
		}
		since := try(t, s, "test:since").Lease
		if _, err := s.Settle(t.Context(), []reconcile.Settlement{{Lease: since}}); err != nil {
			t.Fatal(err)
		}
		other := reopen(t, backup)
		if l := try(t, other, "test:one").Lease; l.Fence <= since.Fence {
			t.Errorf("the restored backup draws fence %d after %d", l.Fence, since.Fence)
		}
		if live, err := other.Leases(t.Context()); err != nil || len(live) != 1 {
			t.Errorf("leases that came with a backup live: %+v, %v", live, err)
		}
		other.Close()
		sane(t, backup)
	}
}

func TestBackupKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, there := filepath.Join(dir, "state.db"), filepath.Join(dir, "there")
	s := reopen(t, path)
	try(t, s, "test:one")
	if err := os.WriteFile(there, []byte("dear diary"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), there); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "dear diary" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "none", "backup")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}
	if err := s.Backup(t.Context(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over the ledger itself: %v", err)
	}
	backup := filepath.Join(dir, "backup")
	r, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Backup(t.Context(), backup); err != nil {
		t.Errorf("by who may only read: %v", err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
		t.Errorf("the backup is %v, %v", info.Mode(), err)
	}
	for pragma, want := range map[string]int64{"auto_vacuum": incremental, "application_id": application, "user_version": int64(latest(t))} {
		if got := number(t, backup, "PRAGMA "+pragma); got != want {
			t.Errorf("the backup's %s is %d, want %d", pragma, got, want)
		}
	}
	alone(t, dir, "state.db", "there", "backup")
}

// TestBackupOnFullDisk leaves nothing behind, and the ledger goes on.
func TestBackupOnFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	stuffed(t, path, 100, 20_000)
	s := reopen(t, path)
	dir := tmpfs(t, "size=1m")
	err := s.Backup(t.Context(), filepath.Join(dir, "backup.db"))
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got error %v, want one that says that the disk is full", err)
	}
	err = NewFile(filepath.Join(dir, "export.jsonl"), 0o600, func(f *os.File) error { return s.Export(t.Context(), f) })
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got error %v, want one that says that no space is left", err)
	}
	alone(t, dir)
	ran(t, s, "test:one", 1, 10)
}

// TestCopiesLeap: a database that is no longer the one that its note was about draws no fence that its original may have
// drawn; one that is goes on where it was.
func TestCopiesLeap(t *testing.T) {
	t.Parallel()
	grown := func(t *testing.T, n int) (path, backup string, last reconcile.Fence) {
		dir := t.TempDir()
		path, backup = filepath.Join(dir, "state.db"), filepath.Join(dir, "backup.db")
		s := reopen(t, path)
		ran(t, s, "test:one", n, 10)
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		ran(t, s, "test:one", 5, 10)
		last = try(t, s, "test:last").Lease.Fence
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return path, backup, last
	}
	command := func(t *testing.T, name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	far := func(f reconcile.Fence) bool { return f > leap }
	for name, c := range map[string]struct {
		// made gives the path of a ledger, and a fence that it may not draw again.
		made  func(t *testing.T) (string, reconcile.Fence)
		leaps bool
	}{
		"untouched": {func(t *testing.T) (string, reconcile.Fence) { path, _, last := grown(t, 3); return path, last }, false},
		"moved": {func(t *testing.T) (string, reconcile.Fence) {
			path, _, last := grown(t, 3)
			dir := filepath.Dir(path)
			if err := os.Rename(dir, dir+"-moved"); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir+"-moved", "state.db"), last
		}, false},
		"its own backup put back in place": {func(t *testing.T) (string, reconcile.Fence) {
			path, backup, last := grown(t, 3)
			shell(t, path, ".restore "+backup)
			return path, last
		}, true},
		"its own backup in place of the file": {func(t *testing.T) (string, reconcile.Fence) {
			path, backup, last := grown(t, 3)
			command(t, "rm", path+"-wal", path+"-shm")
			command(t, "mv", backup, path)
			return path, last
		}, true},
		"a backup elsewhere": {func(t *testing.T) (string, reconcile.Fence) { _, backup, last := grown(t, 3); return backup, last }, true},
		"the whole folder elsewhere": {func(t *testing.T) (string, reconcile.Fence) {
			path, _, last := grown(t, 3)
			to := t.TempDir()
			command(t, "cp", "-a", filepath.Dir(path)+"/.", to)
			return filepath.Join(to, "state.db"), last
		}, true},
		"another host's backup over a ledger that is behind": {func(t *testing.T) (string, reconcile.Fence) {
			_, backup, last := grown(t, 20)
			path, _, _ := grown(t, 3)
			shell(t, path, ".restore "+backup)
			return path, last
		}, true},
		"another host's backup over a ledger that is ahead": {func(t *testing.T) (string, reconcile.Fence) {
			_, backup, _ := grown(t, 3)
			path, _, last := grown(t, 20)
			shell(t, path, ".restore "+backup)
			return path, last
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, last := c.made(t)
			for round := range 2 { // and not a second time
				s := reopen(t, path)
				l := try(t, s, "test:new")
				if l.Refused != nil || l.Lease.Fence <= last || far(l.Lease.Fence) != c.leaps || round == 1 && l.Lease.Fence > last+1000 {
					t.Errorf("granted %+v after fence %d", l, last)
				}
				last = l.Lease.Fence
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestBackupPutBackUnderAProcess: who still has the ledger open that was replaced holds nothing in the one that is there
// now, though its session lives.
func TestBackupPutBackUnderAProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	l := try(t, s, "test:one").Lease
	backup := path + ".backup"
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(backup, path); err != nil {
		t.Fatal(err)
	}
	other := reopen(t, path)
	taken(t, other, "test:one", false)
	if err := other.Check(t.Context(), l.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("the old fence: %v", err)
	}
}

// TestRestoredInPlace: a backup that was put back into the ledger's own file, under processes that held leases and sessions
// then and live on, gives them nothing back (LCK-20).
func TestRestoredInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	l := try(t, s, "test:one").Lease
	order := reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"x"}, For: time.Hour}
	item := must(s.Work(t.Context(), order))(t)
	pause := reconcile.WorkOrder{Item: "pause", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"p"}}
	must(s.Work(t.Context(), pause))(t)
	backup := path + ".backup"
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	ends := must(s.Settle(t.Context(), []reconcile.Settlement{{Lease: l}}))(t)
	order.Do, order.Fence = reconcile.WorkEnded, item.Session.Fence
	must(s.Work(t.Context(), order))(t)
	since := try(t, s, "test:one").Lease // somebody else's by now
	if ends[0] != nil {
		t.Fatal(ends)
	}
	shell(t, path, ".restore "+backup)
	if err := s.Check(t.Context(), l.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("a lease that was given back is live before anybody writes: %v", err)
	}
	if err := s.RenewWork(t.Context(), "disk", item.Session.Fence, time.Hour); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("a session that was over is renewed: %v", err)
	}
	if err := s.Check(t.Context(), l.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("a lease that was given back is live: %v", err)
	}
	if a := try(t, s, "test:one"); a.Refused != nil || a.Lease.Fence <= since.Fence {
		t.Errorf("granted %+v after fence %d", a, since.Fence)
	}
	items := must(s.Items(t.Context()))(t)
	if len(items) != 2 || items[0].State != reconcile.Blocked || items[1].State != reconcile.InProgress {
		t.Errorf("items %+v, want the one with a time blocked and the pause to go on", items)
	}
}

// TestRestoredAgain: the same backup, restored twice where nothing tells what was drawn meanwhile, draws each number once.
func TestRestoredAgain(t *testing.T) {
	t.Parallel()
	for name, year := range map[string]int{"by the clock": 2026, "with a clock that is behind": 1970} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, backup := filepath.Join(dir, "state.db"), filepath.Join(dir, "backup.db")
			ran(t, reopen(t, path), "test:one", 3, 10)
			if err := reopen(t, path).Backup(t.Context(), backup); err != nil {
				t.Fatal(err)
			}
			drawn := map[reconcile.Fence]bool{}
			now := time.Date(year, 11, 29, 14, 2, 11, 0, time.UTC)
			var last reconcile.Fence
			for round := range 3 {
				here := filepath.Join(t.TempDir(), "state.db")
				shell(t, here, ".restore "+backup)
				now = now.Add(time.Second)
				s, err := Open(t.Context(), here, Options{Clock: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				for n := range 10 {
					f := try(t, s, reconcile.Key(fmt.Sprint("test:", n))).Lease.Fence
					if drawn[f] || year == 2026 && f <= last {
						t.Errorf("round %d draws %d again, or after %d", round, f, last)
					}
					drawn[f], last = true, f
				}
				s.Close()
			}
		})
	}
}

// TestSecondBackupFromElsewhere: a ledger that has gone on from another host's backup is no longer that host's, so that a
// later backup of that host leaps too.
func TestSecondBackupFromElsewhere(t *testing.T) {
	t.Parallel()
	host, path := filepath.Join(t.TempDir(), "state.db"), filepath.Join(t.TempDir(), "state.db")
	var backups [2]string
	s := reopen(t, host)
	for i := range backups {
		ran(t, s, "test:one", 3, 10)
		backups[i] = fmt.Sprint(host, ".", i)
		if err := s.Backup(t.Context(), backups[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := rawDB(t, host).Exec("UPDATE sequence SET last = last + ?", 3*leap); err != nil { // it is busy
			t.Fatal(err)
		}
	}
	for _, backup := range backups {
		shell(t, path, ".restore "+backup)
		here := reopen(t, path)
		ran(t, here, "test:two", 1, 10)
		here.Close()
	}
	if l := try(t, reopen(t, path), "test:two").Lease; l.Fence <= 4*leap {
		t.Errorf("granted %+v, want it to leap ahead of the second backup, which had drawn %d", l, 3*leap)
	}
}
