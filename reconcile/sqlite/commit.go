package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"trueup/reconcile"
)

// Commit is as reconcile.Ledger says.
func (s *Store) Commit(ctx context.Context, b reconcile.Batch) error {
	return s.write(ctx, "writing to the ledger", func(t *tx) error {
		var under *reconcile.Lease
		if b.Under != 0 {
			l, err := t.live(b.Under)
			if err != nil {
				return err
			}
			under = &l
		}
		for _, a := range b.Append {
			if err := t.append(under, a); err != nil {
				return err
			}
		}
		for _, w := range b.Records {
			if err := t.record(w); err != nil {
				return err
			}
		}
		for _, a := range b.Ask {
			if err := t.ask(a); err != nil {
				return err
			}
		}
		if err := t.tallyStrange(b.Strange); err != nil {
			return err
		}
		if len(b.Gone) > 0 {
			if err := t.gone(b.Gone); err != nil {
				return err
			}
		}
		if len(b.Forget) > 0 {
			if _, err := t.exec("DELETE FROM standings WHERE target IN (SELECT value FROM json_each(?))", list(b.Forget)); err != nil {
				return err
			}
			if err := t.tallyForgotten(); err != nil {
				return err
			}
		}
		return t.logs(b.Logs)
	})
}

// live finds the run and the target of a lease; what has lapsed is gone by now.
func (t *tx) live(f reconcile.Fence) (l reconcile.Lease, err error) {
	stmt, err := t.stmts.get("SELECT run, target FROM leases WHERE fence = ?")
	if err != nil {
		return l, err
	}
	err = stmt.QueryRow(int64(f)).Scan(&l.Run, &l.Target)
	if errors.Is(err, sql.ErrNoRows) {
		return l, fmt.Errorf("fence %d: %w", f, reconcile.ErrLeaseLost)
	}
	l.Fence = f
	return l, err
}

// append adds facts to a run: that of the lease, or a closed one that nobody holds.
func (t *tx) append(under *reconcile.Lease, a reconcile.Append) error {
	last, err := t.last(a.Run)
	if err != nil {
		return err
	}
	if under == nil || under.Run != a.Run {
		if err := t.judged(a.Run, last); err != nil {
			return err
		}
	}
	if last != a.Expected {
		return fmt.Errorf("run %s has %d events and not %d: %w", a.Run, last, a.Expected, reconcile.ErrConflict)
	}
	if last == 0 && len(a.Facts) > 0 {
		if err := t.openRun(*under, a); err != nil {
			return err
		}
	}
	for i, fact := range a.Facts {
		typ, data, err := reconcile.EncodeFact(fact)
		if err != nil {
			return fmt.Errorf("encoding an event of run %s: %w: %w", a.Run, reconcile.ErrUndecidable, err) // no other tick's fault
		}
		_, err = t.exec("INSERT INTO events (run, seq, at, type, data) VALUES (?, ?, ?, ?, ?)",
			string(a.Run), last+1+i, stamp(t.now), typ, string(data))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) openRun(l reconcile.Lease, a reconcile.Append) error {
	if _, opens := a.Facts[0].(reconcile.Leased); !opens {
		return fmt.Errorf("run %s does not open with its lease: %w", a.Run, reconcile.ErrUndecidable)
	}
	_, err := t.exec("INSERT INTO runs (fence, run, target, opened) VALUES (?, ?, ?, ?)",
		int64(l.Fence), string(l.Run), string(l.Target), stamp(t.now))
	return err
}

// last is the number of a run's last event.
func (t *tx) last(run reconcile.RunID) (seq int, err error) {
	stmt, err := t.stmts.get("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?")
	if err != nil {
		return 0, err
	}
	err = stmt.QueryRow(string(run)).Scan(&seq)
	return seq, err
}

// judged allows a run to be written to without its lease: it has been closed.
func (t *tx) judged(run reconcile.RunID, last int) error {
	if last == 0 {
		return fmt.Errorf("run %s: %w", run, reconcile.ErrNoRun)
	}
	closed, err := t.closed(run)
	if err == nil && !closed {
		err = fmt.Errorf("run %s is open, and not of this lease: %w", run, reconcile.ErrLeaseLost)
	}
	return err
}

// closed tells whether a run has ended. It reads the run whole.
func (t *tx) closed(run reconcile.RunID) (is bool, err error) {
	stmt, err := t.stmts.get("SELECT EXISTS (SELECT 1 FROM events WHERE run = ? AND type IN ('succeeded', 'failed', 'lease_expired'))")
	if err != nil {
		return false, err
	}
	err = stmt.QueryRow(string(run)).Scan(&is)
	return is, err
}
