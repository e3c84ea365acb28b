package main

import (
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
	"trueup/reconcile/trigger"
)

// killAfter is how long a run that was told to stop has to do so. A sweep, which gives its commands time of their own and then
// its leases back, must have more than that: it is the time that its unit has too.
const killAfter = 30 * time.Second

// A runner runs the command of trueup watch: one process group a run, which never outlives its watch.
type runner struct {
	command []string
	timeout time.Duration // 0 for none
	log     func(trigger.Event)
}

var errTooLong = errors.New("it took too long")

// lookUp refuses a command that cannot be run before anything is watched: every run of it would fail.
func lookUp(verb, command string) error {
	if _, err := exec.LookPath(command); err != nil {
		hint := "give a program by its path, or one that is on the path"
		if info, statErr := os.Stat(command); statErr == nil && info.Mode().IsRegular() && !executable(command) {
			hint = "chmod +x " + quoted(command)
		}
		return fail(exitConfig, hint, "%s: %w", verb, err)
	}
	return nil
}

func (r runner) run(ctx context.Context, claim trigger.Claim) error {
	within := ctx
	if r.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeoutCause(ctx, r.timeout, errTooLong)
		defer cancel()
	}
	err := runGroup(within, r.command, nil, environment(claim)...)
	if cause := context.Cause(within); errors.Is(cause, errTooLong) && err != nil {
		err = fmt.Errorf("%w (--timeout %s)", cause, r.timeout)
	}
	if err != nil && !stopping(ctx) {
		r.log(runFailed(claim, err))
	}
	return err
}

// runGroup starts a command below a keeper, in a group of its own, and sees that nothing of it is left, in the group or out
// of it: when the command has ended, when the context has, or when this process is killed.
func runGroup(ctx context.Context, command []string, input *os.File, env ...string) error {
	// Pdeathsig is sent when the thread that started the keeper ends, so that thread must last as long.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	keeper := exec.Command("/proc/self/exe") // also when an upgrade has replaced the file
	keeper.Args = append([]string{"trueup", keepName, strconv.Itoa(os.Getpid())}, command...)
	keeper.Env = append(os.Environ(), env...)
	if input != nil {
		keeper.Stdin = input
	}
	keeper.Stdout, keeper.Stderr = os.Stdout, os.Stderr
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGCONT}
	if err := keeper.Start(); err != nil {
		return err
	}
	group := -keeper.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		awaitEnd(keeper.Process.Pid)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		_ = unix.Kill(group, unix.SIGTERM)
		select {
		case <-ended:
		case <-reconcile.Grace(ctx).Done(): // the session is lost, say: somebody else may be writing soon
		case <-time.After(killAfter):
		}
		_ = unix.Kill(keeper.Process.Pid, endAll) // it alone reaches what has left the group
		select {
		case <-ended:
		case <-time.After(time.Second): // somebody has stopped it
		}
	}
	// The keeper is not yet reaped, so the number is still the group's.
	_ = unix.Kill(group, unix.SIGKILL)
	err := keeper.Wait()
	reapOrphans()
	return err
}

// reapOrphans takes leave of what runs left behind and the kernel gave to us, as it does to PID 1 of a container.
// No child of our own is running now.
func reapOrphans() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.EINTR && pid <= 0 {
			return
		}
	}
}

// awaitEnd returns when the process has ended, and leaves it to be reaped.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// environment tells the command what it was asked for. The names fit the pattern of a request, so a shell may
// split the list at its spaces.
func environment(c trigger.Claim) []string {
	return []string{
		"TRUEUP_INVOCATION=" + c.Invocation, // by which trueup sweep knows that the claim is for it to answer
		"TRUEUP_CLAIM=" + strconv.FormatUint(c.N, 10),
		"TRUEUP_ATTEMPT=" + strconv.Itoa(c.Attempt),
		"TRUEUP_ALL=" + strconv.FormatBool(c.All || c.N == 0), // no claim could be recorded: it is for everything
		"TRUEUP_REQUESTS=" + strings.Join(c.Requests, " "),
	}
}

func claimFields(c trigger.Claim) map[string]string {
	fields := map[string]string{}
	for _, assignment := range environment(c) {
		name, value, _ := strings.Cut(assignment, "=")
		fields[name] = value
	}
	return fields
}
