package nspawn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestNothingIsLeft(t *testing.T) {
	var name string
	t.Run("machine", func(t *testing.T) {
		m := Boot(t, V252, Nspawn("--tmpfs=/mnt/small:size=64k"), Prepare(func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "etc", "prepared"), nil, 0o644)
		}))
		name = m.Name
		m.Sh(t, "test -e /etc/prepared && findmnt -no FSTYPE,SIZE /mnt/small")
		if len(traces(name)) == 0 {
			t.Error("a running machine leaves no trace: this test sees nothing")
		}
		m.Sh(t, "touch /srv/held && chattr +i /srv/held")
		m.Start(t, "sleep", "infinity")
	})
	if left := traces(name); name != "" && len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestNothingIsLeftOfTheKilled kills a test process that has a machine, and in
// the second case its reaper too, which the next test's sweep makes good.
func TestNothingIsLeftOfTheKilled(t *testing.T) {
	for _, reaperToo := range []bool{false, true} {
		t.Run(fmt.Sprintf("reaper too %v", reaperToo), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
			cmd.Env = append(os.Environ(), "TRUEUP_VICTIM=1")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			name, err := bufio.NewReader(out).ReadString('\n')
			if name = strings.TrimSpace(name); err != nil || !strings.HasPrefix(name, "trueup-") {
				t.Fatalf("the victim says %q, %v", name, err)
			}
			if reaperToo {
				killReaper(t, cmd.Process.Pid)
			}
			cmd.Process.Kill()
			cmd.Wait()
			Eventually(t, patience, "nothing is left", func() bool {
				if reaperToo {
					sweep(filepath.Join(home(), ".machines"))
				}
				return len(traces(name)) == 0
			})
		})
	}
}

// TestAlone has roots and machines of its own, so as not to wait for others.
func TestAlone(t *testing.T) {
	root, err := Root(V252)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TRUEUP_ROOTS", t.TempDir())
	if err := os.Symlink(root, filepath.Join(home(), suites[V252])); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(home(), ".machines", "alone")
	t.Run("machine", func(t *testing.T) {
		Boot(t, V252, Alone())
		if _, err := flock(lock, syscall.LOCK_SH); !errors.Is(err, errHeld) {
			t.Errorf("another machine may boot beside one that is alone: %v", err)
		}
	})
	if f, err := flock(lock, syscall.LOCK_SH); err != nil {
		t.Errorf("no other machine may boot afterwards: %v", err)
	} else {
		f.Close()
	}
}

// TestVictim is the test process that TestNothingIsLeftOfTheKilled kills.
func TestVictim(t *testing.T) {
	if os.Getenv("TRUEUP_VICTIM") == "" {
		return
	}
	m := Boot(t, V252)
	fmt.Println(m.Name)
	<-t.Context().Done()
}

func killReaper(t *testing.T, victim int) {
	t.Helper()
	for _, pid := range children(victim) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.HasPrefix(string(cmdline), "bash\x00-c\x00#!/bin/bash\n# reap ") {
			syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
	t.Fatal("the victim has no reaper")
}

// traces lists what a host shows of a machine.
func traces(name string) (found []string) {
	for _, pattern := range []string{
		"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name, "/run/systemd/nspawn/*/" + name,
		filepath.Join(home(), ".machines", name+"*"),
	} {
		paths, _ := filepath.Glob(pattern)
		found = append(found, paths...)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if strings.Contains(string(mounts), name) {
		found = append(found, "a mount")
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		if cmdline, _ := os.ReadFile(path); strings.Contains(string(cmdline), name) {
			found = append(found, path)
		}
	}
	return found
}

func TestFlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	shared, err := flock(path, syscall.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock(path, syscall.LOCK_EX); !errors.Is(err, errHeld) {
		t.Errorf("an exclusive lock beside a shared one: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := await(ctx, path, syscall.LOCK_EX); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a lock that stays: %v", err)
	}
	shared.Close()
	alone, err := await(t.Context(), path, syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	again, err := flock(path, syscall.LOCK_EX)
	if err != nil {
		t.Errorf("a lock whose file was removed keeps its name locked: %v", err)
	}
	alone.Close()
	again.Close()
}

func TestSlots(t *testing.T) {
	t.Setenv("TRUEUP_MACHINES", "1")
	defer mine.Store(mine.Swap(0))
	dir := t.TempDir()
	one, err := slot(t.Context(), dir)
	if err != nil || one == nil {
		t.Fatalf("the first place: %v, %v", one, err)
	}
	if two, err := slot(t.Context(), dir); two != nil || err != nil {
		t.Errorf("who has a machine must not wait for a second: %v, %v", two, err)
	}
	mine.Store(0) // as in another process
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if three, err := slot(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a place beyond the last: %v, %v", three, err)
	}
	one.Close()
}
