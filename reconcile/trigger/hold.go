package trigger

import (
	"context"
	"encoding/json"
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
	h.note()
	return nil
}

// note writes into the lock how often its holder runs, for who looks at it. Where that cannot be written nobody is told.
func (h *hold) note() {
	text, err := json.Marshal(h.gate.Policy)
	if err != nil {
		return
	}
	if n, err := h.file.WriteAt(text, 0); err == nil {
		_ = h.file.Truncate(int64(n))
	}
}

// WatchPolicy is the policy of the Watcher whose watch.lock has this text, and the zero Policy where it does not stand there.
func WatchPolicy(text []byte) (p Policy) {
	if json.Unmarshal(text, &p) != nil || p.Validate() != nil {
		return Policy{}
	}
	return p
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
