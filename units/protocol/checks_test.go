package protocol

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
)

// floor is a policy with that floor.
func floor(d time.Duration) trigger.Policy { return trigger.Policy{Floor: d} }

// mustLive fails the test unless a touch would be heard now.
func (h *host) mustLive(t *testing.T) {
	t.Helper()
	if err := h.alive(t); err != nil {
		t.Errorf("%s hears no touch any more: %v", h.name, err)
	}
}

// awaitLive waits until a touch would be heard, where the host has just booted.
func (h *host) awaitLive(t *testing.T) {
	t.Helper()
	h.eventually(t, patience, "a touch would be heard", func() bool { return h.alive(t) == nil })
}

// keepsFloor holds the log to the floor: no claim is closer than that to the success before it, and none to any
// claim before it, within one boot.
func (h *host) keepsFloor(t *testing.T, runs []attempt) {
	t.Helper()
	for i, r := range runs {
		if r.Claim == nil {
			t.Errorf("run %d of %s had no claim", i+1, h.name)
			continue
		}
		if s := r.Settled; s != nil && s.Finished.Boot == r.Claim.Boot && r.Claim.At-s.Finished.At < h.policy.Floor {
			t.Errorf("claim %d of %s came %v after a success, the floor is %v", r.Claim.N, h.name, r.Claim.At-s.Finished.At, h.policy.Floor)
		}
		if i == 0 || runs[i-1].Claim == nil || runs[i-1].Claim.Boot != r.Claim.Boot {
			continue
		}
		if since := r.Claim.At - runs[i-1].Claim.At; since < h.policy.Floor {
			t.Errorf("claim %d of %s came %v after claim %d, the floor is %v", r.Claim.N, h.name, since, runs[i-1].Claim.N, h.policy.Floor)
		}
		if r.Claim.N <= runs[i-1].Claim.N {
			t.Errorf("claim %d of %s follows claim %d", r.Claim.N, h.name, runs[i-1].Claim.N)
		}
	}
}

// leavesNothing fails the test if a process of the counter is left: systemd's cgroup is empty, and nobody holds
// the lock that every process of a run inherits.
func (h *host) leavesNothing(t *testing.T) {
	t.Helper()
	lock, err := os.Open(filepath.Join(h.dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// On a busy machine a child that was killed may take a moment to be gone.
	h.eventually(t, patience, "no process is left, nor the lock of one", func() bool {
		return (h.manager() == nil || len(h.pids()) == 0) && unix.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	})
}

// within tells whether d is from least to most.
func within(d, least, most time.Duration) bool { return d >= least && d <= most }
