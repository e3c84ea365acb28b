package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A gate lets one writer at a time through, among the goroutines of this process and the processes of the host. The
// kernel queues who waits in flock, in order; SQLite's own waiting sleeps and tries again, and starves some.
type gate struct {
	path string
	wait time.Duration
	turn chan struct{} // has room while nobody of this process is inside
	file *os.File      // nil until first used, and after a wait that was given up
}

func newGate(path string, wait time.Duration) *gate {
	return &gate{path: path, wait: wait, turn: make(chan struct{}, 1)}
}

// enter waits for its turn, at most as long as the gate says or until the context ends.
func (g *gate) enter(ctx context.Context) error {
	patience := time.NewTimer(g.wait)
	defer patience.Stop()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
		return g.busy()
	}
	err := g.lock(ctx, patience.C)
	if err != nil {
		<-g.turn
	}
	return err
}

func (g *gate) lock(ctx context.Context, patience <-chan time.Time) error {
	if g.file == nil {
		f, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return fmt.Errorf("opening the write lock, which must be writable by user %d: %w", os.Geteuid(), err)
		}
		g.file = f
	}
	if flock(g.file, unix.LOCK_EX|unix.LOCK_NB) == nil {
		return nil
	}
	f, done := g.file, make(chan error, 1)
	go func() { done <- flock(f, unix.LOCK_EX) }()
	var why error
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("locking %s: %w", g.path, err)
		}
		return nil
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-patience:
		why = g.busy()
	}
	// The wait in the kernel goes on. What it comes to ends with its file, and the next writer opens another.
	g.file = nil
	go func() {
		<-done
		f.Close()
	}()
	return why
}

func (g *gate) leave() {
	_ = flock(g.file, unix.LOCK_UN) // cannot fail on a descriptor that holds it
	<-g.turn
}

func (g *gate) busy() error {
	return fmt.Errorf("another process kept the write lock %s for %s: fuser shows who has it open", g.path, g.wait)
}

// close waits for whoever is inside.
func (g *gate) close() error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	if g.file == nil {
		return nil
	}
	f := g.file
	g.file = nil
	return f.Close()
}

// flock is flock(2), through signals.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}
