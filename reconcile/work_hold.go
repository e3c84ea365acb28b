package reconcile

import (
	"context"
	"errors"
	"time"
)

// A LiveWork is a live session that this process renews, as leases of ticks are renewed: at a third of its time.
type LiveWork struct {
	Item Item
	// Ctx ends when the session is lost or cannot be renewed in time, with ErrLeaseLost as the cause. When it ends because
	// the program was told to stop, the session is still renewed: until its Grace ends.
	Ctx context.Context
	// Leave stops the renewing.
	Leave func()
}

// HoldWork does an order that begins a session with an end, and renews the session. Its errors are those of the order. The
// uptime is the host's, by which the session ends too; nil where it is not known.
func HoldWork(ctx context.Context, l WorkLedger, o WorkOrder, uptime Uptime) (LiveWork, error) {
	asked := uptime.now()
	item, err := l.Work(ctx, o)
	if err != nil {
		return LiveWork{}, err
	}
	k := newKeeper(workRenewer{l, item.ID}, o.For, uptime)
	held := k.hold(ctx, item.Session.Fence, asked)
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	go k.run(ctx)
	return LiveWork{item, held, func() {
		k.leave(item.Session.Fence)
		stop()
	}}, nil
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
