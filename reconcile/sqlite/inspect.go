package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// What an operator does about flaws.
const (
	doRestore = "restore a backup, see docs/ledger.md#backups"
	doNothing = "nothing is decided on it, and the rest goes on; a newer trueup may read it, or a backup has it whole"
	doAge     = "nothing is decided on what was before its last start; it goes with ledger.keep"
	doDiscard = "nothing is decided on it, and what it holds stays held; a newer trueup may read it; else give that back: trueup work discard "
	doSweep   = "the next sweep sets it right; if it does not, restore a backup, see docs/ledger.md#backups"
)

// Inspect is as reconcile.Archive says.
func (s *Store) Inspect(ctx context.Context) (flaws []reconcile.Flaw, err error) {
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		flaws, err = inspect(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inspecting %s: %w", s.path, explain(err))
	}
	return flaws, nil
}

// sound is an error unless the database is as it must be.
func sound(ctx context.Context, q querier) error {
	flaws, err := inspect(ctx, q)
	if err == nil && len(flaws) > 0 {
		f, more := flaws[0], ""
		if len(flaws) > 1 {
			more = fmt.Sprintf(" (the first of %d things that are wrong with it)", len(flaws))
		}
		err = fmt.Errorf("%s: %s%s", f.Where, f.What, more)
	}
	return err
}

// inspect looks at everything. Where damage keeps it from one thing it goes on to the next.
func inspect(ctx context.Context, q querier) (flaws []reconcile.Flaw, err error) {
	i := &inspector{ctx: ctx, q: q, running: map[reconcile.RunID]reconcile.Lease{}, open: map[reconcile.ItemID]*held{}}
	for _, look := range []func() error{i.file, i.runs, i.items, i.tables, i.reservations, i.rules} {
		err := look()
		switch refused, is := errors.AsType[*driver.Error](err); {
		case err == nil:
		case is && refused.Code()&0xff == codes.SQLITE_CORRUPT:
			i.flaw("the file", err.Error(), doRestore)
		default:
			return nil, err
		}
	}
	return i.flaws, nil
}

type inspector struct {
	ctx   context.Context
	q     querier
	flaws []reconcile.Flaw

	running map[reconcile.RunID]reconcile.Lease // runs that have not ended, as their events have it
	open    map[reconcile.ItemID]*held          // work items that are not done, likewise
}

func (i *inspector) flaw(where, what, do string) {
	i.flaws = append(i.flaws, reconcile.Flaw{Where: where, What: what, Do: do})
}

func (i *inspector) each(query string, do func(scan scanner) error, args ...any) error {
	rows, err := i.q.QueryContext(i.ctx, query, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, do)
}

// file asks SQLite itself.
func (i *inspector) file() error {
	err := i.each("PRAGMA integrity_check(20)", func(scan scanner) error {
		var said string
		err := scan(&said)
		if err == nil && said != "ok" {
			i.flaw("the file", strings.ReplaceAll(said, "\n", "; "), doRestore)
		}
		return err
	})
	if err != nil {
		return err
	}
	return i.each("SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2", func(scan scanner) error {
		var table, parent string
		var n int
		err := scan(&table, &parent, &n)
		i.flaw("table "+table, fmt.Sprintf("%d rows refer to rows of %s that are not there", n, parent), doRestore)
		return err
	})
}

// runs folds every run, one in memory at a time, and holds it against what other tables say of it.
func (i *inspector) runs() error {
	var fence sql.NullInt64
	var target sql.NullString
	var leased bool
	s := &export.Story{}
	s.Told = func(h reconcile.History, _ reconcile.Item, err error) error {
		where := "run " + s.ID
		if err == nil && h.Phase == reconcile.Running {
			i.running[h.Lease.Run] = h.Lease
		}
		switch {
		case err != nil:
			i.flaw(where, err.Error(), doNothing)
		case !fence.Valid:
			i.flaw(where, "it has events and was never opened", doRestore)
		case string(h.Lease.Run) != s.ID || int64(h.Lease.Fence) != fence.Int64 || string(h.Lease.Target) != target.String:
			i.flaw(where, fmt.Sprintf("its first event is of run %s, target %s, fence %d", h.Lease.Run, h.Lease.Target, h.Lease.Fence), doRestore)
		case h.Phase == reconcile.Running && !leased:
			i.flaw(where, "it has not ended, and nobody has a lease for it", doRestore)
		case h.Phase != reconcile.Running && leased:
			i.flaw(where, fmt.Sprintf("it is %s, and still has a lease", h.Phase), doSweep)
		}
		return nil
	}
	err := i.each(`SELECT events.run, seq, at, type, data, runs.fence, runs.target, leases.run IS NOT NULL
		FROM events LEFT JOIN runs USING (run) LEFT JOIN leases USING (run) ORDER BY events.run, seq`, func(scan scanner) error {
		values := make([]any, 5)
		var of sql.NullInt64
		var whose sql.NullString
		var held bool
		if err := scan(&values[0], &values[1], &values[2], &values[3], &values[4], &of, &whose, &held); err != nil {
			return err
		}
		err := s.Row("events", values) // tells the run before, if this is another
		fence, target, leased = of, whose, held
		return err
	})
	return errors.Join(err, s.End())
}

// rules are what tables must not say of one another. Each query finds places, and the name that the remedy ends with.
func (i *inspector) rules() error {
	for _, r := range []struct{ query, what, do string }{
		{"SELECT 'run ' || run, '' FROM runs WHERE run NOT IN (SELECT run FROM events)", "it was opened and has no events", doRestore},
		{"SELECT 'run ' || run, '' FROM leases WHERE fence NOT IN (SELECT fence FROM scopes WHERE fence IS NOT NULL)", "its lease holds no scope", doSweep},
		{"SELECT 'work item ' || item, item FROM work_items WHERE item NOT IN (SELECT item FROM work_events)", "it has no events", doDiscard},
		{`SELECT 'fence ' || max(fence), '' FROM (
			SELECT max(fence) AS fence FROM runs UNION ALL SELECT max(fence) FROM leases UNION ALL SELECT max(fence) FROM work_sessions
			UNION ALL SELECT max(asked, covered, claim_asked) FROM standings
		) HAVING max(fence) > (SELECT last FROM sequence)`, "it was drawn, and the sequence is behind it", doRestore},
		{"SELECT 'record ' || family || ' ' || key, '' FROM records WHERE NOT json_valid(CAST(value AS TEXT))", "its value is no JSON", doRestore},
		{`SELECT 'record ' || family || ' ' || key, '' FROM records
			WHERE CASE WHEN json_valid(CAST(value AS TEXT)) THEN json_type(CAST(value AS TEXT), '$.run') END <> 'text'`, "its value names a run by what is no text", doRestore},
		{`SELECT 'tally of ' || target, '' FROM tallies WHERE min(waiting, taken, requests, ran, coalesced, held, handed_over, dropped,
			ticks_ok, ticks_failing, ticks_held, ticks_unknown, ticks_limited, ticks_expired) < 0`, "it counts below zero", doRestore},
	} {
		err := i.each(r.query, func(scan scanner) error {
			var where, name string
			err := scan(&where, &name)
			i.flaw(where, r.what, r.do+name)
			return err
		})
		if err != nil {
			return err
		}
	}
	return i.each("SELECT DISTINCT family FROM records WHERE family NOT IN (SELECT value FROM json_each(?))", func(scan scanner) error {
		var family string
		err := scan(&family)
		i.flaw("records "+family, "a newer trueup's", "install the newer trueup, or leave them")
		return err
	}, list(reconcile.Families()))
}
