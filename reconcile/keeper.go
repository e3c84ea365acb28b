package reconcile

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A keeper renews the leases of this process at a third of their time, and ends a tick when its lease is lost or could not be
// renewed: a tenth of its time before it would lapse. By then nothing of the tick may go on, not even what takes its time to
// end because it was told to: a tick that is told to stop is given its lease for as long as it takes, and no longer.
type keeper struct {
	ledger renewer
	ttl    time.Duration
	uptime Uptime

	mu   sync.Mutex
	held map[Fence]*hold
}

type hold struct {
	end   context.CancelCauseFunc // of the tick's context and of its grace
	until moment                  // on this process's clocks, never later than the store's
}

type graceKey struct{}

// Grace is how long what is under way may still take to end once ctx has: its context ends when nothing may go on at all.
// That is when the lease is lost under which it goes on, or when the process was told again to stop.
func Grace(ctx context.Context) context.Context {
	if grace, ok := ctx.Value(graceKey{}).(context.Context); ok {
		return grace
	}
	return context.Background()
}

// WithGrace is a context whose Grace is the given one.
func WithGrace(ctx, grace context.Context) context.Context {
	return context.WithValue(ctx, graceKey{}, grace)
}

// Uptime is the time since the boot, suspends included: CLOCK_BOOTTIME, which nobody can set.
type Uptime func() time.Duration

// A moment is an instant on every clock of this process: the wall clock, by which a store goes, and which somebody may set;
// Go's own, which stops in a suspend; and the time since the boot, which does neither.
type moment struct {
	wall time.Time
	own  time.Time
	up   time.Duration // zero where it is not known
}

func (u Uptime) now() moment {
	at := time.Now()
	m := moment{wall: at.Round(0), own: at}
	if u != nil {
		m.up = u()
	}
	return m
}

func (m moment) add(d time.Duration) moment {
	return moment{m.wall.Add(d), m.own.Add(d), m.up + d}
}

// reached tells whether it has come by any clock. By then the store may have given the scopes to somebody else.
func (m moment) reached(now moment) bool {
	return !now.wall.Before(m.wall) || !now.own.Before(m.own) || now.up >= m.up
}

// A renewer prolongs leases and returns the fences of those that are lost, as Ledger does.
type renewer interface {
	Renew(ctx context.Context, fences []Fence, ttl time.Duration) (lost []Fence, err error)
}

func newKeeper(l renewer, ttl time.Duration, uptime Uptime) *keeper {
	return &keeper{ledger: l, ttl: ttl, uptime: uptime, held: map[Fence]*hold{}}
}

// hold gives the context of a tick, until it leaves. The lease was asked for at the given moment.
func (k *keeper) hold(ctx context.Context, f Fence, asked moment) context.Context {
	grace, over := context.WithCancelCause(Grace(ctx))
	ctx, end := context.WithCancelCause(WithGrace(ctx, grace))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[f] = &hold{until: asked.add(k.ttl - k.ttl/10), end: func(why error) {
		over(why)
		end(why)
	}}
	return ctx
}

// leave stops the renewing of a lease.
func (k *keeper) leave(f Fence) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.endLocked(f, nil)
}

// endLocked ends what goes on under a lease, and its renewing.
func (k *keeper) endLocked(f Fence, why error) {
	if h := k.held[f]; h != nil {
		h.end(why)
		delete(k.held, f)
	}
}

// glance is how often the clocks are looked at, at least: a suspend can end a lease at once, and Go's timers sleep as well.
const glance = time.Second

// run renews until the context ends, and looks at the clocks beside that and more often: a renewal may hang. The context is
// not that which tells the ticks to stop, since those that take their time keep their leases.
func (k *keeper) run(ctx context.Context) {
	often := min(glance, k.ttl/30)
	go every(ctx, often, often/2, k.endOver)
	due := k.uptime.now().add(k.ttl / 3)
	every(ctx, often, often, func() {
		k.endOver() // what is over is not renewed
		if due.reached(k.uptime.now()) && k.renew(ctx) == nil {
			due = k.uptime.now().add(k.ttl / 3)
		}
	})
}

// every does something again and again.
func every(ctx context.Context, often, first time.Duration, do func()) {
	for next := time.After(first); ; next = time.After(often) {
		select {
		case <-ctx.Done():
			return
		case <-next:
			do()
		}
	}
}

// over tells whether a hold is out of time, and ends it then: the last look before a write does not wait for the next glance.
func (k *keeper) over(f Fence) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[f]
	if h == nil || !h.until.reached(k.uptime.now()) {
		return false // one that has been ended is told by its context
	}
	k.endLocked(f, ErrLeaseLost)
	return true
}

// endOver ends the ticks of leases that are out of time.
func (k *keeper) endOver() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f, h := range k.held {
		if h.until.reached(k.uptime.now()) {
			k.endLocked(f, ErrLeaseLost)
		}
	}
}

// renew prolongs every lease, and ends the ticks of those that are lost or out of time.
func (k *keeper) renew(ctx context.Context) error {
	k.mu.Lock()
	fences := slices.Collect(maps.Keys(k.held))
	k.mu.Unlock()
	if len(fences) == 0 {
		return nil
	}
	asked := k.uptime.now()
	limit, cancel := context.WithTimeout(ctx, k.ttl/30)
	lost, err := k.ledger.Renew(limit, fences, k.ttl)
	cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range lost {
		k.endLocked(f, ErrLeaseLost)
	}
	for _, f := range fences {
		switch h := k.held[f]; {
		case h == nil: // ended meanwhile
		case err == nil:
			h.until = asked.add(k.ttl - k.ttl/10)
		case h.until.add(-k.ttl / 30).reached(k.uptime.now()): // the next try could come too late
			k.endLocked(f, ErrLeaseLost)
		}
	}
	return err
}
