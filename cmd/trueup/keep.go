package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

const keepName = "keep-run"

// keepVerb stands between trueup watch, or trueup work run, and its command and does one thing: when the command has ended,
// or the watch is killed, whatever kills it, all that the command has started goes with it. The kernel's own help, Pdeathsig,
// reaches one process only: of a shell script it would leave the program that the script was waiting for, and the next watch
// would run beside it. What left the process group is still a descendant: the keeper is given whatever loses its parent.
//
// The kernel tells the keeper with a SIGCONT, which reaches a keeper that somebody has stopped as well: a SIGTERM would
// wait until it goes on, and a SIGKILL would leave nobody to end the group.
func keepVerb() *cobra.Command {
	return &cobra.Command{
		Use:                keepName + " WATCHPID COMMAND [ARG…]",
		Hidden:             true,
		DisableFlagParsing: true,
		Args:               cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			watch, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return keep(c.Context(), watch, args[1:])
		},
	}
}

func keep(ctx context.Context, watch int, command []string) error {
	told := make(chan os.Signal, 1) // one that is not taken yet says the same
	signal.Notify(told, syscall.SIGTERM, syscall.SIGCONT)
	hurry := make(chan os.Signal, 1)
	signal.Notify(hurry, endAll)
	if ctx.Err() != nil || os.Getppid() != watch { // told to stop, or the watch killed, before it was listening
		return &failure{code: exitSignal + int(syscall.SIGTERM)}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopting what the run leaves behind: %w", err)
	}
	runtime.LockOSThread() // for the command's own Pdeathsig, should the keeper be killed
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return fmt.Errorf("starting the run: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			endChildren()
			return exitLike(err)
		case <-hurry:
			for _, pid := range children() {
				_ = unix.Kill(pid, unix.SIGKILL) // the command among them, which then has ended
			}
		case <-told:
			if os.Getppid() != watch {
				endChildren()
				return unix.Kill(0, unix.SIGKILL)
			}
			// Otherwise the watch told the whole group to stop, the command too, or somebody let a stopped keeper go on.
		}
	}
}

// endAll is the signal by which a watch has its keeper end the run at once.
const endAll = syscall.SIGUSR1

// endChildren kills whatever the run has left, and reaps it. The children of each become the keeper's own.
func endChildren() {
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		reapOrphans()
		some := false
		for _, pid := range children() {
			some = unix.Kill(pid, unix.SIGKILL) == nil || some
		}
		if !some { // what is left is another user's, by a set-user-ID program
			return
		}
		time.Sleep(wait) // dying takes a moment, and as long as it likes where the kernel does not let it
	}
}

// children are the processes whose parent this is, as far as /proc shows them.
func children() (pids []int) {
	self := strconv.Itoa(os.Getpid())
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + p.Name() + "/stat") // 4711 (name) S 42 ...
		after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(after) > 1 && after[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// exitLike ends the keeper as the command ended.
func exitLike(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = exitSignal + int(status.Signal())
	}
	return &failure{code: code}
}
