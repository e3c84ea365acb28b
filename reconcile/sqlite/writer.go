package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A writer is the one connection of this process that writes. Its transactions are serialised with those of every other
// process by the gate, so that SQLite's own lock is free but for programs that do not know the gate.
type writer struct {
	gate  *gate
	db    *sql.DB
	conn  *sql.Conn
	stmts statements
}

func openWriter(ctx context.Context, path string, wait time.Duration) (*writer, error) {
	// The first says of a new database that its free pages can be given back a few at a time.
	db, err := sql.Open("sqlite", dsn(path, "rw", wait, "auto_vacuum(2)", "foreign_keys(1)", fmt.Sprintf("journal_size_limit(%d)", walLimit)))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	w := &writer{db: db, gate: newGate(path+".lock", wait)}
	if err := w.connect(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// connect is inside the gate, since the change of the journal's mode is a write.
func (w *writer) connect(ctx context.Context) (err error) {
	if err := w.gate.enter(ctx); err != nil {
		return err
	}
	defer w.gate.leave()
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	w.stmts = statements{prepare: w.conn.PrepareContext}
	if err := w.settings(ctx); err != nil {
		return err
	}
	return keepLog(ctx, w.conn)
}

// settings makes every commit survive a power cut, and believes it only when SQLite says so.
func (w *writer) settings(ctx context.Context) error {
	var mode string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(ctx, "PRAGMA synchronous = full"); err != nil {
		return err
	}
	level, err := w.value("PRAGMA synchronous")
	if err != nil {
		return err
	}
	if mode != "wal" || level != 2 {
		return fmt.Errorf("it does not take journal_mode wal and synchronous full, but %s and %d", mode, level)
	}
	return nil
}

// transact runs do between BEGIN IMMEDIATE and COMMIT. The context ends the wait for the lock and nothing after it: a
// transaction takes milliseconds, and one that was interrupted would leave open whether it had been committed.
func (w *writer) transact(ctx context.Context, do func() error) (err error) {
	if err := w.gate.enter(ctx); err != nil {
		return err
	}
	defer w.gate.leave()
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = w.exec("ROLLBACK") // SQLite may have rolled back itself, which makes this an error without meaning
		}
	}()
	if err := do(); err != nil {
		return err
	}
	if _, err := w.exec("COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// exec runs a statement and tells how many rows it changed.
func (w *writer) exec(query string, args ...any) (int64, error) {
	stmt, err := w.stmts.get(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// value reads one number.
func (w *writer) value(query string) (n int64, err error) {
	stmt, err := w.stmts.get(query)
	if err != nil {
		return 0, err
	}
	err = stmt.QueryRow().Scan(&n)
	return n, err
}

func (w *writer) close() error {
	w.stmts.close()
	errs := []error{w.gate.close()}
	if w.conn != nil {
		errs = append(errs, w.conn.Close())
	}
	return errors.Join(append(errs, w.db.Close())...)
}
