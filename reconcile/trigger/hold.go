package trigger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const watchLock = "watch.lock"

// A hold is a Watcher's hold on its state folder: a lock, and so the kernel's, which no kill leaves behind.
type hold struct {
	gate *Gate
	file *os.File
}

// take takes the lock of the folder that stands there now, and lets go of an earlier one.
func (h *hold) take(ctx context.Context) error {
	state, err := openState(h.gate.Folders.State)
	if err != nil {
		return fmt.Errorf("opening the state folder: %w", err)
	}
	defer state.close()
	file, err := lockFile(ctx, state, watchLock, h.gate.Clock, time.Second/2) // status looks at it for a moment
	if errors.Is(err, errLocked) {
		return fmt.Errorf("%w on %s", ErrWatched, h.gate.Folders.State)
	}
	if err != nil {
		return err
	}
	h.release()
	h.file = file
	return nil
}

// keep takes the lock anew when the file at the path is no longer the one that is locked: a second Watcher could lock
// that. A folder that refuses is the gate's to report, and runs go on.
func (h *hold) keep(ctx context.Context) error {
	ours, err := h.file.Stat()
	there, statErr := os.Lstat(filepath.Join(h.gate.Folders.State, watchLock))
	if err == nil && statErr == nil && os.SameFile(ours, there) {
		return nil
	}
	if err := h.take(ctx); errors.Is(err, ErrWatched) {
		return err
	}
	return nil
}

func (h *hold) release() {
	if h.file != nil {
		h.file.Close()
	}
}
