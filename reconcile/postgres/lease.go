package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

const leaseColumns = `fence, run, target, holder, reason, asked, since, until,
	ARRAY(SELECT scope FROM scopes WHERE scopes.fence = leases.fence ORDER BY position)`

// readLease reads a row of leaseColumns.
func readLease(scan scanner) (l reconcile.Lease, err error) {
	var asked *time.Time
	err = scan(&l.Fence, &l.Run, &l.Target, &l.Holder, &l.Reason, &asked, &l.Since, &l.Until, &l.Scopes)
	l.Asked, l.Since, l.Until = instant(asked), l.Since.UTC(), l.Until.UTC()
	return l, err
}

// atHomeSQL tells leases of this database from those that came along with it from another, and from what a standby knows late.
const atHomeSQL = "(SELECT home LIKE '%-' || ledger_place() AND NOT pg_is_in_recovery() FROM sequence)"

// renewSQL prolongs what is live, in the order in which all lock leases.
const renewSQL = `UPDATE leases SET until = (SELECT ledger_clock()) + $1::bigint * interval '1 microsecond' WHERE fence IN (
		SELECT fence FROM leases WHERE session = $2::text AND fence = ANY($3::bigint[]) AND until > (SELECT ledger_clock()) AND ` + atHomeSQL + `
			ORDER BY fence FOR UPDATE)
	RETURNING fence`

// Renew is as reconcile.Ledger says. It is one round trip, which may be done twice. Whatever has expired is left to whoever writes next:
// a lease that was renewed is not lost because something else is in the way.
func (s *Store) Renew(ctx context.Context, fences []reconcile.Fence, ttl time.Duration) (lost []reconcile.Fence, err error) {
	if len(fences) == 0 {
		return nil, nil
	}
	if s.options.ReadOnly {
		return nil, fmt.Errorf("renewing leases: %w: it was opened for reading", reconcile.ErrUnwritable)
	}
	var renewed map[reconcile.Fence]bool
	err = s.patiently(ctx, func(ctx context.Context) error {
		renewed = map[reconcile.Fence]bool{}
		b := &pgx.Batch{}
		b.Queue(beginSQL)
		reading(b, renewSQL, func(scan scanner) error {
			var f reconcile.Fence
			err := scan(&f)
			renewed[f] = true
			return err
		}, ttl.Microseconds(), s.options.Session, numbers(fences))
		b.Queue("COMMIT")
		return s.pool.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return nil, s.failed(ctx, "renewing leases", err)
	}
	for _, f := range fences {
		if !renewed[f] {
			lost = append(lost, f)
		}
	}
	return lost, nil
}

// Supersede ends the leases that processes of the node hold which began before this one: the node has begun another session,
// and whatever went on in the older ones goes on no more. It returns how many there were.
func (s *Store) Supersede(ctx context.Context, node string) (ended int, err error) {
	err = s.write(ctx, "ending the leases of node "+node, deed{draws: true, decide: func(t *tx) error {
		over, err := t.expired(`SELECT fence, 'its node began another session' FROM leases WHERE node = $1 AND session <> $2 ORDER BY fence FOR UPDATE`, node, t.s.options.Session)
		ended = len(over)
		if err == nil {
			err = t.end(over)
		}
		return err
	}})
	return ended, err
}

// holds tells whether this process may hold leases.
type holds struct{ ever atomic.Bool }

func (h *holds) grew()     { h.ever.Store(true) }
func (h *holds) any() bool { return h.ever.Load() }

// giveUp ends the session: its leases are over by now.
func (s *Store) giveUp() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Patience/4)
	defer cancel()
	b := &pgx.Batch{}
	b.Queue(beginSQL)
	b.Queue(`UPDATE leases SET session = '', until = (SELECT ledger_clock()) WHERE fence IN (
		SELECT fence FROM leases WHERE session = $1 ORDER BY fence FOR UPDATE)`, s.options.Session)
	_, told := s.notes.next()
	b.Queue("DELETE FROM receipts WHERE id = ANY($1::text[])", told)
	b.Queue("COMMIT")
	err := s.pool.SendBatch(ctx, b).Close()
	if err != nil {
		return fmt.Errorf("giving leases back, which lapse by time now: %w", s.hide(explain(err)))
	}
	return nil
}
