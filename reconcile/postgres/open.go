package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"trueup/reconcile"
)

// Options say how a store is opened. The zero value is for a process that writes.
type Options struct {
	Holder   string        // the process, for people: "sweep on host-a"
	Node     string        // the host that it is of, see Supersede
	Session  string        // its name among all processes; a random one when empty
	Patience time.Duration // how long a write waits for others, and for a server that is away; 10 s when zero
	Logs     int64         // how many bytes of logs are kept, the latest; all when zero
	// ReadOnly opens a ledger that exists, creates nothing, and refuses every write. It needs no right to write.
	ReadOnly bool
	// Existing opens a ledger that exists to write to it, and creates none.
	Existing bool
}

// A Store is a ledger in a database. It is used by many goroutines at once.
type Store struct {
	options Options
	place   string // the database, for people, without a password
	pool    *pgxpool.Pool
	notes   receipts
	held    holds
}

var (
	_ reconcile.Ledger     = (*Store)(nil)
	_ reconcile.WorkLedger = (*Store)(nil)
)

const (
	patience    = 10 * time.Second
	farewell    = time.Second
	connections = 4 // of one process, unless its address says pool_max_conns
)

// Open opens the ledger in the schema that the address leads to, and creates it in one without. The address is
// postgres://USER@HOST:PORT/DATABASE or whatever else libpq takes; default_query_exec_mode and pool_max_conns may stand in
// it. Its errors are reconcile.ErrUnwritable when the ledger cannot be written (fs.ErrNotExist when there is none and none is
// to be created), say what to do, and never show a password.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	config, place, err := configure(address)
	if err != nil {
		return nil, fmt.Errorf("opening ledger %s: %w", place, err)
	}
	return open(ctx, config, place, o)
}

func open(ctx context.Context, config *pgxpool.Config, place string, o Options) (*Store, error) {
	if o.Patience == 0 {
		o.Patience = patience
	}
	if o.Session == "" {
		o.Session = rand.Text()
	}
	s := &Store{options: o, place: place}
	var err error
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err == nil {
		err = s.meet(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("opening ledger %s: %w", place, s.hide(err))
	}
	return s, nil
}

// meet looks at the server and brings the schema up to date.
func (s *Store) meet(ctx context.Context) error {
	have, err := s.schema(ctx)
	switch {
	case err != nil:
	case have == 0 && (s.options.ReadOnly || s.options.Existing):
		return fmt.Errorf("there is no ledger yet: %w", fs.ErrNotExist)
	case s.options.ReadOnly && have < newest():
		return fmt.Errorf("its schema %d is older than this trueup, which reads %d: the next sweep brings it up to date", have, newest())
	case !s.options.ReadOnly && have < newest():
		err = s.migrate(ctx)
	}
	switch {
	case err == nil || s.options.ReadOnly || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return explain(err)
	}
	return unwritable(explain(err))
}

// Close ends the store and this process's session: leases that it still holds are lapsed by whoever writes next.
func (s *Store) Close() error {
	if s.pool == nil {
		return nil
	}
	var err error
	if s.held.any() {
		err = s.giveUp()
	}
	closed := make(chan struct{})
	go func() {
		s.pool.Close() // a server that is away is waited for in vain
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(farewell):
	}
	return err
}
