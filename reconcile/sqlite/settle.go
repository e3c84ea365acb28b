package sqlite

import (
	"context"
	"fmt"

	"trueup/reconcile"
)

// Settle is as reconcile.Ledger says.
func (s *Store) Settle(ctx context.Context, ends []reconcile.Settlement) (answers []error, err error) {
	if len(ends) == 0 {
		return nil, nil
	}
	err = s.write(ctx, "settling ticks", func(t *tx) error {
		answers, err = t.settle(ends)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (t *tx) settle(ends []reconcile.Settlement) ([]error, error) {
	held, err := t.heldBy(ends)
	if err != nil {
		return nil, err
	}
	targets := make([]reconcile.Key, len(ends))
	for i, e := range ends {
		targets[i] = e.Lease.Target
	}
	known, err := t.standings(targets)
	if err != nil {
		return nil, err
	}
	answers := make([]error, len(ends))
	var back []reconcile.Fence
	var notify []reconcile.Ask
	var tally []tallied
	for i, e := range ends {
		if answers[i], err = t.close(e, held); err != nil {
			return nil, err
		}
		if answers[i] != nil {
			continue
		}
		delete(held, e.Lease.Fence)
		back = append(back, e.Lease.Fence)
		if e.Report.State != "" {
			s := known[e.Lease.Target].settled(e, t.now)
			known[e.Lease.Target] = s
			if err := t.put(s); err != nil {
				return nil, err
			}
			tally = append(tally, tallied{e.Lease.Target, e.Lease.Fence, e.Report.State, e.Covered, e.Report.State == reconcile.Held})
		}
		notify = append(notify, reconcile.Ask{Targets: e.Report.Notify, Reason: "notified by " + string(e.Lease.Target)})
	}
	if err := t.tallyTicks(tally); err != nil {
		return nil, err
	}
	for _, a := range notify { // after the standings, which would overwrite what is asked
		if err := t.ask(a); err != nil {
			return nil, err
		}
	}
	_, err = t.exec("DELETE FROM leases WHERE fence IN (SELECT value FROM json_each(?))", list(back))
	return answers, err
}

// An open lease is one that can be settled, with the number of its run's last event.
type open struct {
	reconcile.Lease
	last int
}

// heldBy finds the live leases among those to be settled.
func (t *tx) heldBy(ends []reconcile.Settlement) (map[reconcile.Fence]open, error) {
	fences := make([]reconcile.Fence, len(ends))
	for i, e := range ends {
		fences[i] = e.Lease.Fence
	}
	held := make(map[reconcile.Fence]open, len(ends))
	err := t.each(`SELECT fence, run, target, (SELECT coalesce(max(seq), 0) FROM events WHERE events.run = leases.run)
		FROM leases WHERE fence IN (SELECT value FROM json_each(?))`, func(scan scanner) error {
		var o open
		err := scan(&o.Fence, &o.Run, &o.Target, &o.last)
		held[o.Fence] = o
		return err
	}, list(fences))
	return held, err
}

// close writes what a tick's end adds to its run and records. A refusal is this tick's alone and leaves nothing behind.
func (t *tx) close(e reconcile.Settlement, held map[reconcile.Fence]open) (refused, err error) {
	o := held[e.Lease.Fence]
	switch refused := e.Fits(o.Lease, o.last); {
	case refused != nil:
		return refused, nil
	case len(e.Facts)+len(e.Records)+len(e.Logs) == 0:
		return nil, nil
	}
	refused, err = t.attempt(func() error {
		if len(e.Facts) > 0 {
			if err := t.append(&o.Lease, reconcile.Append{Run: o.Run, Expected: e.Expected, Facts: e.Facts}); err != nil {
				return err
			}
		}
		for _, w := range e.Records {
			if err := t.record(w); err != nil {
				return err
			}
		}
		return t.logs(e.Logs)
	})
	if refused != nil {
		refused = fmt.Errorf("settling %s: %w", o.Target, refused)
	}
	return refused, err
}
