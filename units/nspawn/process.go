package nspawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A Process is a command that runs in a machine beside the test. It ends with
// the test, or with the machine's power.
type Process struct {
	argv []string
	cmd  *exec.Cmd
	out  lockedBuffer
	errs lockedBuffer
	done chan struct{}
	err  error
}

// Start starts a command beside the test.
func (s Session) Start(t testing.TB, argv ...string) *Process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{argv: argv, cmd: s.Command(ctx, argv...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatalf("starting %q in %s: %v", argv, s.m.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	return p
}

// Output returns what the process has written to standard output so far.
func (p *Process) Output() string { return p.out.String() }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the process and returns its standard output, with
// an error like that of Session.Exec.
func (p *Process) Wait() (string, error) {
	<-p.done
	if p.err != nil {
		return p.out.String(), fmt.Errorf("running %q: %w: %s", p.argv, p.err, strings.TrimSpace(p.errs.String()))
	}
	return p.out.String(), nil
}

// Signal sends a signal to the process itself.
func (p *Process) Signal(sig syscall.Signal) error {
	return signalInside(p.cmd.Process.Pid, sig)
}

// signalInside signals the process that a nsenter runs. nsenter passes no
// signals on, and killing it alone would leave its child behind.
func signalInside(nsenter int, sig syscall.Signal) error {
	inside := children(nsenter)
	for _, pid := range inside {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	if len(inside) == 0 { // not there yet, or over
		return syscall.Kill(nsenter, sig)
	}
	return nil
}

// A lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
