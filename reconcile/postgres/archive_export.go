package postgres

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

var _ reconcile.Archive = (*Store)(nil)

// Export is as reconcile.Archive says.
func (s *Store) Export(ctx context.Context, to io.Writer) error {
	err := s.snapshot(ctx, func(tx pgx.Tx) error { return exporting(ctx, tx, to) })
	if err != nil {
		return fmt.Errorf("exporting %s: %w", s.place, s.hide(explain(err)))
	}
	return nil
}

// snapshot reads the database as it is at one instant.
func (s *Store) snapshot(ctx context.Context, read func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}

func exporting(ctx context.Context, tx pgx.Tx, to io.Writer) error {
	var fence int64
	if err := tx.QueryRow(ctx, "SELECT last FROM sequence").Scan(&fence); err != nil {
		return err
	}
	w, err := export.NewWriter(to, export.Schema, fence)
	if err != nil {
		return err
	}
	if err := everyRow(ctx, tx, w.Row); err != nil {
		return err
	}
	return w.End()
}

// everyRow gives all rows of all tables, in the order of an export. The values are the next row's once it has returned.
func everyRow(ctx context.Context, tx pgx.Tx, do func(t export.Table, columns []export.Column, values []any) error) error {
	for _, t := range export.Tables() {
		columns := t.Columns()
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for n := range into {
			into[n] = &values[n]
		}
		rows, err := tx.Query(ctx, rowsSQL(t, columns))
		if err == nil {
			err = eachRow(rows, func(scan scanner) error {
				if err := scan(into...); err != nil {
					return err
				}
				return do(t, columns, values)
			})
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// rowsSQL reads a table as an export has it.
func rowsSQL(t export.Table, columns []export.Column) string {
	parts := make([]string, len(columns))
	for n, c := range columns {
		switch parts[n] = c.Name; c.Kind {
		case export.Whole:
			parts[n] += "::bigint"
		case export.Time:
			parts[n] = `to_char(` + c.Name + ` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
		}
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + t.Name + " ORDER BY " + t.Order
}

// Inspect is as reconcile.Archive says. The database itself holds that rows refer to what is there; its own files are
// pg_amcheck's to look at.
func (s *Store) Inspect(ctx context.Context) (flaws []reconcile.Flaw, err error) {
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		var last int64
		if err := tx.QueryRow(ctx, "SELECT last FROM sequence").Scan(&last); err != nil {
			return err
		}
		i := export.NewInspector()
		err := everyRow(ctx, tx, func(t export.Table, _ []export.Column, values []any) error { return i.Row(t, values) })
		flaws = i.End(last)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("inspecting %s: %w", s.place, s.hide(explain(err)))
	}
	return flaws, nil
}

// Tallies is as reconcile.Archive says, by target; the one without a target comes first.
func (s *Store) Tallies(ctx context.Context) (tallies []reconcile.Tally, err error) {
	rows, err := s.pool.Query(ctx, `SELECT target, requests, ran, coalesced, held, handed_over, dropped, (waiting > 0)::int + (taken > 0)::int,
		ticks_ok, ticks_failing, ticks_held, ticks_unknown, ticks_limited, ticks_expired FROM tallies ORDER BY target`)
	if err == nil {
		err = eachRow(rows, func(scan scanner) error {
			t := reconcile.Tally{Ticks: map[reconcile.State]uint64{}}
			ticks := make([]uint64, len(reconcile.TickEnds()))
			into := []any{&t.Target, &t.Requests, &t.Ran, &t.Coalesced, &t.Held, &t.HandedOver, &t.Dropped, &t.Open}
			for i := range ticks {
				into = append(into, &ticks[i])
			}
			err := scan(into...)
			for i, state := range reconcile.TickEnds() {
				t.Ticks[state] = ticks[i]
			}
			tallies = append(tallies, t)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading tallies in %s: %w", s.place, s.hide(explain(err)))
	}
	return tallies, nil
}
