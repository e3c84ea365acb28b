package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Grants and settlements are batched, so that a sweep of quick ticks is a few transactions. Slow ticks are leased one by
// one, just before their turn: a lease that waits for a worker is a scope that nobody can use.
const (
	most      = 256                   // leases or settlements in one transaction
	ahead     = time.Second           // leases are taken for as many ticks as are done in it: half of it when others sweep too
	mostTries = 5                     // of a target in one sweep
	delay     = 50 * time.Millisecond // how long an ended tick waits for others to be settled with
)

// A pool ticks targets with a few workers.
type pool struct {
	*Reconciler
	ctx    context.Context
	epoch  string // of the order's claim
	keeper *keeper

	mu       sync.Mutex
	changed  *sync.Cond
	queue    []Target
	ready    []*lot
	busy     map[RunID]bool     // leases of ours that are not given back yet
	blocked  map[RunID][]Target // waiting for a lease of ours
	back     map[Scope]bool     // what leases of ours covered that are given back
	ended    []Settlement
	flusher  *time.Timer
	pace     pace
	crowd    crowd
	tried    map[Key]Fence     // what was asked of a target when it was tried
	tries    map[Key]int       // how often it was
	standing map[Key]*Standing // what was known when it was last read
	done     int
	total    int
	err      error

	reports map[Key]Report
	refused map[Key]refusal
}

// A lot is a lease that waits for a worker.
type lot struct {
	run *Run
	ctx context.Context
}

func newPool(ctx context.Context, r *Reconciler) *pool {
	p := &pool{Reconciler: r, ctx: ctx, keeper: newKeeper(r.Ledger, r.TTL, r.Uptime), pace: pace{batch: max(1, r.Parallel)},
		busy: map[RunID]bool{}, blocked: map[RunID][]Target{}, back: map[Scope]bool{}, tried: map[Key]Fence{}, tries: map[Key]int{},
		reports: map[Key]Report{}, refused: map[Key]refusal{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// attend ticks what is due until nothing is: whoever gives leases back looks for targets that were asked for while it
// held them. A target is tried once for each ask, and a few times at most: who asks without end, such as targets that
// notify each other, is heard by the next sweep.
func (p *pool) attend(due func(map[Key]*Standing) []Target) error {
	ctx, stop := context.WithCancel(context.WithoutCancel(p.ctx)) // who is told to stop keeps its leases until it has settled
	defer stop()
	go p.keeper.run(ctx)
	defer context.AfterFunc(p.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})()
	for p.err == nil && p.ctx.Err() == nil {
		p.standing = nil // of thousands of targets there is no room for two
		standings, err := p.standings(p.ctx, p.epoch)
		if err != nil {
			return err
		}
		p.standing = standings
		for _, t := range due(standings) {
			asked := standings[t.Key].Asked
			if before, again := p.tried[t.Key]; (!again || asked > before) && p.tries[t.Key] < mostTries {
				p.tried[t.Key] = asked
				p.tries[t.Key]++
				p.queue = append(p.queue, t)
			}
		}
		if len(p.queue) == 0 {
			return nil
		}
		p.total += len(p.queue)
		p.work()
	}
	if p.err == nil {
		p.err = context.Cause(p.ctx)
	}
	return p.err
}

// work empties the queue.
func (p *pool) work() {
	var workers sync.WaitGroup
	for range max(1, p.Parallel) {
		workers.Go(func() {
			for l := p.next(); l != nil; l = p.next() {
				key := l.run.Target.Key
				p.progress(key, "")
				p.settle(p.tick(WithWaits(l.ctx, func(what string) { p.progress(key, what) }), l.run))
			}
		})
	}
	workers.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.ready { // told to stop before their turn
		p.ended = append(p.ended, Settlement{Lease: l.run.Lease})
	}
	p.ready = nil
	p.flush()
}

// next is the next lease for a worker; nil when there is and will be none.
func (p *pool) next() *lot {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil && p.ctx.Err() == nil {
		switch {
		case len(p.ready) > 0:
			l := p.ready[0]
			p.ready = p.ready[1:]
			return l
		case p.crowd.looks:
			p.changed.Wait()
		case len(p.queue) > 0 && p.crowd.lost >= max(1, p.Parallel, len(p.queue)/32): // which costs as much as to look
			p.look()
		case len(p.queue) > 0:
			p.grant()
		case len(p.blocked) > 0 && len(p.busy) > 0:
			p.changed.Wait()
		default:
			return nil
		}
	}
	p.changed.Broadcast()
	return nil
}

// grant leases the next batch of the queue, unless the host is to take nothing more.
func (p *pool) grant() {
	if takes, err := p.takes(p.ctx); err != nil || !takes {
		p.queue, p.err = nil, err
		return
	}
	n := min(p.pace.next(max(1, p.Parallel), p.crowd.met), len(p.queue))
	targets := p.queue[:n]
	p.queue = p.queue[n:]
	bids := make([]Bid, n)
	for i, t := range targets {
		known := p.standing[t.Key]
		bids[i] = Bid{Target: t.Key, Scopes: t.Holds(), Reason: cmp.Or(known.Reason, "what is wanted of it has changed"), Asked: known.AskedAt}
	}
	asked := p.Uptime.now()
	answers, err := p.Ledger.Grant(p.ctx, bids, p.TTL)
	if err != nil {
		p.err = fmt.Errorf("acquiring leases: %w", err)
		return
	}
	lost := 0
	for i, a := range answers {
		if !p.place(targets[i], a, asked) {
			lost++
		}
	}
	p.avoid(lost, n)
}

// place puts a target where it now belongs: with the workers, behind a lease of ours, left owed to somebody else, or with what
// somebody else has done since it was found due. In the last two cases the bid was lost to others.
func (p *pool) place(t Target, a Answer, asked moment) (ours bool) {
	if a.Refused == nil {
		p.busy[a.Lease.Run] = true
		delete(p.refused, t.Key)
		if t.done(a.Standing) {
			p.count(t.Key, a.Standing.Report)
			p.end(Settlement{Lease: a.Lease})
			return false
		}
		run := &Run{Target: t, Standing: a.Standing, Lease: a.Lease, ledger: p.Ledger, keeper: p.keeper}
		p.ready = append(p.ready, &lot{run, p.keeper.hold(p.ctx, a.Lease.Fence, asked)})
		return true
	}
	by, reserved := a.Refused.(*ReservedError)
	if reserved && p.busy[by.Run] {
		p.blocked[by.Run] = append(p.blocked[by.Run], t)
		return true
	}
	p.refuse(t, a.Refused)
	return !reserved || by.Run == "" // a person's reservation is not another sweep
}

// settle puts an ended tick with those that are settled together soon.
func (p *pool) settle(s Settlement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.ended++
	p.end(s)
}

func (p *pool) end(s Settlement) {
	p.ended = append(p.ended, s)
	switch {
	case len(p.ended) >= most:
		p.flush()
	case p.flusher == nil:
		p.flusher = time.AfterFunc(delay, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.flush()
		})
	}
}

// flush settles what has ended. It still does when the process was told to stop.
func (p *pool) flush() {
	if p.flusher != nil {
		p.flusher.Stop()
		p.flusher = nil
	}
	ends := p.ended
	p.ended = nil
	if len(ends) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), closing)
	defer cancel()
	answers, err := p.Ledger.Settle(ctx, ends)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("settling ticks: %w", err)
	}
	for i, end := range ends {
		report := end.Report
		if err == nil && answers[i] != nil {
			report = Report{State: Failing, Note: "its outcome could not be recorded: " + answers[i].Error(), Run: end.Lease.Run}
		}
		if report.State != "" {
			p.count(end.Lease.Target, report)
		}
		p.keeper.leave(end.Lease.Fence)
		delete(p.busy, end.Lease.Run)
		p.queue = append(p.queue, p.blocked[end.Lease.Run]...)
		delete(p.blocked, end.Lease.Run)
		p.again(end.Lease)
	}
	p.changed.Broadcast()
}

func (p *pool) count(key Key, report Report) {
	p.reports[key] = report
	p.done++
	if p.Progress != nil {
		p.Progress(Progress{Target: key, Report: &report, Done: p.done, Total: p.total})
	}
}

func (p *pool) progress(key Key, waits string) {
	if p.Progress == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Progress(Progress{Target: key, Waits: waits, Done: p.done, Total: p.total})
}
