package trigger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockFor is how long a writer waits for another before it does without.
const lockFor = 10 * time.Second

var errLocked = errors.New("another process holds the lock of the state folder")

// lock takes the state folder's lock, which orders the writers of status.json. It stands in the state folder
// since a container could hold a lock on anything that it may read.
func lock(ctx context.Context, state dir, c Clock) (release func(), err error) {
	f, err := lockFile(ctx, state, "lock", c, lockFor)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// lockFile takes a lock of the state folder, waiting for it at most as long as said. A context that has ended keeps
// nobody from a free lock, only from waiting for one. The lock goes with the file.
func lockFile(ctx context.Context, state dir, name string, c Clock, patience time.Duration) (*os.File, error) {
	f, err := openLock(state, name)
	if err != nil {
		return nil, err
	}
	for deadline := c.Now() + patience; ; {
		if err = tryLock(f); err == nil {
			return f, nil
		}
		if !errors.Is(err, errLocked) || c.Now() >= deadline {
			f.Close()
			return nil, err
		}
		if err := waitUntil(ctx, c, c.Now()+20*time.Millisecond); err != nil {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", state.path(name), err)
		}
	}
}

// openLock opens or creates a lock file. One that exists can be locked on a read-only file system too.
func openLock(state dir, name string) (*os.File, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(state.fd(), name, unix.O_RDWR|unix.O_CREAT|flags, 0o600)
	if err != nil {
		fd, err = unix.Openat(state.fd(), name, unix.O_RDONLY|flags, 0)
	}
	if err != nil {
		return nil, state.err("opening", name, err)
	}
	return os.NewFile(uintptr(fd), state.path(name)), nil
}

// tryLock takes the lock if nobody has it. It goes with the descriptor, which no child inherits.
func tryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return fmt.Errorf("locking %s: %w", f.Name(), errLocked)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return nil
}
