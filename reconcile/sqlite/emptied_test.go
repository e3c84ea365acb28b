package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"trueup/reconcile"
)

// TestEmptied: a ledger that has lost everything, as a restore onto a full disk leaves it, is not taken for a new one: what
// was paused and reserved in it would be ticked.
func TestEmptied(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	log := killed(t, path)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	const says = "it is empty, and numbers up to 1 were drawn in it: restore a backup, or move state.db, state.db-wal, state.db-shm, state.db-journal away"
	_, err := Open(t.Context(), path, Options{})
	unwritten(t, err, says)
	_, err = Open(t.Context(), path, Options{Existing: true})
	unwritten(t, err, says)
	_, err = Open(t.Context(), path, Options{ReadOnly: true})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("opening for reading: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 4096 {
		t.Errorf("it was filled: %v, %v", info, err)
	}
	kept(t, path, log)
	if err := os.Remove(path + ".fence"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{})
	unwritten(t, err, path+"-wal is the log of a database that is gone")
	kept(t, path, log)
}

// killed is a ledger in which a fence was drawn, as a kill leaves it: what was committed is in its log. It returns that.
func killed(t *testing.T, path string) []byte {
	t.Helper()
	c := start(t, "holder", path)
	c.take("test:one")
	c.kill()
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatalf("the log has %d bytes, %v", len(log), err)
	}
	return log
}

// kept wants the log as it was.
func kept(t *testing.T, path string, log []byte) {
	t.Helper()
	if now, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Equal(now, log) {
		t.Errorf("of %d bytes of log %d are left, %v", len(log), len(now), err)
	}
}

// TestLogLeft: beside the log of a ledger that was moved away no other is made, since SQLite would play it into that, and
// nothing is lost: with the database put back all of it is there.
func TestLogLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	log := killed(t, path)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	const says = "put the database back beside it, or move all of it away: state.db, state.db-wal, state.db-shm, state.db-journal"
	_, err := Open(t.Context(), path, Options{})
	unwritten(t, err, says)
	for _, o := range []Options{{ReadOnly: true}, {Existing: true}} {
		if _, err := Open(t.Context(), path, o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := Import(t.Context(), path, strings.NewReader("")); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), says) {
		t.Errorf("importing: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made all the same: %v", err)
	}
	kept(t, path, log)
	if err := os.Rename(path+".old", path); err != nil {
		t.Fatal(err)
	}
	if l := try(t, reopen(t, path), "test:two").Lease; l.Fence == 1 || l.Fence > leap {
		t.Errorf("put back, it goes on at %d", l.Fence)
	}
	sane(t, path)
}

// TestGone: a ledger that was moved away is made anew, since that is how to begin again, and it is said until somebody hears.
func TestGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	last := try(t, s, "test:one").Lease.Fence
	if lost := told(t, s); len(lost) != 0 {
		t.Errorf("the first has lost %d", lost)
	}
	for _, err := range []error{s.Close(), os.Remove(path)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []Options{{ReadOnly: true}, {Existing: true}} {
		if _, err := Open(t.Context(), path, o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "it is gone, and numbers up to 1 were drawn") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s = reopen(t, path)
	if a := try(t, s, "test:one"); a.Lease.Fence <= last {
		t.Errorf("granted %+v", a)
	}
	if err := s.Close(); err != nil { // before it told anybody
		t.Fatal(err)
	}
	if lost := told(t, reopen(t, path)); !slices.Equal(lost, []reconcile.Fence{last}) {
		t.Errorf("who comes next has lost %d", lost)
	}
	if lost := told(t, reopen(t, path)); len(lost) != 0 {
		t.Errorf("told again: %d", lost)
	}
	sane(t, path)
}

// told is what somebody hears of a ledger that was lost.
func told(t *testing.T, s *Store) (lost []reconcile.Fence) {
	t.Helper()
	if err := s.TellLoss(t.Context(), func(last reconcile.Fence) { lost = append(lost, last) }); err != nil {
		t.Fatal(err)
	}
	return lost
}

// TestImpossibleNote: a number that cannot have been drawn is not gone on after.
func TestImpossibleNote(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"9223372036854775807", "99999999999999999999", "4611686018427387905", "-5"} {
		path := filepath.Join(t.TempDir(), "state.db")
		s := reopen(t, path)
		try(t, s, "test:one")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		note, err := os.ReadFile(path + ".fence")
		if err == nil {
			err = os.WriteFile(path+".fence", []byte(last+string(note[20:])), 0o640)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), path, Options{})
		unwritten(t, err, "is no number that was drawn")
		if err := os.Remove(path + ".fence"); err != nil {
			t.Fatal(err)
		}
		if l := try(t, reopen(t, path), "test:two").Lease; l.Fence < leap || l.Fence > 1<<62 {
			t.Errorf("without the note it goes on at %d", l.Fence)
		}
	}
}

// TestNoFile: none of the files is waited for that is a pipe, or written to that is a link.
func TestNoFile(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"", "-wal", "-shm", "-journal", ".lock", ".fence"} {
		path := filepath.Join(t.TempDir(), "state.db")
		if err := reopen(t, path).Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path+beside, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), path, Options{})
		unwritten(t, err, path+beside+" is no file")
		if _, err := Open(t.Context(), path, Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "is no file") {
			t.Errorf("%s: opening for reading: %v", beside, err)
		}
	}
}

// TestFailedOpenKeepsTheLog: who may only read finds the log also after somebody could not open the ledger to write.
func TestFailedOpenKeepsTheLog(t *testing.T) {
	t.Parallel()
	dir := tmpfs(t, "size=2m")
	path := filepath.Join(dir, "state.db")
	s := reopen(t, path)
	err := s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(dir, "ballast"))
	_, err = Open(t.Context(), path, Options{})
	unwritten(t, err, "the disk is full")
	for _, file := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("after an opening that failed: %v", err)
		}
	}
}
