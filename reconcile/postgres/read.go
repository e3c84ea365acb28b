package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// gather reads every row of a query outside any transaction: readers see the last commit.
func gather[T any](ctx context.Context, s *Store, doing, query string, read func(scan scanner) (T, error), args ...any) (all []T, err error) {
	err = s.look(ctx, doing, func(b *pgx.Batch) {
		all = nil
		reading(b, query, func(scan scanner) error {
			one, err := read(scan)
			all = append(all, one)
			return err
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// look does several queries in one round trip. It is done again when the server comes back, so that whoever queues the queries
// begins anew to gather what they tell.
func (s *Store) look(ctx context.Context, doing string, queue func(b *pgx.Batch)) error {
	err := s.patiently(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		queue(b)
		return s.pool.SendBatch(ctx, b).Close()
	})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	return fmt.Errorf("%s in %s: %w", doing, s.place, s.hide(explain(err)))
}

const checkSQL = "SELECT true FROM leases WHERE fence = $1 AND until > ledger_clock() AND " + atHomeSQL

// Check is as reconcile.Ledger says.
func (s *Store) Check(ctx context.Context, f reconcile.Fence) error {
	live, err := gather(ctx, s, "checking a lease", checkSQL, func(scan scanner) (live bool, err error) {
		err = scan(&live)
		return live, err
	}, int64(f))
	if err == nil && len(live) == 0 {
		err = fmt.Errorf("fence %d: %w", f, reconcile.ErrLeaseLost)
	}
	return err
}

// Events is as reconcile.Ledger says. An event that cannot be read makes its run unreadable, and no other.
func (s *Store) Events(ctx context.Context, run reconcile.RunID) ([]reconcile.Event, error) {
	events, err := gather(ctx, s, "reading run "+string(run), "SELECT seq, at, type, data FROM events WHERE run = $1 ORDER BY seq", func(scan scanner) (e reconcile.Event, err error) {
		var typ, data string
		if err := scan(&e.Seq, &e.At, &typ, &data); err != nil {
			return e, err
		}
		e.At = e.At.UTC()
		if e.Fact, err = reconcile.DecodeFact(typ, []byte(data)); err != nil {
			err = fmt.Errorf("event %d: %w", e.Seq, err)
		}
		return e, err
	}, string(run))
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("run %s: %w", run, reconcile.ErrNoRun)
	}
	return events, err
}

// Runs is as reconcile.Ledger says.
func (s *Store) Runs(ctx context.Context, target reconcile.Key, limit int) ([]reconcile.RunID, error) {
	query, args := "SELECT run FROM runs ORDER BY fence DESC LIMIT $1", []any{max(limit, 0)}
	if target != "" {
		query, args = "SELECT run FROM runs WHERE target = $2 ORDER BY fence DESC LIMIT $1", append(args, string(target))
	}
	return gather(ctx, s, "listing runs", query, func(scan scanner) (run reconcile.RunID, err error) {
		err = scan(&run)
		return run, err
	}, args...)
}

// Standings is as reconcile.Ledger says, by target. Each host has an epoch, and reads its own: all would be as many rows for each
// target as there are hosts.
func (s *Store) Standings(ctx context.Context, epochs ...string) (all []reconcile.Standing, err error) {
	claims, args := "SELECT "+claimsColumns+" FROM claims", []any{}
	if len(epochs) > 0 {
		claims, args = claims+" WHERE epoch = ANY($1::text[])", append(args, epochs)
	}
	err = s.look(ctx, "reading standings", func(b *pgx.Batch) {
		var now time.Time
		var once reconcile.Sharing
		next := 0
		all = nil
		b.Queue("SELECT ledger_clock()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		reading(b, "SELECT "+standingColumns+" FROM standings ORDER BY target", func(scan scanner) error {
			row, err := readStanding(scan)
			once.Standing(&row)
			all = append(all, row.At(now))
			return err
		})
		reading(b, claims+" ORDER BY target, epoch", func(scan scanner) error {
			key, c, err := readClaims(scan)
			for next < len(all) && all[next].Target < key {
				next++
			}
			if next < len(all) && all[next].Target == key {
				all[next].Claims = once.Claims(append(all[next].Claims, c))
			}
			return err
		}, args...)
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Leases is as reconcile.Ledger says, by fence.
func (s *Store) Leases(ctx context.Context) ([]reconcile.Lease, error) {
	return gather(ctx, s, "listing leases", "SELECT "+leaseColumns+" FROM leases WHERE until > (SELECT ledger_clock()) ORDER BY fence", readLease)
}

// Records is as reconcile.Ledger says.
func (s *Store) Records(ctx context.Context, family, prefix string) ([]reconcile.Record, error) {
	return gather(ctx, s, "reading records", `SELECT family, key, revision, value, expires FROM records
		WHERE family = $1 AND starts_with(key, $2) AND (expires IS NULL OR expires > (SELECT ledger_clock())) ORDER BY key`, func(scan scanner) (r reconcile.Record, err error) {
		var expires *time.Time
		err = scan(&r.Family, &r.Key, &r.Revision, &r.Value, &expires)
		r.Expires = instant(expires)
		return r, err
	}, family, prefix)
}

// Logs is as reconcile.Ledger says.
func (s *Store) Logs(ctx context.Context, run reconcile.RunID) ([]reconcile.Log, error) {
	return gather(ctx, s, "reading logs", "SELECT run, at, stream, text FROM logs WHERE run = $1 ORDER BY id", func(scan scanner) (l reconcile.Log, err error) {
		err = scan(&l.Run, &l.At, &l.Stream, &l.Text)
		l.At = l.At.UTC()
		return l, err
	}, string(run))
}
