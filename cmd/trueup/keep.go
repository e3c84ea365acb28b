package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

const keepName = "keep-run"

// keepVerb stands between trueup watch and its command and does one thing: when the watch is killed, whatever kills
// it, the whole process group of the run goes with it. The kernel's own help, Pdeathsig, reaches one process only: of
// a shell script it would leave the program that the script was waiting for, and the next watch would run beside it.
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
	if ctx.Err() != nil || os.Getppid() != watch { // told to stop, or the watch killed, before it was listening
		return &failure{code: exitSignal + int(syscall.SIGTERM)}
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
			return exitLike(err)
		case <-told:
			if os.Getppid() != watch {
				return unix.Kill(0, unix.SIGKILL)
			}
			// Otherwise the watch told the whole group to stop, the command too, or somebody let a stopped keeper go on.
		}
	}
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
