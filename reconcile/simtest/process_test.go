package simtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// A process is one that ticks: its port to the store, and what can happen to it.
type process struct {
	*ledger
	w      *world
	name   string
	ctx    context.Context
	stop   context.CancelCauseFunc
	killed chan struct{}
	frozen time.Time // nothing of it goes on before
	tries  map[reconcile.Key]int

	remembered []reconcile.Standing // see handOverForgotten
	late       []reconcile.Batch    // see askedAfterwards
}

// notice is how long the threads of a process take at most, each its own time, to go on when it was frozen or told to stop.
const notice = 5 * time.Millisecond

// start begins a process that does something and ends.
func (w *world) start(what string, do func(p *process) error) *process {
	w.mu.Lock()
	w.started++
	p := &process{w: w, name: fmt.Sprintf("%d %s", w.started, what), killed: make(chan struct{}), tries: map[reconcile.Key]int{}}
	p.ledger = w.store.open(p.name)
	p.ctx, p.stop = context.WithCancelCause(context.Background())
	w.living = append(w.living, p)
	w.tellLocked("%s starts", p.name)
	w.mu.Unlock()
	w.running.Go(func() {
		err := do(p)
		for _, b := range p.late {
			_ = p.ledger.Commit(context.Background(), b)
		}
		p.end(err)
	})
	return p
}

// end is the end of a process that was not killed.
func (p *process) end(err error) {
	p.stop(nil)
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.session.over {
		return
	}
	p.w.tellLocked("%s ends: %v", p.name, err)
	p.w.gone(p)
	p.w.quiet(p)
}

// kill ends it at once: nothing that it does from now on has an effect.
func (p *process) kill() {
	p.w.tellLocked("%s is killed", p.name)
	p.w.gone(p)
	close(p.killed)
	p.stop(errKilled)
}

func (w *world) gone(p *process) {
	_ = p.Close()
	w.living = slices.DeleteFunc(w.living, func(other *process) bool { return other == p })
}

// reconciler is the real one, in this process.
func (p *process) reconciler() *reconcile.Reconciler {
	d := p.w.dice(p.name)
	r := &reconcile.Reconciler{Ledger: p, Targets: p.w.targets, TTL: ttl, Uptime: p.w.uptime, Parallel: 1 + d.IntN(4), Tickers: map[reconcile.Key]reconcile.Ticker{}}
	for _, t := range p.w.targets {
		r.Tickers[t.Key] = plan.New(kind{p}, kind{p}, plan.Options[seen]{Policy: policy.Source{File: string(t.Key)},
			Breaker: plan.DefaultBreaker(), Size: func(s seen) int { return len(s.there) }})
	}
	return r
}

// pause is the time that a call takes, and a freeze when it comes to that: as often as in this world, times a factor. No
// process sees its context while it is frozen.
func (p *process) pause(ctx context.Context, d *rand.Rand, freezes float64) error {
	long := 20 * time.Millisecond
	if hits(d, 0.03) {
		long = 5 * time.Second
	}
	select {
	case <-ctx.Done():
		<-time.After(within(d, notice))
		return context.Cause(ctx)
	case <-time.After(within(d, long)):
	}
	p.w.mu.Lock()
	if !p.w.calm && hits(d, freezes*p.w.stall) {
		until := time.Now().Add(within(d, 5*ttl/2))
		p.w.tellLocked("%s freezes until %.6f", p.name, until.Sub(p.w.begun).Seconds())
		p.frozen = until
	}
	for time.Now().Before(p.frozen) {
		rest := time.Until(p.frozen) + within(d, notice)
		p.w.mu.Unlock()
		<-time.After(rest)
		p.w.mu.Lock()
	}
	over := p.session.over
	p.w.mu.Unlock()
	if over {
		return errKilled
	}
	return context.Cause(ctx)
}

// call is a call of the store that takes time: it can fail before or after it took effect, and so can the process. A look
// at the lease is the last thing before a write, so its answer comes late only where the outside compares fences.
func (p *process) call(ctx context.Context, what string, do func() error) error {
	d := p.w.dice(p.name + " " + what)
	looks, freezes := strings.HasPrefix(what, "look"), 1.0
	if looks {
		freezes = 5 // where it hurts most
	}
	if err := p.pause(ctx, d, freezes); err != nil {
		if d.IntN(2) == 0 { // who asked has given up, and what was asked arrives
			_ = p.step(d, what+", given up", do)
		}
		return err
	}
	if err := p.step(d, what, do); err != nil {
		return err
	}
	if looks && !p.w.fenced {
		return nil
	}
	return p.pause(ctx, d, freezes)
}

// step is what a call comes to at the store.
func (p *process) step(d *rand.Rand, what string, do func() error) error {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.session.over {
		return errKilled
	}
	w.steps++
	fails := !w.calm && hits(d, w.sort.fault)
	if early := d.IntN(2) == 0; fails && early || !w.calm && time.Now().Before(w.dark) {
		w.tellLocked("%s: %s fails before it takes effect", p.name, what)
		return errStore
	}
	err := do()
	w.tellLocked("%s: %s: %v", p.name, what, err)
	if fails {
		w.tellLocked("%s: %s fails after it took effect", p.name, what)
		return errors.Join(errStore, err)
	}
	return err
}
