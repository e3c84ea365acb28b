package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"trueup/reconcile"
)

// TestMovedAway: what is done to the files under a process ends its leases and all that it writes, at once and with a reason.
// Whoever opens the path by then meets another ledger, or none, in which nobody holds anything.
func TestMovedAway(t *testing.T) {
	t.Parallel()
	copied := func(t *testing.T, file string) error {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return errors.Join(os.WriteFile(file+".copy", text, 0o640), os.Rename(file+".copy", file))
	}
	for name, blow := range map[string]func(t *testing.T, path string) error{
		"moved":              func(_ *testing.T, path string) error { return os.Rename(path, path+".old") },
		"removed":            func(_ *testing.T, path string) error { return os.Remove(path) },
		"replaced by a copy": copied,
		"its folder moved": func(_ *testing.T, path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-old")
		},
		"its folder replaced": func(t *testing.T, path string) error {
			dir := filepath.Dir(path)
			err := errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o700))
			reopen(t, path) // as the next sweep does
			return err
		},
		"its log removed":              func(_ *testing.T, path string) error { return os.Remove(path + "-wal") },
		"the index of its log removed": func(_ *testing.T, path string) error { return os.Remove(path + "-shm") },
		"its log replaced by a copy":   func(t *testing.T, path string) error { return copied(t, path+"-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ledger", "state.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			s := reopen(t, path)
			l := try(t, s, "test:one").Lease
			if err := blow(t, path); err != nil {
				t.Fatal(err)
			}
			const says = "is no longer the file that is open"
			unwritten(t, s.Check(t.Context(), l.Fence), says)
			unwritten(t, s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:two"}}}}), says)
			_, err := s.Grant(t.Context(), []reconcile.Bid{{Target: "test:two"}}, time.Minute)
			unwritten(t, err, says)
			_, err = s.Settle(t.Context(), []reconcile.Settlement{{Lease: l}})
			unwritten(t, err, says)
			lost, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence}, time.Minute)
			unwritten(t, err, says)
			if !slices.Equal(lost, []reconcile.Fence{l.Fence}) {
				t.Errorf("fences %v are lost, want that of the lease", lost)
			}
		})
	}
}

// TestMovedInCommit: what was moved while a transaction was under way is not written to either.
func TestMovedInCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	err := s.write(t.Context(), "writing", func(*tx) error { return os.Rename(path, path+".old") })
	unwritten(t, err, "is no longer the file that is open")
}
