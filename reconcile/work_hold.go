package reconcile

import (
	"context"
	"errors"
	"time"
)

// HoldWork renews the live session of an item, which was asked for at the given instant, as leases of ticks are renewed: at
// a third of its time. The context that it gives ends when the session is lost or cannot be renewed in time, with
// ErrLeaseLost as the cause. The function that it gives stops the renewing.
func HoldWork(ctx context.Context, l WorkLedger, i Item, ttl time.Duration, asked time.Time) (context.Context, func()) {
	ctx, stop := context.WithCancel(ctx)
	k := newKeeper(workRenewer{l, i.ID}, ttl)
	held, leave := k.hold(ctx, i.Session.Fence, asked)
	go k.run(ctx)
	return held, func() {
		leave()
		stop()
	}
}

// A workRenewer renews the session of one item.
type workRenewer struct {
	ledger WorkLedger
	id     ItemID
}

// Renew is as Ledger says.
func (r workRenewer) Renew(ctx context.Context, fences []Fence, ttl time.Duration) (lost []Fence, err error) {
	for _, f := range fences {
		switch err := r.ledger.RenewWork(ctx, r.id, f, ttl); {
		case errors.Is(err, ErrLeaseLost):
			lost = append(lost, f)
		case err != nil:
			return nil, err
		}
	}
	return lost, nil
}
