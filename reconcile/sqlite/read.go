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
	before, err := readNote(s.path) // which is never ahead of the database, but where a backup was put back
	if err != nil {
		return fmt.Errorf("checking a lease: %w", err)
	}
	err = s.query(ctx, "checking a lease", "SELECT session, boot, last, lineage FROM leases, sequence WHERE fence = ? AND until > ?", func(scan scanner) error {
		var session, boot string
		var is note
		err := scan(&session, &boot, &is.last, &is.lineage)
		live = err == nil && s.session.alive(session, boot) && before.last <= is.last && before.lineage == is.lineage
		return err
	}, int64(f), stamp(s.now()))
	if s.writer != nil {
		if moved := s.writer.stands(); moved != nil { // a lease in it keeps nobody out
			return fmt.Errorf("checking a lease: %w", unwritable(moved))
		}
	}
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

// Standings is as reconcile.Ledger says, by target. On one host there are not so many claims that any were left out.
func (s *Store) Standings(ctx context.Context, _ ...string) (standings []reconcile.Standing, err error) {
	now, n := s.now(), 0
	if err := s.query(ctx, "counting standings", "SELECT count(*) FROM standings", func(scan scanner) error { return scan(&n) }); err != nil {
		return nil, err
	}
	standings = make([]reconcile.Standing, 0, n)
	var once reconcile.Sharing
	err = s.query(ctx, "reading standings", "SELECT "+standingColumns+" FROM standings ORDER BY target", func(scan scanner) error {
		row, err := readStanding(scan)
		once.Standing(&row.Standing)
		standings = append(standings, row.At(now))
		return err
	})
	if err != nil {
		return nil, err
	}
	next := 0
	err = s.query(ctx, "reading claims", "SELECT "+claimsColumns+" FROM claims ORDER BY target, epoch", func(scan scanner) error {
		key, c, err := readClaims(scan)
		for next < len(standings) && standings[next].Target < key {
			next++
		}
		if next < len(standings) && standings[next].Target == key {
			standings[next].Claims = once.Claims(append(standings[next].Claims, c))
		}
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
	err = s.query(ctx, "reading records", `SELECT `+recordColumns+` FROM records
		WHERE family = ? AND key >= ? AND key < ? AND (expires IS NULL OR expires > ?) ORDER BY key`, func(scan scanner) error {
		r, err := readRecord(scan)
		records = append(records, r)
		return err
	}, family, prefix, after, stamp(s.now()))
	return records, err
}

const recordColumns = "family, key, revision, value, expires"

// readRecord reads a row of recordColumns.
func readRecord(scan scanner) (r reconcile.Record, err error) {
	var expires sql.NullString
	if err := scan(&r.Family, &r.Key, &r.Revision, &r.Value, &expires); err != nil {
		return r, err
	}
	r.Expires, err = instant(expires)
	return r, err
}

// Logs is as reconcile.Ledger says.
func (s *Store) Logs(ctx context.Context, run reconcile.RunID) (logs []reconcile.Log, err error) {
	err = s.query(ctx, "reading logs", "SELECT run, at, stream, text FROM logs WHERE run = ? ORDER BY id", func(scan scanner) error {
		var l reconcile.Log
		var at sql.NullString
		err := scan(&l.Run, &at, &l.Stream, &l.Text)
		if err == nil {
			l.At, err = instant(at)
		}
		logs = append(logs, l)
		return err
	}, string(run))
	return logs, err
}
