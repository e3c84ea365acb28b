package trigger

import (
	"context"
	"crypto/rand"
	"errors"
	"time"
)

// Watcher is the trigger without systemd: for containers, for development, for hosts that have none. The same
// gate, the same claim, the same files; only what starts a run differs.
type Watcher struct {
	Gate Gate                               // Invocation is set anew for each run
	Run  func(context.Context, Claim) error // the work; nil is a success
}

// ErrWatched means that another Watcher has the state folder.
var ErrWatched = errors.New("another trueup watch runs")

// Watch runs until the context ends, and returns nil then. A run starts when the spool asks, when a claim stands
// or when the sweep interval has passed since the last run. Run gets a zero Claim when it could not be recorded.
//
// Where the state folder was removed under it, it takes the one that stands there, or ends with ErrWatched if another
// Watcher has it. It looks before each run: one that was on when the folder went is not ended.
func (w *Watcher) Watch(ctx context.Context) error {
	h := hold{gate: &w.Gate}
	defer h.release()
	if err := h.take(ctx); err != nil {
		return stopped(ctx, err)
	}
	checked, err := w.Gate.ready(ctx) // not the spool: a web app must not keep the watch from starting
	if err != nil {
		return stopped(ctx, err)
	}
	checked.close()
	due := w.Gate.Clock.Now() // the first run is for everything: drift since the last watch
	for {
		if err := w.await(ctx, due); err != nil {
			return stopped(ctx, err)
		}
		if err := w.once(ctx, &h); err != nil {
			return stopped(ctx, err)
		}
		due = w.Gate.Clock.Now() + w.Gate.Policy.Sweep
	}
}

// await returns when the next run may be asked for; the gate then waits out the floor.
func (w *Watcher) await(ctx context.Context, due time.Duration) error {
	state, err := ReadState(w.Gate.Folders.State)
	if err == nil && (state.Claim != nil || state.Damage != nil) {
		return ctx.Err()
	}
	_, err = awaitTouch(ctx, w.Gate.Clock, w.Gate.Folders.Spool, due)
	return err
}

func (w *Watcher) once(ctx context.Context, h *hold) error {
	if err := h.keep(ctx); err != nil {
		return err
	}
	gate := w.Gate
	gate.Invocation = rand.Text()
	claim, err := gate.Claim(ctx)
	if err != nil && !errors.Is(err, ErrUnrecorded) {
		return err
	}
	if err := errors.Join(ctx.Err(), h.keep(ctx)); err != nil { // the wait was long enough to lose it
		return err
	}
	if err := w.Run(ctx, claim); err != nil {
		return ctx.Err() // the claim stands, and the gate backs off
	}
	if err := gate.Settle(ctx); err != nil {
		gate.reportUnsettling(err)
	}
	return ctx.Err()
}

func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
