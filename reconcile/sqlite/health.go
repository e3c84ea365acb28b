package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"trueup/reconcile"
)

// Health is what can be seen of a database beside a running sweep, but for what is in it, which Inspect looks at.
type Health struct {
	Schema  int    // the last migration done
	Journal string // the journal mode: wal
	Lapsed  []reconcile.Lease
	Free    int64 // bytes that are free and that no sweep gives back; see Prune
	Dead    int   // sessions whose process has died; the next one that takes a lease clears them away
}

// Health looks at the database and changes nothing.
func (s *Store) Health(ctx context.Context) (h Health, err error) {
	for _, ask := range []struct {
		pragma string
		into   any
	}{{"user_version", &h.Schema}, {"journal_mode", &h.Journal}} {
		if err := s.db.QueryRowContext(ctx, "PRAGMA "+ask.pragma).Scan(ask.into); err != nil {
			return h, fmt.Errorf("asking %s for its %s: %w", s.path, ask.pragma, explain(err))
		}
	}
	h.Dead = s.session.dead()
	err = s.query(ctx, "looking at the space", `SELECT CASE WHEN auto_vacuum <> ? AND free.freelist_count * 4 > page_count
			AND (page_count - free.freelist_count) * page_size > ? THEN free.freelist_count * page_size ELSE 0 END
		FROM pragma_auto_vacuum, pragma_freelist_count AS free, pragma_page_count, pragma_page_size`,
		func(scan scanner) error { return scan(&h.Free) }, incremental, s.little)
	if err != nil {
		return h, err
	}
	h.Lapsed, err = s.lapsed(ctx)
	return h, err
}

// lapsed are the leases that the next write ends: their time is over, or their process is dead.
func (s *Store) lapsed(ctx context.Context) (leases []reconcile.Lease, err error) {
	now := s.now()
	err = s.query(ctx, "listing leases", "SELECT "+leaseColumns+" FROM leases ORDER BY fence", func(scan scanner) error {
		h, err := readLease(scan)
		if err == nil && (!h.Until.After(now) || !s.session.alive(h.session, h.boot)) {
			leases = append(leases, h.Lease)
		}
		return err
	})
	return leases, err
}

// dead counts the sessions' files that nobody holds.
func (s *session) dead() (n int) {
	entries, _ := os.ReadDir(s.dir) // none, before the first lease
	for _, e := range entries {
		if !lives(filepath.Join(s.dir, e.Name())) {
			n++
		}
	}
	return n
}
