package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Settle is as reconcile.Ledger says.
func (s *Store) Settle(ctx context.Context, ends []reconcile.Settlement) (answers []error, err error) {
	if len(ends) == 0 {
		return nil, nil
	}
	g := settling{ends: ends}
	if err := s.look(ctx, "settling ticks: reading what is known of their targets", g.learn); err != nil {
		if ctx.Err() == nil {
			err = unwritable(err)
		}
		return nil, err
	}
	notifies := slices.ContainsFunc(ends, func(e reconcile.Settlement) bool { return len(e.Report.Notify) > 0 })
	err = s.write(ctx, "settling ticks", deed{draws: notifies, read: g.read, decide: func(t *tx) error {
		answers = t.settle(&g)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// A settling is what ticks are settled on.
type settling struct {
	ends  []reconcile.Settlement
	live  live
	runs  heads
	cas   revisions
	known standings
}

// learn reads standings before anything is locked: while the lease is live it stays with what they say.
func (g *settling) learn(b *pgx.Batch) {
	var targets []reconcile.Key
	for _, e := range g.ends {
		targets = append(targets, e.Lease.Target)
	}
	g.known.read(b, targets)
}

func (g *settling) read(b *pgx.Batch) {
	var fences []reconcile.Fence
	var runs []reconcile.RunID
	var records []reconcile.Write
	for _, e := range g.ends {
		fences, runs = append(fences, e.Lease.Fence), append(runs, e.Lease.Run)
		records = append(records, e.Records...)
	}
	g.live.read(b, fences)
	g.runs.read(b, runs)
	g.cas.read(b, records)
}

func (t *tx) settle(g *settling) []error {
	answers := make([]error, len(g.ends))
	var w writes
	var back []reconcile.Fence
	var notify []reconcile.Ask
	for i, e := range g.ends {
		if answers[i] = t.close(&w, e, g); answers[i] != nil {
			continue
		}
		delete(g.live, e.Lease.Fence)
		back = append(back, e.Lease.Fence)
		if e.Report.State != "" {
			w.stand(g.known.of(e.Lease.Target).Ended(e, t.now), e.Covered)
			w.tally = append(w.tally, tallied{e.Lease.Target, e.Lease.Fence, e.Report.State, e.Covered, e.Report.State == reconcile.Held})
		}
		if len(e.Report.Notify) > 0 {
			notify = append(notify, reconcile.Ask{Targets: e.Report.Notify, Reason: "notified by " + string(e.Lease.Target)})
		}
	}
	t.put(&w)
	t.ask(notify...) // after the tallies of the ticks that have ended
	t.putLogs(w.logs)
	if len(back) > 0 {
		t.Queue("DELETE FROM leases WHERE fence = ANY($1::bigint[])", numbers(back))
	}
	return answers
}

// close notes what a tick's end adds to its run and records. A refusal is this tick's alone and leaves nothing behind.
func (t *tx) close(w *writes, e reconcile.Settlement, g *settling) error {
	l := g.live[e.Lease.Fence]
	if err := e.Fits(l, g.runs.of(e.Lease.Run).last); err != nil {
		return err
	}
	swaps, err := g.cas.swap(e.Records)
	if err == nil {
		err = w.append(t.now, l, l.Run, e.Expected, e.Facts)
	}
	if err != nil {
		return fmt.Errorf("settling %s: %w", l.Target, err)
	}
	t.record(swaps)
	w.log(e.Logs)
	return nil
}

// Live are the live leases among some.
type live map[reconcile.Fence]reconcile.Lease

// read locks them, so that nobody ends them meanwhile.
func (l *live) read(b *pgx.Batch, fences []reconcile.Fence) {
	*l = live{}
	reading(b, `SELECT fence, run, target FROM leases WHERE fence = ANY($1::bigint[]) AND until > (SELECT ledger_clock()) ORDER BY fence FOR UPDATE`,
		func(scan scanner) error {
			var lease reconcile.Lease
			err := scan(&lease.Fence, &lease.Run, &lease.Target)
			(*l)[lease.Fence] = lease
			return err
		}, numbers(fences))
}
