package trigger

import (
	"context"
	"errors"
	"time"
)

// show publishes the number and the phase. A number that could not be published is never shown as settled
// (see Settle), so a failure costs promptness and no truth.
func (g *Gate) show(ctx context.Context, s State, epoch string, n uint64, phase Phase) {
	if g.Folders.Outbox == "" {
		return
	}
	if err := g.publish(ctx, g.status(s, epoch, n, phase)); err != nil && ctx.Err() == nil {
		g.reportOutbox(err)
	}
}

func (g *Gate) status(s State, epoch string, n uint64, phase Phase) Status {
	status := Status{Version: 1, Unit: g.Unit, Epoch: epoch, Claims: n, State: phase}
	var until time.Time
	if status.Settled, until = s.Settled.coveredIn(epoch); !until.IsZero() {
		status.CoveredUntil = &until
	}
	return status
}

// publish writes status.json under the state folder's lock. Where that folder cannot hold one there is nobody to
// exclude.
func (g *Gate) publish(ctx context.Context, status Status) error {
	if state, err := openDir(g.Folders.State); err == nil {
		defer state.close()
		release, err := lock(ctx, state, g.Clock)
		if errors.Is(err, errLocked) || ctx.Err() != nil && err != nil {
			return err
		}
		if err == nil {
			defer release()
		}
	}
	return g.publishLocked(status)
}

func (g *Gate) publishLocked(status Status) error {
	outbox, err := openDir(g.Folders.Outbox)
	if err != nil {
		return err
	}
	defer outbox.close()
	return publish(outbox, status)
}

// showWait publishes that a gate waits, with the last number.
func (g *Gate) showWait(ctx context.Context, s State, phase Phase) {
	if epoch, last := g.numbering(s); g.mayShow(s, epoch, last) {
		g.show(ctx, s, epoch, last, phase)
	}
}

// mayShow tells whether the last number may be published by somebody else than the gate that claimed it. An owed
// claim whose number was never shown stays hidden: its run has read already, and might still settle. An epoch has to
// be on record: should the folder turn out to hold another after all, that one's successes would cover its tickets.
func (g *Gate) mayShow(s State, epoch string, last uint64) bool {
	return s.recorded(epoch) && (s.Claim == nil || g.shows(epoch, last))
}

// shows tells whether the outbox shows the number already.
func (g *Gate) shows(epoch string, n uint64) bool {
	shown, err := ReadStatus(g.Folders.Outbox)
	return err == nil && shown.Epoch == epoch && shown.Claims >= n
}
