package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// longest is how long a line of an export may be.
const longest = 256 << 20

// Import makes a new ledger of an export. Nothing may be there yet; the error is fs.ErrExist otherwise. The ledger is
// there whole or not at all: a line that is damaged, a run or a work item that does not fold, or an export that was cut
// off refuses it all, and the error says which line. Fences that were drawn before the export, or since, are not drawn
// again, since the first that opens the ledger for writing has them leap; leases and sessions end then.
func Import(ctx context.Context, path string, from io.Reader) error {
	path, err := resolve(path)
	if err == nil {
		err = errors.Join(localDisk(filepath.Dir(path), statfs), trusted(filepath.Dir(path), os.Geteuid()))
	}
	if _, there := os.Lstat(path); err == nil && there == nil {
		err = fmt.Errorf("%s is there: %w", path, fs.ErrExist)
	}
	if left := logLeft(path); err == nil && left != nil {
		err = fmt.Errorf("%w: %w", left, fs.ErrExist)
	}
	if err == nil {
		err = NewFile(path, 0o640, func(f *os.File) error { return load(ctx, f.Name(), from) })
	}
	if err != nil {
		return fmt.Errorf("importing into %s: %w", path, explain(err))
	}
	return nil
}

// unseen opens a database that nobody else sees. It is synced when it is whole, so nothing needs to be while it is not.
func unseen(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, "rw", 0, "auto_vacuum(2)", "journal_mode(off)", "synchronous(off)", "foreign_keys(1)"))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// load fills a database.
func load(ctx context.Context, path string, from io.Reader) error {
	db, err := unseen(path)
	if err != nil {
		return err
	}
	defer db.Close()
	i := &importer{db: db, lines: bufio.NewReaderSize(from, 1<<20), into: map[string]*intake{}}
	err = i.all(ctx)
	if m, is := errors.AsType[*misfit](err); is {
		i.n -= 1 + m.after // it is told when its story ends, with the row after it
	}
	if err != nil && i.n > 0 {
		err = fmt.Errorf("line %d: %w", i.n, err)
	}
	if err != nil {
		return err
	}
	return sound(ctx, db)
}

type importer struct {
	db    *sql.DB
	lines *bufio.Reader
	n     int // of the line that was read last; zero when the error is about none
	rows  int
	into  map[string]*intake
	story story
}

func (i *importer) all(ctx context.Context) error {
	var h header
	var first json.RawMessage
	if err := i.next(&first); err != nil {
		return err
	}
	if err := strict(first, &h); err != nil {
		return err
	}
	texts, err := steps()
	switch {
	case err != nil:
		return err
	case h.Trueup != "ledger" || h.Version < 1 || h.Schema < 1:
		return errors.New("it is no export of a ledger")
	case h.Version > exportVersion || h.Schema > len(texts):
		return fmt.Errorf("its version %d and schema %d are newer than this trueup, which knows %d and %d: install the newer trueup",
			h.Version, h.Schema, exportVersion, len(texts))
	}
	if err := drawable(h.Fence); err != nil {
		return err
	}
	if err := build(ctx, i.db, texts[:h.Schema], h.Schema); err != nil {
		return err
	}
	if _, err := i.db.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := i.body(ctx); err != nil {
		return err
	}
	i.n = 0
	if _, err := i.db.ExecContext(ctx, "UPDATE sequence SET last = ?", h.Fence); err != nil {
		return err
	}
	if _, err := i.db.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	return build(ctx, i.db, texts[h.Schema:], len(texts))
}

// build does some migrations, which bring the schema to a number.
func build(ctx context.Context, db *sql.DB, texts []string, to int) error {
	for _, text := range append(slices.Clone(texts), fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", to, application)) {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// body reads rows until the export says that it ends.
func (i *importer) body(ctx context.Context) error {
	for {
		var row members
		if err := i.next(&row); err != nil {
			return err
		}
		if len(row) != 1 {
			return fmt.Errorf("it has %d rows, and not one", len(row))
		}
		if end, is := row["end"]; is {
			return i.end(end)
		}
		for name, values := range row {
			if err := i.row(ctx, name, values); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
		}
		i.rows++
	}
}

func (i *importer) end(text json.RawMessage) error {
	var last ending
	if err := strict(text, &last.End); err != nil {
		return err
	}
	if last.End.Rows != i.rows {
		return fmt.Errorf("%d rows were to come, and %d did", last.End.Rows, i.rows)
	}
	if err := i.story.end(); err != nil {
		return err
	}
	if more, err := i.lines.Peek(1); err != io.EOF {
		return errors.Join(fmt.Errorf("more follows, from %q on", more), err)
	}
	return nil
}

// next reads a line.
func (i *importer) next(into any) error {
	i.n++
	var text []byte
	for {
		part, err := i.lines.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return json.Unmarshal(bytes.TrimSuffix(text, []byte("\n")), into)
		case err == io.EOF:
			return fmt.Errorf("it is cut off: %w", io.ErrUnexpectedEOF)
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case len(text) > longest:
			return fmt.Errorf("it is longer than %d MiB", longest>>20)
		}
	}
}
