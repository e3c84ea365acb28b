package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
)

func try(t *testing.T, s *Store, target reconcile.Key) reconcile.Answer {
	t.Helper()
	answers, err := s.Grant(t.Context(), []reconcile.Bid{{Target: target}}, 15*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// taken wants the target refused, or granted with a fence above the given one.
func taken(t *testing.T, s *Store, target reconcile.Key, is bool) {
	t.Helper()
	if a := try(t, s, target); (a.Refused != nil) != is {
		t.Fatalf("%s: answer %+v, want it refused: %t", target, a, is)
	}
}

func phase(t *testing.T, s *Store, run reconcile.RunID) reconcile.Phase {
	t.Helper()
	events, err := s.Events(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	h, err := reconcile.Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	return h.Phase
}

// TestHolderDies frees a lease at once though it lies 900 s ahead, also when a child of the holder lives on (LCK-10,
// LCK-11), and whatever process has its number now (LCK-01).
func TestHolderDies(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	c := start(t, "holder", path)
	_, run := c.take("test:one")
	taken(t, s, "test:one", true)
	stray, err := os.FindProcess(c.number("stray"))
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Kill()
	c.kill()
	if live, err := s.Leases(t.Context()); err != nil || len(live) > 0 {
		t.Errorf("live leases of the dead: %v, %v", live, err)
	}
	a := try(t, s, "test:one")
	if a.Refused != nil || !a.Standing.Owed() || a.Standing.Report.Note != "lease expired: its holder is gone" {
		t.Errorf("answer %+v, want a lease on an owed target whose holder is gone", a)
	}
	if p := phase(t, s, run); p != reconcile.Expired {
		t.Errorf("the run is %s", p)
	}
	if files, err := os.ReadDir(path + ".sessions"); err != nil || len(files) != 1 {
		t.Errorf("session files %v, %v; want this process's only", files, err)
	}
}

// TestHolderStopped does not take a stopped process for dead. Its lease lapses by time, and it learns of that (LCK-17).
func TestHolderStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	late := time.Duration(0)
	s, err := Open(t.Context(), path, Options{Clock: func() time.Time { return time.Now().Add(late) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := start(t, "holder", path)
	fence, run := c.take("test:one")
	c.signal(syscall.SIGSTOP)
	taken(t, s, "test:one", true)
	late = 16 * time.Minute
	taken(t, s, "test:one", false)
	if p := phase(t, s, run); p != reconcile.Expired {
		t.Errorf("the run is %s", p)
	}
	c.signal(syscall.SIGCONT)
	if got := c.ask("check %d", fence); got == "<nil>" {
		t.Error("the stopped process still believes in its lease")
	}
}

// TestSessionFileRemoved: somebody cleans up behind a process that lives. Its leases lapse and it learns of that, unless
// it renews first; what it leases next is safe again.
func TestSessionFileRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, other := reopen(t, path), reopen(t, path)
	first := try(t, s, "test:one").Lease
	clean := func() {
		if err := os.RemoveAll(path + ".sessions"); err != nil {
			t.Fatal(err)
		}
	}
	clean()
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{first.Fence}, time.Minute); err != nil || len(lost) > 0 {
		t.Errorf("renewing: lost %v, %v", lost, err)
	}
	taken(t, other, "test:one", true)
	clean()
	taken(t, other, "test:one", false)
	if err := s.Check(t.Context(), first.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("checking a lapsed lease: %v", err)
	}
	taken(t, s, "test:two", false)
	taken(t, other, "test:two", true)
}

// TestOtherBoot ends every lease of a boot that is over, whatever its session's file says. A process in a sandbox that
// hides the boot's id is no other boot.
func TestOtherBoot(t *testing.T) {
	t.Parallel()
	for boot, lives := range map[string]bool{"before": false, "": true} {
		path := filepath.Join(t.TempDir(), "state.db")
		s, other := reopen(t, path), reopen(t, path)
		try(t, s, "test:one")
		if _, err := rawDB(t, path).Exec("UPDATE leases SET boot = ?", boot); err != nil {
			t.Fatal(err)
		}
		taken(t, other, "test:one", lives)
	}
}

// TestSessionUnreadable: when in doubt a holder lives.
func TestSessionUnreadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s, other := reopen(t, path), reopen(t, path)
	try(t, s, "test:one")
	name := filepath.Join(path+".sessions", s.session.own())
	if err := errors.Join(os.Remove(name), os.Symlink(name, name)); err != nil { // opening it is ELOOP
		t.Fatal(err)
	}
	taken(t, other, "test:one", true)
}
