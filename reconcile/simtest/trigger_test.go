package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"trueup/reconcile"
)

// A trigger is what package trigger does, step by step: spool, state and outbox, each step at an instant of its own.
type trigger struct {
	*world
	touched chan struct{}

	sentinel bool
	names    map[reconcile.Key]bool

	epoch   string
	n       uint64
	claim   *claim
	covered uint64
	epochs  int

	shown   status
	tickets []*ticket
}

// A claim is one activation's.
type claim struct {
	epoch      string
	n          uint64
	attempt    int
	all        bool
	names      map[reconcile.Key]bool
	fresh      reconcile.Wanted
	claimed    time.Time
	lag        uint64 // how far the sweep said that tickets are covered
	toldItsLag bool
	seen       map[reconcile.Key]bool // names that were read
}

func newTrigger(w *world) *trigger {
	return &trigger{world: w, touched: make(chan struct{}, 1), names: map[reconcile.Key]bool{}, epoch: "e0", shown: status{epoch: "e0"}}
}

// touch asks with a ticket for targets, or for everything.
func (t *trigger) touch(k *ticket, keys ...reconcile.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k.touched = true
	t.sentinel = t.sentinel || len(keys) == 0
	for _, key := range keys {
		t.names[key] = true
	}
	select {
	case t.touched <- struct{}{}:
	default:
	}
}

func (t *trigger) idle() bool { return t.claim == nil && !t.sentinel && len(t.names) == 0 }

// lose is the end of the state folder: numbers begin anew.
func (t *trigger) lose() {
	if t.timer { // which is what then asks for everything
		t.epochs++
		t.epoch, t.n, t.claim, t.covered = fmt.Sprint("e", t.epochs), 0, nil, 0
		t.tellLocked("the trigger's state is lost, the new epoch is %s", t.epoch)
	}
}

func (t *trigger) run(ctx context.Context) {
	for t.await(ctx) {
		c := t.take()
		if t.dies("recorded") {
			continue
		}
		t.unlink(c)
		if t.dies("unlinked") {
			continue
		}
		t.show(c)
		if t.dies("published") || !t.sweep(c) || t.dies("swept") {
			continue
		}
		t.settle(c)
	}
}

// await waits for a touch, the timer or a backoff, and then for the floor.
func (t *trigger) await(ctx context.Context) bool {
	d := t.dice("trigger")
	t.mu.Lock()
	idle, wait := t.idle(), time.Second
	if t.claim != nil {
		wait = min(time.Second<<t.claim.attempt, interval)
	}
	t.mu.Unlock()
	if idle {
		timer := make(<-chan time.Time)
		if t.timer {
			timer = time.After(interval)
		}
		select {
		case <-ctx.Done():
			return false
		case <-t.touched:
		case <-timer:
		}
	}
	<-time.After(wait + within(d, time.Second))
	return ctx.Err() == nil
}

// dies tells whether the service is killed between two steps. A step later is an instant later.
func (t *trigger) dies(after string) bool {
	d := t.dice("trigger " + after)
	long := 50 * time.Millisecond
	if hits(d, 0.3) {
		long = 10 * time.Second // a disk that is busy
	}
	<-time.After(within(d, long))
	t.mu.Lock()
	defer t.mu.Unlock()
	dies := t.blows && !t.calm && hits(d, 0.06)
	if dies {
		t.tellLocked("the service dies when it has %s", after)
	}
	return dies
}

// take records the claim for what is asked for and what is still owed.
func (t *trigger) take() *claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgetTouches() // what they left is read now
	owed := t.claim
	c := &claim{epoch: t.epoch, n: t.n + 1, attempt: 1, claimed: time.Now(), names: maps.Clone(t.names), seen: maps.Clone(t.names)}
	c.all = t.sentinel || t.timer && t.n%4 == 0 // a full sweep is due now and then
	c.fresh = reconcile.Wanted{All: c.all, Keys: keysOf(c.names)}
	if owed != nil {
		c.attempt = owed.attempt + 1
		c.all = c.all || owed.all
		maps.Copy(c.names, owed.names)
	}
	c.all = c.all || len(c.names) == 0
	if c.all && (owed == nil || !owed.all) {
		c.fresh = reconcile.Wanted{All: true}
	}
	t.n, t.claim = c.n, c
	t.tellLocked("claim %s:%d, attempt %d, all %t, %v, fresh %v", c.epoch, c.n, c.attempt, c.all, keysOf(c.names), c.fresh)
	return c
}

func keysOf(names map[reconcile.Key]bool) []reconcile.Key { return slices.Sorted(maps.Keys(names)) }

// unlink takes what this attempt takes up: the sentinel with everything, else names that were read.
func (t *trigger) unlink(c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.fresh.All || c.all && t.planted == lateTouchTaken {
		t.sentinel = false
	}
	for name := range c.seen {
		delete(t.names, name)
	}
	if !t.sentinel && len(t.names) == 0 { // the spool is empty, and that is all that counts
		t.forgetTouches()
	}
}

func (t *trigger) forgetTouches() {
	select {
	case <-t.touched:
	default:
	}
}

// sweep is the service's run. It tells whether it was a success.
func (t *trigger) sweep(c *claim) bool {
	success := false
	done := make(chan struct{})
	p := t.start(fmt.Sprint("sweep of claim ", c.n), func(p *process) error {
		defer close(done)
		order := t.order(c)
		outcome, err := p.reconciler().Sweep(p.ctx, order)
		c.lag, c.toldItsLag = outcome.Covered, order.Claim != nil
		err = errors.Join(err, t.showTargets(p))
		success = err == nil && len(outcome.Failed()) == 0
		return err
	})
	select {
	case <-done:
		return success
	case <-p.killed:
		return false
	}
}

func (t *trigger) order(c *claim) reconcile.Order {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := reconcile.Order{Owing: reconcile.Wanted{All: c.all, Keys: keysOf(c.names)}, Fresh: c.fresh}
	if t.published(c) {
		o.Claim = &reconcile.Claim{Epoch: c.epoch, N: c.n, Claimed: c.claimed}
	} else {
		o.Fresh = o.Owing
	}
	switch {
	case t.planted == freshForgotten && c.attempt > 1:
		o.Fresh = reconcile.Wanted{}
	case t.planted == owedForgotten && c.attempt > 1:
		o.Owing = o.Fresh
	}
	return o
}

func (t *trigger) showTargets(p *process) error {
	all, err := p.Standings(p.ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.session.over {
		return errKilled
	}
	targets := map[reconcile.Key]uint64{}
	for _, s := range all {
		if settled, is := s.SettledOf(t.shown.epoch); is {
			targets[s.Target] = min(settled.N, t.shown.claims)
		}
	}
	t.publish(status{t.shown.epoch, t.shown.claims, t.shown.settled, targets})
	return nil
}

// settle ends the claim, unless the state was lost meanwhile.
func (t *trigger) settle(c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.claim != c {
		return
	}
	if c.all && t.published(c) {
		covered := c.n
		if c.toldItsLag && t.planted != lagForgotten {
			covered = min(covered, c.lag)
		}
		t.covered = max(t.covered, min(covered, t.shown.claims))
	}
	t.claim = nil
	t.publish(status{c.epoch, c.n, t.covered, t.kept(c.epoch)})
	if t.sort.name == "lonely" && t.idle() {
		t.judge(allCovered, t.undone())
	}
}
