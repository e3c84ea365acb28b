package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"trueup/reconcile"
)

// query calls do with every row of a query outside any transaction: readers see the last commit.
func (s *Store) query(ctx context.Context, doing, query string, do func(scan scanner) error, args ...any) error {
	err := func() error {
		stmt, err := s.reads.get(query)
		if err != nil {
			return err
		}
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		return eachRow(rows, do)
	}()
	if err != nil {
		return fmt.Errorf("%s in %s: %w", doing, s.path, explain(err))
	}
	return nil
}

// Check is as reconcile.Ledger says.
func (s *Store) Check(ctx context.Context, f reconcile.Fence) error {
	live := false
	err := s.query(ctx, "checking a lease", "SELECT session, boot FROM leases WHERE fence = ? AND until > ?", func(scan scanner) error {
		var session, boot string
		err := scan(&session, &boot)
		live = err == nil && s.session.alive(session, boot)
		return err
	}, int64(f), stamp(s.now()))
	if err == nil && !live {
		err = fmt.Errorf("fence %d: %w", f, reconcile.ErrLeaseLost)
	}
	return err
}

// Events is as reconcile.Ledger says. An event that cannot be read makes its run unreadable, and no other.
func (s *Store) Events(ctx context.Context, run reconcile.RunID) (events []reconcile.Event, err error) {
	err = s.query(ctx, "reading run "+string(run), "SELECT seq, at, type, data FROM events WHERE run = ? ORDER BY seq", func(scan scanner) error {
		var e reconcile.Event
		var at sql.NullString
		var typ string
		var data []byte
		if err := scan(&e.Seq, &at, &typ, &data); err != nil {
			return err
		}
		if e.At, err = instant(at); err == nil {
			e.Fact, err = reconcile.DecodeFact(typ, data)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
		events = append(events, e)
		return nil
	}, string(run))
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("run %s: %w", run, reconcile.ErrNoRun)
	}
	if err != nil {
		return nil, err
	}
	return events, nil
}

// Runs is as reconcile.Ledger says.
func (s *Store) Runs(ctx context.Context, target reconcile.Key, limit int) (runs []reconcile.RunID, err error) {
	query, args := "SELECT run FROM runs ORDER BY fence DESC LIMIT ?", []any{max(limit, 0)}
	if target != "" {
		query, args = "SELECT run FROM runs WHERE target = ? ORDER BY fence DESC LIMIT ?", []any{string(target), max(limit, 0)}
	}
	err = s.query(ctx, "listing runs", query, func(scan scanner) error {
		var run reconcile.RunID
		err := scan(&run)
		runs = append(runs, run)
		return err
	}, args...)
	return runs, err
}

// Standings is as reconcile.Ledger says, by target.
func (s *Store) Standings(ctx context.Context) (standings []reconcile.Standing, err error) {
	now := s.now()
	err = s.query(ctx, "reading standings", "SELECT "+standingColumns+" FROM standings ORDER BY target", func(scan scanner) error {
		row, err := readStanding(scan)
		standings = append(standings, row.at(now))
		return err
	})
	return standings, err
}

// Leases is as reconcile.Ledger says, by fence.
func (s *Store) Leases(ctx context.Context) (leases []reconcile.Lease, err error) {
	err = s.query(ctx, "listing leases", "SELECT "+leaseColumns+" FROM leases WHERE until > ? ORDER BY fence", func(scan scanner) error {
		h, err := readLease(scan)
		if err == nil && s.session.alive(h.session, h.boot) {
			leases = append(leases, h.Lease)
		}
		return err
	}, stamp(s.now()))
	return leases, err
}

// Records is as reconcile.Ledger says.
func (s *Store) Records(ctx context.Context, family, prefix string) (records []reconcile.Record, err error) {
	after := prefix + "\xff" // sorts behind every key that begins with the prefix: no text in UTF-8 has this byte
	err = s.query(ctx, "reading records", `SELECT family, key, revision, value, expires FROM records
		WHERE family = ? AND key >= ? AND key < ? AND (expires IS NULL OR expires > ?) ORDER BY key`, func(scan scanner) error {
		var r reconcile.Record
		var expires sql.NullString
		err := scan(&r.Family, &r.Key, &r.Revision, &r.Value, &expires)
		if err == nil {
			r.Expires, err = instant(expires)
		}
		records = append(records, r)
		return err
	}, family, prefix, after, stamp(s.now()))
	return records, err
}

// Logs is as reconcile.Ledger says.
func (s *Store) Logs(ctx context.Context, run reconcile.RunID) (logs []reconcile.Log, err error) {
	err = s.query(ctx, "reading logs", "SELECT run, at, stream, text, cut FROM logs WHERE run = ? ORDER BY id", func(scan scanner) error {
		var l reconcile.Log
		var at sql.NullString
		err := scan(&l.Run, &at, &l.Stream, &l.Text, &l.Cut)
		if err == nil {
			l.At, err = instant(at)
		}
		logs = append(logs, l)
		return err
	}, string(run))
	return logs, err
}
