package main

import (
	"context"
	"io"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/postgres"
	"trueup/reconcile/sqlite"
)

// A store is what keeps a site's ledger: a file of this host, or a database that several share.
type store interface {
	reconcile.Ledger
	reconcile.WorkLedger
	reconcile.Archive
	Closed(ctx context.Context) (place string, err error) // where it has moved to; empty while it is open
	Close() error
}

// An opening says what for a ledger is opened. The zero value is for a process that writes, and makes one where there is none.
type opening struct {
	holder   string // the process, for people
	node     string // this host's incarnation, where it is enrolled in a ledger that hosts share
	readOnly bool
	existing bool // write to a ledger that is there, and make none
	leaving  bool // it is to move, and to do nothing else
}

// openStore opens the ledger that a configuration names. The error matches fs.ErrNotExist where there is none yet.
func openStore(ctx context.Context, c *config.Config, o opening) (store, error) {
	if c.Shared() {
		return openShared(ctx, c, o)
	}
	s, err := sqlite.Open(ctx, c.Database(), sqlite.Options{Holder: o.holder, Logs: logQuota(c), ReadOnly: o.readOnly, Existing: o.existing, Leaving: o.leaving})
	if err != nil {
		return nil, err // and no store that is nil
	}
	return s, nil
}

func openShared(ctx context.Context, c *config.Config, o opening) (store, error) {
	address, err := c.Address()
	if err != nil {
		return nil, fail(exitConfig, "ledger.password is {file: /path} or {credential: NAME}, see docs/configuration.md#secrets", "%w", err)
	}
	options := postgres.Options{Holder: o.holder, Node: o.node, Logs: logQuota(c), ReadOnly: o.readOnly, Existing: o.existing || o.leaving}
	if o.readOnly {
		options.Patience = 5 * time.Second // somebody looks at it
	}
	s, err := postgres.Open(ctx, address, options)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// importStore makes a ledger of an export. The error matches fs.ErrExist where there is one.
func importStore(ctx context.Context, c *config.Config, from io.Reader) error {
	if !c.Shared() {
		return sqlite.Import(ctx, c.Database(), from)
	}
	address, err := c.Address()
	if err != nil {
		return err
	}
	return postgres.Import(ctx, address, from)
}

// pgDump is the command that backs a shared ledger up. Its schema goes alone, since others may have theirs beside it.
func pgDump(c *config.Config, file string) string {
	return "pg_dump --format=custom --file=" + quoted(file) + " " + quoted(c.Database()) + " # or trueup ledger export, see docs/ledger.md"
}
