package nspawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
)

// errHeld says that another process has the lock.
var errHeld = errors.New("held by another process")

// flock opens path and locks it, shared or exclusive (how), without waiting.
// The lock lasts until every copy of the file is closed.
func flock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err == nil && linked(f, path) {
		return f, nil
	}
	f.Close()
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errHeld
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// linked tells whether path still names f: its last holder may have removed it
// between the open and the lock.
func linked(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// await is flock that waits until ctx ends.
func await(ctx context.Context, path string, how int) (f *os.File, err error) {
	waited := Poll(ctx, func() bool {
		f, err = flock(path, how)
		return !errors.Is(err, errHeld)
	})
	if waited != nil {
		return nil, fmt.Errorf("waiting for %s: %w", path, waited)
	}
	return f, err
}

// defaultSlots bounds the machines that run at once on this host. A machine
// costs some 40 MB, and its boot a second of one core.
const defaultSlots = 4

// mine counts this process's machines.
var mine atomic.Int32

// slot takes one of the host's places for a machine, $TRUEUP_MACHINES of them,
// and waits for one. A process that has machines already never waits: two that
// held some and waited for more would wait for ever.
func slot(ctx context.Context, dir string) (f *os.File, err error) {
	n, err := strconv.Atoi(os.Getenv("TRUEUP_MACHINES"))
	if err != nil || n < 1 {
		n = defaultSlots
	}
	first := mine.Add(1) == 1
	waited := Poll(ctx, func() bool {
		for i := range n {
			f, err = flock(filepath.Join(dir, "slot-"+strconv.Itoa(i)), syscall.LOCK_EX)
			if !errors.Is(err, errHeld) {
				return true
			}
		}
		return !first
	})
	switch {
	case waited != nil:
		return nil, fmt.Errorf("waiting for one of %d machines to end: %w", n, waited)
	case errors.Is(err, errHeld):
		return nil, nil
	}
	return f, err
}
