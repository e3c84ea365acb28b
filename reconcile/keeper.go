package reconcile

import (
	"context"
	"sync"
	"time"
)

// A keeper renews the leases of this process at a third of their time, and ends a tick's context when its lease is lost
// or when it could not be renewed: a tenth of its time before it would lapse, so that nothing is written after that.
type keeper struct {
	ledger renewer
	ttl    time.Duration

	mu   sync.Mutex
	held map[Fence]*hold
}

type hold struct {
	end   context.CancelCauseFunc
	until time.Time // on this process's clock, never later than the store's
}

// over tells whether a hold is out of time, on the clock that stops in a suspend or on the one that does not: the store goes
// by the latter, and has then given the scopes to somebody else.
func (h *hold) over(now time.Time, early time.Duration) bool {
	until := h.until.Add(-early)
	return !now.Before(until) || !now.Round(0).Before(until.Round(0))
}

// A renewer prolongs leases and returns the fences of those that are lost, as Ledger does.
type renewer interface {
	Renew(ctx context.Context, fences []Fence, ttl time.Duration) (lost []Fence, err error)
}

func newKeeper(l renewer, ttl time.Duration) *keeper {
	return &keeper{ledger: l, ttl: ttl, held: map[Fence]*hold{}}
}

// hold gives the context of a tick. The lease was asked for at the given instant.
func (k *keeper) hold(ctx context.Context, f Fence, asked time.Time) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[f] = &hold{end: end, until: asked.Add(k.ttl - k.ttl/10)}
	return ctx, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.held, f)
		end(nil)
	}
}

// run renews until the context ends, and looks at the clocks more often: after a suspend a lease can be over at once.
func (k *keeper) run(ctx context.Context) {
	for due := time.Now().Add(k.ttl / 3); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.ttl / 30):
		}
		k.endOver()
		if now := time.Now(); now.Before(due) && now.Round(0).Before(due.Round(0)) {
			continue
		}
		if k.renew(ctx) == nil {
			due = time.Now().Add(k.ttl / 3)
		}
	}
}

// endOver ends the ticks of leases that are out of time.
func (k *keeper) endOver() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f, h := range k.held {
		if h.over(time.Now(), 0) {
			h.end(ErrLeaseLost)
			delete(k.held, f)
		}
	}
}

// renew prolongs every lease, and ends the ticks of those that are lost or out of time.
func (k *keeper) renew(ctx context.Context) error {
	k.mu.Lock()
	fences := make([]Fence, 0, len(k.held))
	for f := range k.held {
		fences = append(fences, f)
	}
	k.mu.Unlock()
	if len(fences) == 0 {
		return nil
	}
	asked := time.Now()
	limit, cancel := context.WithTimeout(ctx, k.ttl/30)
	lost, err := k.ledger.Renew(limit, fences, k.ttl)
	cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range lost {
		if h := k.held[f]; h != nil {
			h.end(ErrLeaseLost)
			delete(k.held, f)
		}
	}
	for _, f := range fences {
		switch h := k.held[f]; {
		case h == nil: // ended meanwhile
		case err == nil:
			h.until = asked.Add(k.ttl - k.ttl/10)
		case h.over(time.Now(), k.ttl/30): // the next try could come too late
			h.end(ErrLeaseLost)
			delete(k.held, f)
		}
	}
	return err
}
