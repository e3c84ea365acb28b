package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile/export"
)

// copied is how many rows of an export are sent at once.
const copied = 2000

// Import makes a ledger of an export, in a schema in which there is none yet, or one in which nothing was ever asked or done;
// the error is fs.ErrExist otherwise. It is there whole or not at all: a line that is damaged, what does not fold, or an
// export that was cut off refuses it all. Fences that were drawn before the export, or since, are not drawn again, since the
// first write has them leap; leases and sessions end then.
func Import(ctx context.Context, address string, from io.Reader) error {
	s, err := Open(ctx, address, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.begun(ctx, func(tx pgx.Tx) error { return load(ctx, tx, from) }); err != nil {
		return fmt.Errorf("importing into %s: %w", s.place, s.hide(explain(err)))
	}
	return nil
}

func tableNames() (names []string) {
	for _, t := range export.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// load fills the tables.
func load(ctx context.Context, tx pgx.Tx, from io.Reader) error {
	if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", fmt.Sprintf("%dms", patience.Milliseconds())); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE sequence, "+strings.Join(tableNames(), ", ")+" IN EXCLUSIVE MODE"); err != nil {
		return err
	}
	used := "SELECT last > 0"
	for _, name := range tableNames() {
		used += " OR EXISTS (SELECT 1 FROM " + name + ")"
	}
	var there bool
	if err := tx.QueryRow(ctx, used+" FROM sequence").Scan(&there); err != nil {
		return err
	}
	if there {
		return fmt.Errorf("there is a ledger in it: %w", fs.ErrExist)
	}
	i := &importer{ctx: ctx, tx: tx, look: export.NewInspector()}
	if err := export.Read(from, i); err != nil {
		return err
	}
	if err := i.flush(); err != nil {
		return err
	}
	if err := i.look.Sound(i.header.Fence); err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue("UPDATE sequence SET last = $1, home = ''", i.header.Fence) // so that they leap, see moved
	b.Queue("SELECT setval(pg_get_serial_sequence('logs', 'id'), coalesce(max(id), 0) + 1, false) FROM logs")
	return tx.SendBatch(ctx, b).Close()
}

// An importer is the sink of an export.
type importer struct {
	ctx     context.Context
	tx      pgx.Tx
	look    *export.Inspector
	header  export.Header
	table   string
	columns []string
	rows    [][]any
}

// Begin is export.Sink's. What has fewer columns is brought up to date by SQLite's migrations.
func (i *importer) Begin(h export.Header) error {
	switch i.header = h; {
	case h.Schema > export.Schema:
		return fmt.Errorf("its schema %d is newer than this trueup, which knows %d: install the newer trueup", h.Schema, export.Schema)
	case h.Schema < export.Schema:
		return fmt.Errorf("its schema %d is older than %d: import it with state: sqlite:///path first, and then trueup ledger move", h.Schema, export.Schema)
	}
	return nil
}

// Columns is export.Sink's.
func (i *importer) Columns(t export.Table) ([]export.Column, error) { return t.Columns(), nil }

// Put is export.Sink's.
func (i *importer) Put(t export.Table, columns []export.Column, values []any) error {
	if err := i.look.Row(t, values); err != nil {
		return err
	}
	if t.Name != i.table {
		if err := i.flush(); err != nil {
			return err
		}
		i.table, i.columns = t.Name, nil
		for _, c := range columns {
			i.columns = append(i.columns, c.Name)
		}
	}
	for n, c := range columns {
		value, err := fit(c, values[n])
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		values[n] = value
	}
	if i.rows = append(i.rows, values); len(i.rows) < copied {
		return nil
	}
	return i.flush()
}

// fit is a value as its column takes it.
func fit(c export.Column, value any) (any, error) {
	if value == nil {
		if !c.Null {
			return nil, errors.New("it is empty")
		}
		return nil, nil
	}
	_, number := value.(int64)
	text, _ := value.(string)
	switch {
	case number != (c.Kind == export.Whole):
		return nil, fmt.Errorf("%v is of another type", value)
	case c.Kind == export.Time:
		return export.Instant(text)
	}
	return c.Plain(value), nil
}

// flush sends the rows that wait.
func (i *importer) flush() error {
	if len(i.rows) == 0 {
		return nil
	}
	_, err := i.tx.CopyFrom(i.ctx, pgx.Identifier{i.table}, i.columns, pgx.CopyFromRows(i.rows))
	i.rows = nil
	return err
}
