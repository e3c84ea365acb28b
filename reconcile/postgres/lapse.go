package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// lapse ends what has expired.
func (s *Store) lapse(ctx context.Context) error {
	return s.patiently(ctx, func(ctx context.Context) error { return s.transact(ctx, lapsing()) })
}

// moved has the numbers leap in a ledger that is not where it was: restored from a backup, or on a standby that was promoted. What was
// drawn meanwhile, or was on its way, is not drawn again. Leases and sessions that came along from another database are over: nobody knows
// who else holds their scopes. A standby that was promoted has gone on where the primary ended, and so do their holders.
func (t *tx) moved() error {
	var home string
	var still, near bool
	const where = "SELECT home = ledger_home(), home LIKE '%-' || ledger_place(), ledger_home() FROM sequence"
	if err := t.conn.QueryRow(t.ctx, where).Scan(&still, &near, &home); err != nil || still {
		return err
	}
	t.last = reconcile.Fence(export.Beyond(int64(t.last), t.now))
	t.Queue("UPDATE sequence SET home = $1, lineage = md5(random()::text || clock_timestamp()::text)", home)
	if !near {
		t.Queue("UPDATE leases SET session = '', until = since")
		t.Queue("UPDATE work_sessions SET until = since WHERE state = 'active' AND until IS NOT NULL")
	}
	return t.flush()
}

// Leap says that the ledger is not where it was, also where it cannot see that itself: whoever knows of something later than is in it. The
// next write has the numbers leap, and leases and sessions are over.
func (s *Store) Leap(ctx context.Context) error {
	return s.write(ctx, "having the numbers leap", deed{decide: func(t *tx) error {
		t.Queue("UPDATE sequence SET home = ''")
		return nil
	}})
}

// lapsing ends the leases that have expired and the sessions of work items that have, and removes records that have. It is
// rare, and takes a few round trips more.
func lapsing() deed {
	return deed{draws: true, lapses: true, decide: func(t *tx) error {
		t.Queue("DELETE FROM receipts WHERE at < clock_timestamp() - interval '1 hour'") // of processes that died
		if err := t.moved(); err != nil {
			return err
		}
		t.Queue(`DELETE FROM records WHERE (family, key) IN (SELECT family, key FROM records WHERE expires <= $1 ORDER BY family, key FOR UPDATE)`, t.now)
		over, err := t.expired(`SELECT fence, CASE session WHEN '' THEN 'its holder is gone' ELSE 'not renewed in time' END
			FROM leases WHERE until <= $1 ORDER BY fence FOR UPDATE`, t.now)
		if err == nil {
			err = t.end(over)
		}
		if err == nil {
			err = t.lapseWork()
		}
		return err
	}}
}

// expired are leases that are over, each with the reason.
func (t *tx) expired(query string, args ...any) (over map[reconcile.Fence]string, err error) {
	over = map[reconcile.Fence]string{}
	err = t.each(query, func(scan scanner) error {
		var f reconcile.Fence
		var why string
		err := scan(&f, &why)
		over[f] = why
		return err
	}, args...)
	return over, err
}

// end closes the runs of leases that are over, for the reasons given, and leaves their targets owed.
func (t *tx) end(over map[reconcile.Fence]string) error {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(over)), ending) {
		if err := t.endSome(some, over); err != nil {
			return err
		}
	}
	return nil
}

// ending is of how many targets standings are read at once, see begin.
const ending = 32

func (t *tx) endSome(fences []reconcile.Fence, over map[reconcile.Fence]string) error {
	var leases []reconcile.Lease
	var runs []reconcile.RunID
	var targets []reconcile.Key
	err := t.each(`SELECT `+leaseColumns+` FROM leases WHERE fence = ANY($1::bigint[]) ORDER BY fence`, func(scan scanner) error {
		l, err := readLease(scan)
		leases, runs, targets = append(leases, l), append(runs, l.Run), append(targets, l.Target)
		return err
	}, numbers(fences))
	if err != nil {
		return err
	}
	var at heads
	var known standings
	known.read(&t.Batch, targets)
	at.read(&t.Batch, runs)
	if err := t.flush(); err != nil {
		return err
	}
	w := writes{}
	for _, l := range leases {
		if err := t.expire(&w, l, over[l.Fence], at.of(l.Run), &known); err != nil {
			return fmt.Errorf("lapsing the lease of run %s: %w", l.Run, err)
		}
	}
	t.put(&w)
	t.Queue("DELETE FROM leases WHERE fence = ANY($1::bigint[])", numbers(fences))
	return nil
}

func (t *tx) expire(w *writes, l reconcile.Lease, why string, at head, known *standings) error {
	facts, report := reconcile.Lapsed(l, at.last > 0, why)
	if !at.closed {
		if err := w.append(t.now, l, l.Run, at.last, facts); err != nil {
			return err
		}
	}
	w.tally = append(w.tally, tallied{Target: l.Target, Fence: l.Fence, State: reconcile.Lapse})
	s := known.of(l.Target).After(report, t.now)
	w.stand(s, false)
	if !s.Owed() {
		w.owed = append(w.owed, standingRow{Target: s.Target, Asked: t.draw(), AskedAt: stamp(t.now), Reason: clean(report.Note)})
	}
	return nil
}
