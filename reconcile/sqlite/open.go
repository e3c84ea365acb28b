package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	driver "modernc.org/sqlite" // also registers itself with database/sql

	"trueup/reconcile"
)

// Options say how a store is opened. The zero value is for a process that writes.
type Options struct {
	Holder   string           // the process, for people: "sweep on host-a"
	Clock    func() time.Time // the wall clock; time.Now when nil
	Patience time.Duration    // how long a write waits for other writers; 10 s when zero
	Logs     int64            // how many bytes of logs are kept, the latest; all when zero
	// ReadOnly opens a database that exists, creates nothing, and refuses every write. It needs no right to write.
	ReadOnly bool
	// Existing opens a database that exists to write to it, and creates none.
	Existing bool
	// Leaving opens one that exists for Leave alone: its numbers go on in another place.
	Leaving bool
}

// A Store is a ledger in a file. It is used by many goroutines at once.
type Store struct {
	path     string
	holder   string
	clock    func() time.Time
	quota    int64 // of logs, in bytes; none when zero
	patience time.Duration
	leaving  bool
	little   int64      // how much of a database a sweep writes anew
	db       *sql.DB    // readers
	reads    statements // of db
	writer   *writer    // nil when opened for reading
	session  session
}

var (
	_ reconcile.Ledger     = (*Store)(nil)
	_ reconcile.WorkLedger = (*Store)(nil)
	_ reconcile.Archive    = (*Store)(nil)
)

const (
	patience = 10 * time.Second
	little   = 64 << 20 // bytes that are written anew within a second or so
	walLimit = 16 << 20 // bytes of log that stay on the disk after a burst
	readers  = 4
)

// Open opens the database at the path, and creates it in a folder that exists. Its errors are reconcile.ErrUnwritable when
// the ledger cannot be written (fs.ErrNotExist when there is none and none is to be created), and say what to do.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("opening ledger %s: %w", path, err)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Patience == 0 {
		o.Patience = patience
	}
	s := &Store{path: path, holder: o.Holder, clock: o.Clock, quota: o.Logs, patience: o.Patience, leaving: o.Leaving, little: little, session: session{dir: path + ".sessions", boot: bootID()}}
	if err := s.open(ctx, o); err != nil {
		s.Close()
		return nil, fmt.Errorf("opening ledger %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) (err error) {
	if err := localDisk(filepath.Dir(s.path), statfs); err != nil {
		return unwritable(err)
	}
	if o.ReadOnly || o.Existing || o.Leaving {
		if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
			return s.none(err)
		} else if err != nil {
			return err
		}
	}
	for _, refuse := range []func() error{func() error { return regular(s.path) }, s.emptied} { // before SQLite looks at it
		if err := refuse(); err != nil {
			return unwritable(err)
		}
	}
	if !o.ReadOnly {
		if err := trusted(filepath.Dir(s.path), os.Geteuid()); err != nil {
			return err
		}
		if err := prepare(ctx, s.path); err != nil {
			return unwritable(explain(err))
		}
		if s.writer, err = openWriter(ctx, s.path, o.Patience); err != nil {
			return unwritable(explain(err))
		}
		if err := s.migrate(ctx); err != nil {
			return unwritable(explain(err))
		}
	}
	if s.db, err = sql.Open("sqlite", dsn(s.path, "ro", o.Patience, "query_only(1)")); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(readers)
	s.db.SetMaxIdleConns(readers)
	s.reads = statements{prepare: s.db.PrepareContext}
	if o.ReadOnly {
		return explain(s.known(ctx))
	}
	return unwritable(s.resumeAtOpen(ctx))
}

// none says that there is no ledger, or no longer.
func (s *Store) none(err error) error {
	if left := logLeft(s.path); left != nil {
		return fmt.Errorf("%w: %w", left, err)
	}
	if n, noteErr := readNote(s.path); noteErr == nil && n.last > 0 {
		return fmt.Errorf("it is gone, and numbers up to %d were drawn in it: restore a backup, or the next sweep begins anew without what was reserved and paused, see docs/ledger.md: %w", n.last, err)
	}
	return fmt.Errorf("there is no ledger yet: %w", err)
}

// Close ends the store and this process's session: leases that it still holds are lapsed by whoever writes next.
func (s *Store) Close() error {
	s.reads.close()
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	return errors.Join(append(errs, s.session.end())...)
}

// now is the store's clock as the database keeps it: in microseconds.
func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// prepare creates the database, for its owner and group only: logs are nobody else's business. It is there with all its
// tables at once, so that one without them has lost them.
func prepare(ctx context.Context, path string) error {
	left := logLeft(path) // before the database is looked for: somebody else may be making it, and its log
	err := NewFile(path, 0o640, func(f *os.File) error {
		if left != nil {
			return left
		}
		return create(ctx, f.Name())
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("its folder must exist and be writable by user %d: %w", os.Geteuid(), err)
	}
	return err
}

// create fills the file of a new database.
func create(ctx context.Context, path string) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	db, err := unseen(path)
	if err != nil {
		return err
	}
	return errors.Join(build(ctx, db, texts, len(texts)), db.Close())
}

func dsn(path, mode string, wait time.Duration, pragmas ...string) string {
	pragmas = append([]string{fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds()), "trusted_schema(0)"}, pragmas...)
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}
	return u.String()
}

// keepLog makes the last connection leave the log and its index in place, the log emptied: without them a reader without
// the right to create files could not open the database.
func keepLog(ctx context.Context, c *sql.Conn) error {
	return c.Raw(func(raw any) error {
		_, err := raw.(driver.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
}
