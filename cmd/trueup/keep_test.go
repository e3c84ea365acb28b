package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStoppedKeeper: a run whose keeper somebody has stopped goes with its watch all the same. The watch has a parent
// that adopts orphans in its own session, as a container's first process does; with any other the kernel itself lets
// the keeper go on.
func TestStoppedKeeper(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	watch := exec.Command(self)
	watch.Args = []string{"trueup", "watch", "--spool", "spool", "--state", "state", "--",
		"sh", "-c", "sleep 1000 & echo $PPID >new; mv new keeper; wait"}
	watch.Dir = dir
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer watch.Process.Kill()
	var keeper int
	soon(t, "the run has begun", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "keeper"))
		keeper, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	defer unix.Kill(-keeper, unix.SIGKILL)
	if err := unix.Kill(keeper, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	soon(t, "the keeper has stopped", func() bool {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(keeper) + "/stat")
		return strings.Contains(string(stat), ") T ")
	})
	if err := watch.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = watch.Wait()
	soon(t, "nothing of the run is left", func() bool {
		_, err := unix.Wait4(-keeper, nil, unix.WNOHANG, nil)
		return err == unix.ECHILD
	})
}

// soon polls until something is so.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(20 * time.Second)
	for !is() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
