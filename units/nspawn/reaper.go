package nspawn

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// reap is the script that clears up after a machine.
//
//go:embed reap
var reap string

// serial numbers this process's machines.
var serial atomic.Int32

// A reaper is a process that holds the locks of a machine and clears up after
// it when told to, or when this process dies.
type reaper struct {
	name, dir string
	cmd       *exec.Cmd
	stdin     io.Closer
	stderr    *bytes.Buffer
}

// newReaper makes up a machine's name and folder and starts its reaper. The
// locks, and one on the name, pass to the reaper and last as long as it does.
func newReaper(base string, locks []*os.File) (*reaper, error) {
	defer func() {
		for _, lock := range locks {
			lock.Close()
		}
	}()
	name, lock, err := newName(base)
	if err != nil {
		return nil, err
	}
	locks = append(locks, lock)
	r := &reaper{name: name, dir: filepath.Join(base, name), stderr: new(bytes.Buffer)}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return nil, err
	}
	return r, r.start(locks)
}

// newName locks a name that no machine has.
func newName(base string) (name string, lock *os.File, err error) {
	for {
		name = fmt.Sprintf("trueup-%d-%d", os.Getpid(), serial.Add(1))
		lock, err = flock(filepath.Join(base, name+".lock"), syscall.LOCK_EX)
		if !errors.Is(err, errHeld) {
			return name, lock, err
		}
	}
}

func (r *reaper) start(locks []*os.File) (err error) {
	r.cmd = exec.Command("bash", "-c", reap, "reap", r.dir, r.name)
	// A session of its own, so that an interrupt from the terminal ends the
	// test but not its reaper. Its errors go to a buffer through a pipe of
	// ours, never to the test's output: `go test` waits for that to close.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r.cmd.Dir = "/"
	r.cmd.ExtraFiles = locks
	r.cmd.Stderr = r.stderr
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("starting the reaper: %w", err)
	}
	return nil
}

// finish has the reaper clear up and waits for it.
func (r *reaper) finish() error {
	r.stdin.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("clearing up: %w: %s", err, strings.TrimSpace(r.stderr.String()))
	}
	return nil
}

// stop ends what is left of the machine's processes and cgroups.
func (r *reaper) stop() error {
	out, err := exec.Command("bash", "-c", reap, "reap", "stop", r.dir, r.name).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ending %s: %w: %s", r.name, err, bytes.TrimSpace(out))
	}
	return nil
}

// sweep clears up after machines whose test and reaper are both dead, as after
// a kill of everything. What it cannot clear it leaves to the next.
func sweep(base string) {
	names, _ := filepath.Glob(filepath.Join(base, "trueup-*.lock"))
	for _, path := range names {
		lock, err := flock(path, syscall.LOCK_EX)
		if err != nil {
			continue
		}
		dir := strings.TrimSuffix(path, ".lock")
		exec.Command("bash", "-c", reap, "reap", dir, filepath.Base(dir)).Run()
		lock.Close()
	}
}
