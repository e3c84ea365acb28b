package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
)

// A writer is the one connection of this process that writes. Its transactions are serialised with those of every other
// process by the gate, so that SQLite's own lock is free but for programs that do not know the gate.
type writer struct {
	gate  *gate
	files []opened
	db    *sql.DB
	conn  *sql.Conn
	stmts statements

	path     string
	identity string   // of the file, see note
	noteFile *os.File // open while a transaction is under way that leaves a note
	unnoted  error    // why the last transaction that was to leave one has not
}

// An opened file is one that SQLite has open, as it was when it was opened.
type opened struct {
	path string
	info os.FileInfo
}

func openWriter(ctx context.Context, path string, wait time.Duration) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(path, "rw", wait)) // what looks into the file comes later, see keepLog
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	w := &writer{path: path, db: db, gate: newGate(path+".lock", wait)}
	if err := w.connect(ctx, path); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// connect is inside the gate, since the change of the journal's mode is a write.
func (w *writer) connect(ctx context.Context, path string) (err error) {
	if err := w.gate.enter(ctx); err != nil {
		return err
	}
	defer w.gate.leave()
	if err := w.watch(path); err != nil { // before it is opened, so that what is exchanged meanwhile is seen
		return err
	}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	w.stmts = statements{prepare: w.conn.PrepareContext}
	if err := keepLog(ctx, w.conn); err != nil { // first, so that it stays where the rest fails
		return err
	}
	if err := w.settings(ctx); err != nil {
		return err
	}
	if _, err := w.value("PRAGMA user_version"); err != nil { // the first reading makes the log
		return err
	}
	return w.watch(path+"-wal", path+"-shm")
}

// watch notes which files stand at the paths.
func (w *writer) watch(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		w.files = append(w.files, opened{path, info})
	}
	return nil
}

// stands refuses to go on with a database that has been moved, removed or exchanged, or whose log has: what is written to
// it is lost, and whoever opens the path meets other leases, or none.
func (w *writer) stands() error {
	for _, f := range w.files {
		if now, err := os.Stat(f.path); err != nil || !os.SameFile(f.info, now) {
			return fmt.Errorf("%s is no longer the file that is open: it was moved, removed or exchanged; put it back before anything else runs", f.path)
		}
	}
	return nil
}

// settings makes every commit survive a power cut, and believes it only when SQLite says so.
func (w *writer) settings(ctx context.Context) error {
	// The first says of a new database that its free pages can be given back a few at a time.
	if _, err := w.conn.ExecContext(ctx, "PRAGMA auto_vacuum = 2; PRAGMA foreign_keys = 1"); err != nil {
		return err
	}
	var mode string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode = wal").Scan(&mode); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA synchronous = full; PRAGMA journal_size_limit = %d", walLimit)); err != nil {
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
		w.closeNote()
	}()
	if err := w.stands(); err != nil {
		return err
	}
	if err := w.catchUp(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := w.stands(); err != nil {
		return err
	}
	if _, err := w.exec("COMMIT"); err != nil {
		return err
	}
	committed = true
	w.unnoted = w.writeNote() // which is no reason to take back what counts
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
