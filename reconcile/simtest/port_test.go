package simtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"trueup/reconcile"
)

// Grant is called under a lock of the pool, so it takes no time; the process can freeze right after it, in its ticks.
func (p *process) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) (answers []reconcile.Answer, err error) {
	err = p.step(p.w.dice(p.name+" grant"), "grant", func() (err error) {
		answers, err = p.ledger.Grant(ctx, bids, ttl)
		for _, b := range bids {
			p.tries[b.Target]++
		}
		p.w.granted(p, answers)
		return err
	})
	return answers, err
}

// Settle takes no time, as Grant does not.
func (p *process) Settle(ctx context.Context, ends []reconcile.Settlement) (answers []error, err error) {
	ends = slices.Clone(ends)
	for i := range ends {
		if p.w.planted == coveredWhenFailed && ends[i].Report.State != "" {
			ends[i].Covered = true
		}
	}
	err = p.step(p.w.dice(p.name+" settle"), "settle", func() (err error) {
		answers, err = p.ledger.Settle(ctx, ends)
		p.w.gaveBack(p, ends, answers)
		return err
	})
	return answers, err
}

func (p *process) Renew(ctx context.Context, fences []reconcile.Fence, ttl time.Duration) (lost []reconcile.Fence, err error) {
	err = p.call(ctx, "renew", func() (err error) {
		lost, err = p.ledger.Renew(ctx, fences, ttl)
		p.w.renewed(p, fences, lost)
		return err
	})
	return lost, err
}

func (p *process) Check(ctx context.Context, f reconcile.Fence) error {
	return p.call(ctx, fmt.Sprint("look ", f), func() error {
		if p.w.planted == fenceNotChecked {
			return nil
		}
		err := p.ledger.Check(ctx, f)
		p.w.looked(f, err)
		return err
	})
}

func (p *process) Commit(ctx context.Context, b reconcile.Batch) error {
	switch family := ""; p.w.planted {
	case askedAfterwards:
		if len(b.Ask) > 0 {
			p.late = append(p.late, reconcile.Batch{Ask: b.Ask})
			b.Ask = nil
		}
	case markerNotWritten:
		family = "marker"
		fallthrough
	case holdNotKept:
		if family == "" {
			family = "held"
		}
		b.Records = slices.DeleteFunc(slices.Clone(b.Records), func(w reconcile.Write) bool { return w.Family == family })
	}
	return p.call(ctx, fmt.Sprint("commit ", b.Under), func() error {
		err := p.ledger.Commit(ctx, b)
		p.w.committed(b, err)
		return err
	})
}

func (p *process) Standings(ctx context.Context, epochs ...string) (all []reconcile.Standing, err error) {
	err = p.call(ctx, "standings", func() (err error) {
		all, err = p.ledger.Standings(ctx, epochs...)
		return err
	})
	if p.w.planted == handOverForgotten {
		if p.remembered == nil {
			p.remembered = all
		}
		return p.remembered, err
	}
	return all, err
}

func (p *process) Records(ctx context.Context, family, prefix string) (records []reconcile.Record, err error) {
	err = p.call(ctx, fmt.Sprint("records ", family, prefix), func() (err error) {
		records, err = p.ledger.Records(ctx, family, prefix)
		return err
	})
	return records, err
}

func (p *process) Work(ctx context.Context, o reconcile.WorkOrder) (item reconcile.Item, err error) {
	err = p.call(ctx, fmt.Sprint("work ", o.Do, " ", o.Item), func() (err error) {
		item, err = p.ledger.Work(ctx, o)
		p.w.worked(o, item, err)
		return err
	})
	return item, err
}
