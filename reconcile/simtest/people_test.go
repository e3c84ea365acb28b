package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// asker is a web app: it commits, reads its ticket, touches, and does it again.
func (w *world) asker(name string) {
	for w.troubled() {
		d := w.dice(name)
		<-time.After(within(d, w.leisure))
		t := &ticket{writes: map[reconcile.Key]int{}}
		var keys []reconcile.Key
		first, many := d.IntN(len(w.targets)), 1+d.IntN(len(w.targets))
		w.mu.Lock()
		for i := range many {
			key := w.targets[(first+i)%len(w.targets)].Key
			o := w.outside[key]
			o.version++
			t.writes[key] = o.version
			keys = append(keys, key)
			switch d.IntN(6) {
			case 0, 1:
				o.want()
			case 2:
				if w.people {
					delete(o.wanted, fmt.Sprintf("m%03d", 1+d.IntN(o.names+1)))
				}
			}
		}
		w.tellLocked("%s commits %v", name, t.writes)
		w.mu.Unlock()
		<-time.After(within(d, 3*time.Second))
		w.mu.Lock()
		t.epoch, t.n = w.trigger.shown.epoch, w.trigger.shown.claims
		w.trigger.tickets = append(w.trigger.tickets, t)
		w.tellLocked("%s has ticket %s:%d", name, t.epoch, t.n)
		w.mu.Unlock()
		<-time.After(within(d, 3*time.Second))
		if d.IntN(3) == 0 {
			keys = nil // for everything
		}
		w.trigger.touch(t, keys...)
	}
}

// worker is somebody who works on an item, again and again, and does not always end it: a later visit does, or the last.
func (w *world) worker(name string) {
	id := reconcile.ItemID(name)
	for visit := 0; w.troubled(); visit++ {
		d := w.dice(name)
		<-time.After(within(d, 3*ttl))
		w.start(name, func(p *process) error {
			return p.visit(id, d)
		})
	}
}

// visit begins work on an item, or decides on one that stands.
func (p *process) visit(id reconcile.ItemID, d *rand.Rand) error {
	item, err := p.Item(p.ctx, id)
	order := reconcile.WorkOrder{Item: id, By: p.name, For: ttl}
	switch {
	case err != nil || item.State == reconcile.WorkDone:
		order.Do, order.Scopes = reconcile.WorkStarted, []reconcile.Scope{reconcile.Scope(fmt.Sprint("shared/", d.IntN(3)))}
		if d.IntN(3) == 0 {
			order.Scopes = append(order.Scopes, reconcile.Scope(p.w.targets[0].Key))
		}
	case item.NeedsPerson() && d.IntN(2) == 0:
		order.Do = reconcile.WorkUnblocked
	case item.NeedsPerson():
		order.Do = reconcile.WorkEnded
	default:
		return nil
	}
	item, err = p.Work(p.ctx, order)
	for err == nil && item.State == reconcile.InProgress {
		select {
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		case <-time.After(within(d, 5*ttl/4)):
		}
		order = reconcile.WorkOrder{Item: id, By: p.name, For: ttl, Fence: item.Session.Fence}
		order.Do = []reconcile.WorkFactType{reconcile.WorkCheckpointed, reconcile.WorkBlocked, reconcile.WorkReviewed, reconcile.WorkEnded}[d.IntN(4)]
		item, err = p.Work(p.ctx, order)
	}
	return err
}

// endWork is the last visit: it ends what is not done.
func (w *world) endWork() {
	p := w.start("the last visit", func(p *process) error {
		open, err := p.Items(p.ctx)
		for _, item := range open {
			order := reconcile.WorkOrder{Item: item.ID, Do: reconcile.WorkEnded, By: p.name}
			if item.State == reconcile.InProgress {
				order.Fence = item.Session.Fence
			}
			_, err = p.Work(p.ctx, order)
		}
		return err
	})
	<-p.ctx.Done()
}

// approver judges what waits, until the end.
func (w *world) approver(ctx context.Context) {
	for {
		d := w.dice("approver")
		select {
		case <-ctx.Done():
			return
		case <-time.After(within(d, 3*ttl)):
		}
		w.start("approver", func(p *process) error {
			all, err := p.Standings(p.ctx)
			for _, s := range all {
				if s.Report.State != reconcile.Held {
					continue
				}
				if d.IntN(5) == 0 {
					_, err = plan.Reject(p.ctx, p, s.Report.Run, "grace", "")
				} else {
					_, err = plan.Approve(p.ctx, p, plan.Allowance{Run: s.Report.Run, By: "grace", For: time.Hour})
				}
			}
			return err
		})
	}
}
