package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"trueup/reconcile"
)

// A tx is a write transaction under way. When it begins, what has lapsed is gone: each lease that is there is live.
type tx struct {
	*writer
	s   *Store
	now time.Time
}

// write is one transaction. What it lapses stays lapsed also when the work itself is refused.
func (s *Store) write(ctx context.Context, doing string, work func(*tx) error) error {
	if s.writer == nil {
		return fmt.Errorf("%s: %w: it was opened for reading", doing, reconcile.ErrUnwritable)
	}
	var refused error
	err := s.writer.transact(ctx, func() error {
		t := &tx{writer: s.writer, s: s, now: s.now()}
		resumed, err := s.resumeIfDue()
		if err != nil {
			return err
		}
		lapsed, err := t.lapse()
		if err != nil {
			return err
		}
		if !lapsed && !resumed {
			return work(t)
		}
		refused, err = t.attempt(func() error { return work(t) })
		return err
	})
	switch {
	case err == nil:
		err = refused
	case !isVerdict(err) && (ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))):
		err = unwritable(explain(err))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// isVerdict tells what the ledger says from what the database could not do.
func isVerdict(err error) bool {
	for _, known := range []error{reconcile.ErrLeaseLost, reconcile.ErrConflict, reconcile.ErrNoRun, reconcile.ErrUndecidable,
		reconcile.ErrNoItem, reconcile.ErrFenceNeeded, reconcile.ErrUnreadable} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, reserved := errors.AsType[*reconcile.ReservedError](err)
	_, unfit := errors.AsType[*reconcile.UnfitError](err)
	return reserved || unfit
}

// attempt does work that leaves nothing behind where it is refused. The transaction goes on either way.
func (t *tx) attempt(work func() error) (refused, err error) {
	if _, err := t.exec("SAVEPOINT attempt"); err != nil {
		return nil, err
	}
	refused = work()
	if refused != nil && !isVerdict(refused) {
		return nil, refused
	}
	if refused != nil {
		if _, err := t.exec("ROLLBACK TO attempt"); err != nil {
			return nil, err
		}
	}
	_, err = t.exec("RELEASE attempt")
	return refused, err
}

// draw takes n numbers from the sequence of the fences and returns the first.
func (t *tx) draw(n int) (reconcile.Fence, error) {
	stmt, err := t.stmts.get("UPDATE sequence SET last = last + ? RETURNING last")
	if err != nil {
		return 0, err
	}
	var last reconcile.Fence
	if err := stmt.QueryRow(n).Scan(&last); err != nil {
		return 0, fmt.Errorf("drawing a fence: %w", err)
	}
	return last - reconcile.Fence(n) + 1, t.dueNote()
}

// each calls do with every row of a query.
func (t *tx) each(query string, do func(scan scanner) error, args ...any) error {
	stmt, err := t.stmts.get(query)
	if err != nil {
		return err
	}
	rows, err := stmt.Query(args...)
	if err != nil {
		return err
	}
	return eachRow(rows, do)
}

// A scanner reads the columns of a row.
type scanner func(into ...any) error

func eachRow(rows *sql.Rows, do func(scan scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list is an argument for json_each: a set of keys or numbers of any size in one statement.
func list[T ~string | ~uint64](values []T) string {
	text, _ := json.Marshal(values) // strings and numbers cannot fail to encode
	return string(text)
}
