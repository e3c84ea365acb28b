package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
)

// exportVersion is that of the lines of an export.
const exportVersion = 1

// A header is the first line of an export, and an ending the last: an export without it was cut off.
type (
	header struct {
		Trueup  string `json:"trueup"` // always "ledger"
		Version int    `json:"version"`
		Schema  int    `json:"schema"` // whose columns the rows have
		Fence   int64  `json:"fence"`  // the last number drawn
	}
	ending struct {
		End struct {
			Rows int `json:"rows"`
		} `json:"end"`
	}
)

// Export is as reconcile.Archive says. It holds one row in memory at a time.
func (s *Store) Export(ctx context.Context, to io.Writer) error {
	err := s.snapshot(ctx, func(tx *sql.Tx) error {
		e := exporter{tx: tx, to: bufio.NewWriter(to)}
		return errors.Join(e.all(ctx), e.to.Flush())
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

type exporter struct {
	tx   *sql.Tx
	to   *bufio.Writer
	text bytes.Buffer
	rows int
}

func (e *exporter) all(ctx context.Context) error {
	h := header{Trueup: "ledger", Version: exportVersion}
	err := e.tx.QueryRowContext(ctx, "SELECT user_version, last FROM pragma_user_version, sequence").Scan(&h.Schema, &h.Fence)
	if err != nil {
		return err
	}
	if err := errors.Join(line(&e.text, h), e.flush()); err != nil {
		return err
	}
	for _, t := range tables() {
		if err := e.table(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	var last ending
	last.End.Rows = e.rows
	return errors.Join(line(&e.text, last), e.flush())
}

func (e *exporter) table(ctx context.Context, t table) error {
	columns, err := t.columns(ctx, e.tx)
	if err != nil {
		return err
	}
	names, values, into := make([]string, len(columns)), make([]any, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		names[i], into[i] = c.name, &values[i]
	}
	rows, err := e.tx.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+t.name+" ORDER BY "+t.order)
	if err != nil {
		return err
	}
	return eachRow(rows, func(scan scanner) error {
		if err := scan(into...); err != nil {
			return err
		}
		return e.row(t, columns, values)
	})
}

// row writes {"TABLE":{"COLUMN":VALUE,…}}.
func (e *exporter) row(t table, columns []column, values []any) error {
	fmt.Fprintf(&e.text, `{%q:{`, t.name)
	for i, c := range columns {
		if i > 0 {
			e.text.WriteByte(',')
		}
		fmt.Fprintf(&e.text, `%q:`, c.name)
		if err := c.encode(&e.text, values[i]); err != nil {
			return err
		}
	}
	e.text.WriteString("}}")
	e.rows++
	return e.flush()
}

// flush ends the line.
func (e *exporter) flush() error {
	e.text.WriteByte('\n')
	_, err := e.text.WriteTo(e.to)
	return err
}
