package units

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait bounds the wait for another adopt or unadopt. Neither takes that long.
const lockWait = 2 * jobTimeout

// lock keeps other adoptions of this manager out, and the caller's umask: a kill between making a folder and setting its
// mode would leave one that hides what is to be in it, and that the next adoption takes for an operator's.
func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	// In /run, or the user's own.
	release, err := lockFile(ctx, filepath.Join(filepath.Dir(filepath.Dir(m.runtime)), "trueup.lock"))
	if err != nil {
		return nil, err
	}
	umask := syscall.Umask(0o022)
	return func() {
		syscall.Umask(umask)
		release()
	}, nil
}

// lockFile takes the lock on a file that only its owner can open: whoever can open a file can lock it, and keep root
// waiting.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the units: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if err := flock(ctx, file); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

// flock asks again and again: a lock that is waited for in the kernel hears of no end.
func flock(ctx context.Context, file *os.File) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("another adopt or unadopt holds %s: %w", file.Name(), ctx.Err())
		}
	}
}
