package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Commit is as reconcile.Ledger says.
func (s *Store) Commit(ctx context.Context, b reconcile.Batch) error {
	c := committing{batch: b}
	draws := len(b.Ask)+len(b.Forget)+len(b.Gone) > 0
	return s.write(ctx, "writing to the ledger", deed{draws: draws, read: c.read, decide: func(t *tx) error { return t.batch(&c) }})
}

// A committing is what a batch is written on.
type committing struct {
	batch reconcile.Batch
	live  live
	runs  heads
	cas   revisions
}

func (c *committing) read(b *pgx.Batch) {
	if c.batch.Under != 0 {
		c.live.read(b, []reconcile.Fence{c.batch.Under})
	}
	if len(c.batch.Append) > 0 {
		runs := make([]reconcile.RunID, len(c.batch.Append))
		for i, a := range c.batch.Append {
			runs[i] = a.Run
		}
		c.runs.read(b, runs)
	}
	c.cas.read(b, c.batch.Records)
}

func (t *tx) batch(c *committing) error {
	under, is := c.live[c.batch.Under]
	if c.batch.Under != 0 && !is {
		return fmt.Errorf("fence %d: %w", c.batch.Under, reconcile.ErrLeaseLost)
	}
	var w writes
	for _, a := range c.batch.Append {
		if err := t.append(&w, under, a, c); err != nil {
			return err
		}
	}
	swaps, err := c.cas.swap(c.batch.Records)
	if err != nil {
		return err
	}
	t.record(swaps)
	w.log(c.batch.Logs)
	if len(c.batch.Gone)+len(c.batch.Forget) > 0 {
		t.lock(c.batch.Ask, c.batch.Forget, c.batch.Gone)
	}
	t.gone(c.batch.Gone)
	t.ask(c.batch.Ask...)
	t.tell(c.batch.Ask)
	t.tallyStrange(c.batch.Strange)
	t.forget(c.batch.Forget)
	t.put(&w)
	t.putLogs(w.logs)
	return nil
}

// append adds facts to a run: that of the lease, or a closed one that nobody holds.
func (t *tx) append(w *writes, under reconcile.Lease, a reconcile.Append, c *committing) error {
	at := c.runs.of(a.Run)
	switch {
	case under.Run == a.Run && under.Fence != 0:
	case at.last == 0:
		return fmt.Errorf("run %s: %w", a.Run, reconcile.ErrNoRun)
	case !at.closed:
		return fmt.Errorf("run %s is open, and not of this lease: %w", a.Run, reconcile.ErrLeaseLost)
	}
	if at.last != a.Expected {
		return fmt.Errorf("run %s has %d events and not %d: %w", a.Run, at.last, a.Expected, reconcile.ErrConflict)
	}
	at.last += len(a.Facts)
	c.runs[a.Run] = at
	return w.append(t.now, under, a.Run, a.Expected, a.Facts)
}

// forget drops what is known of targets that are gone.
func (t *tx) forget(targets []reconcile.Key) {
	if len(targets) == 0 {
		return
	}
	for _, table := range []string{"standings", "claims"} {
		t.Queue("DELETE FROM "+table+" WHERE target = ANY($1::text[])", list(targets))
	}
	t.tallyForgotten()
}
