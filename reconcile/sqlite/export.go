package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"

	"trueup/reconcile/export"
)

// Export is as reconcile.Archive says.
func (s *Store) Export(ctx context.Context, to io.Writer) error {
	err := s.snapshot(ctx, func(tx *sql.Tx) error {
		return exporting(ctx, tx, to)
	})
	if err != nil {
		return fmt.Errorf("exporting %s: %w", s.path, explain(err))
	}
	return nil
}

// snapshot reads the database as it is at one instant.
func (s *Store) snapshot(ctx context.Context, read func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return read(tx)
}

func exporting(ctx context.Context, tx *sql.Tx, to io.Writer) error {
	var schema int
	var fence int64
	if err := tx.QueryRowContext(ctx, "SELECT user_version, last FROM pragma_user_version, sequence").Scan(&schema, &fence); err != nil {
		return err
	}
	w, err := export.NewWriter(to, schema, fence)
	if err != nil {
		return err
	}
	for _, t := range export.Tables() {
		if err := exportTable(ctx, tx, w, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return w.End()
}

func exportTable(ctx context.Context, tx *sql.Tx, w *export.Writer, t export.Table) error {
	columns, err := columns(ctx, tx, t)
	if err != nil {
		return err
	}
	names, values, into := make([]string, len(columns)), make([]any, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		names[i], into[i] = c.Name, &values[i]
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+t.Name+" ORDER BY "+t.Order)
	if err != nil {
		return err
	}
	return eachRow(rows, func(scan scanner) error {
		if err := scan(into...); err != nil {
			return err
		}
		return w.Row(t, columns, values)
	})
}
