package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile"
)

// A program is one process to run, with what its group is allowed.
type program struct {
	argv  []string
	dir   string
	env   []string
	stdin []byte // nothing but the end of file when nil
	grace time.Duration

	stdout, stderr *os.File // the writing ends; the same file where both are one
}

// supervise runs the program until it and its group are gone. It returns the exit code, and the names of the processes of
// the group that were still there when the program had ended. It fails when the program could not be started, was ended
// because the context was, or died of a signal.
func (p program) supervise(ctx context.Context) (exit int, strays []string, err error) {
	c, err := p.start()
	if err != nil {
		return 0, nil, err
	}
	stopped := c.await(ctx, p.grace)
	// The program is dead and not yet reaped, so that its number, which is also the group's, is nobody else's.
	strays = members(c.pid)
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	bury(ctx, func() []string { return members(c.pid) })
	close(c.reap)
	state := <-c.state
	switch status, _ := state.Sys().(syscall.WaitStatus); {
	case stopped != nil:
		return 0, strays, fmt.Errorf("%w: ended with %s", stopped, state)
	case status.Signaled():
		return 0, strays, fmt.Errorf("died of a signal: %s", status.Signal())
	}
	return state.ExitCode(), strays, nil
}

// unkillable tells of processes that were killed and are not dead.
func unkillable(ctx context.Context, names ...string) {
	reconcile.Waits(ctx, strings.Join(names, ", ")+", killed and kept by the kernel, as by a disk that does not answer")
}

// bury waits until nobody of a killed group lives. Dying takes a moment; where the kernel keeps a process in the middle of a
// call, it takes as long as that, and what the call writes needs the lease: it is not given back before.
func bury(ctx context.Context, alive func() []string) {
	told := false
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		left := alive()
		long := wait == time.Second
		if len(left) == 0 || long && reconcile.Grace(ctx).Err() != nil {
			return
		}
		if long && !told {
			unkillable(ctx, left...)
			told = true
		}
		time.Sleep(wait)
	}
}

// A child is a started process.
type child struct {
	pid    int
	exited chan struct{}         // closed when it has ended
	reap   chan struct{}         // closed when it may be reaped
	state  chan *os.ProcessState // after that
}

// start starts the program on a thread that lives as long as the program does: the kernel sends the signal of the
// parent's death when the thread that forked ends.
func (p program) start() (*child, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, p.stdout, p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.stdin != nil {
		input, err := inMemory(p.stdin)
		if err != nil {
			return nil, err
		}
		defer input.Close()
		cmd.Stdin = input
	}
	c := &child{exited: make(chan struct{}), reap: make(chan struct{}), state: make(chan *os.ProcessState, 1)}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- p.explain(err)
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		ended(c.pid)
		close(c.exited)
		<-c.reap
		_ = cmd.Wait() // the state tells
		c.state <- cmd.ProcessState
	}()
	return c, <-started
}

// explain names the folder too: where it is missing, the system's error speaks of the program.
func (p program) explain(err error) error {
	if p.dir == "" {
		return err
	}
	return fmt.Errorf("in the folder %s: %w", p.dir, err)
}

// ended waits until the process has ended, and leaves it to be reaped.
func ended(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}

// await waits for the program's end, and brings it about when the context ends; it then returns why. The program has time to
// end, but none that its lease does not have: somebody else may be writing soon.
func (c *child) await(ctx context.Context, grace time.Duration) error {
	select {
	case <-c.exited:
		return nil
	case <-ctx.Done():
	}
	why, over := context.Cause(ctx), reconcile.Grace(ctx).Done()
	_ = unix.Kill(-c.pid, unix.SIGTERM)
	select {
	case <-c.exited:
		return why
	case <-over:
	case <-time.After(grace):
	}
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	select {
	case <-c.exited:
	case <-time.After(time.Second):
		unkillable(ctx, fmt.Sprintf("the command (%d)", c.pid))
		<-c.exited
	}
	return why
}

// members names the processes of the group but its leader, as far as they live.
func members(group int) (names []string) {
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == group {
			continue
		}
		if of, err := unix.Getpgid(pid); err != nil || of != group {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + p.Name() + "/stat") // 4711 (name) S ...
		begin, end := bytes.IndexByte(stat, '('), bytes.LastIndex(stat, []byte(") "))
		if begin > 0 && end > begin && stat[end+2] != 'Z' {
			names = append(names, fmt.Sprintf("%s (%d)", stat[begin+1:end], pid))
		}
	}
	return names
}

// inMemory is a file that is in no folder.
func inMemory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a program's input: %w", err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if _, err = f.Write(data); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("writing a program's input: %w", err)
	}
	return f, nil
}
