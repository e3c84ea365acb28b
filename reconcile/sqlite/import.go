package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"trueup/reconcile/export"
)

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
	if err := (&importer{ctx: ctx, db: db, into: map[string]*sql.Stmt{}}).all(from); err != nil {
		return err
	}
	return sound(ctx, db)
}

// An importer is the sink of an export.
type importer struct {
	ctx    context.Context
	db     *sql.DB
	header export.Header
	into   map[string]*sql.Stmt
}

func (i *importer) all(from io.Reader) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	if err := export.Read(from, i); err != nil {
		return err
	}
	if _, err := i.db.ExecContext(i.ctx, "UPDATE sequence SET last = ?", i.header.Fence); err != nil {
		return err
	}
	if _, err := i.db.ExecContext(i.ctx, "COMMIT"); err != nil {
		return err
	}
	return build(i.ctx, i.db, texts[i.header.Schema:], len(texts))
}

// Begin is export.Sink's.
func (i *importer) Begin(h export.Header) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	if h.Schema > len(texts) {
		return fmt.Errorf("its schema %d is newer than this trueup, which knows %d: install the newer trueup", h.Schema, len(texts))
	}
	i.header = h
	if err := build(i.ctx, i.db, texts[:h.Schema], h.Schema); err != nil {
		return err
	}
	_, err = i.db.ExecContext(i.ctx, "BEGIN")
	return err
}

// Columns is export.Sink's.
func (i *importer) Columns(t export.Table) ([]export.Column, error) { return columns(i.ctx, i.db, t) }

// Put is export.Sink's.
func (i *importer) Put(t export.Table, columns []export.Column, values []any) (err error) {
	insert := i.into[t.Name]
	if insert == nil {
		names := make([]string, len(columns))
		for n, c := range columns {
			names[n] = c.Name
		}
		insert, err = i.db.PrepareContext(i.ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", t.Name, strings.Join(names, ", "),
			strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")))
		if err != nil {
			return err
		}
		i.into[t.Name] = insert
	}
	_, err = insert.ExecContext(i.ctx, values...)
	return err
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
