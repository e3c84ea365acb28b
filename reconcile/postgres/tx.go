package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"trueup/reconcile"
)

// A tx is a write transaction under way, in its middle: what it is decided on is locked and read, and what is written is
// queued until it commits.
type tx struct {
	s    *Store
	conn *pgxpool.Conn
	ctx  context.Context
	now  time.Time       // the instant of all that it writes
	last reconcile.Fence // drawn; it counts only in a transaction that draws
	pgx.Batch
}

// A deed is what a write transaction does.
type deed struct {
	draws  bool             // it may draw numbers
	lapses bool             // it ends what has expired, and does not want it ended before
	read   func(*pgx.Batch) // queues what it has to know
	decide func(*tx) error  // queues what is to be written
}

var (
	errLost = errors.New("the transaction was not committed")
	errDue  = errors.New("something is due before")
)

// write does a deed, whole or not at all. What has expired is ended before, in a transaction of its own, so that it
// stays so also where the deed is refused.
func (s *Store) write(ctx context.Context, doing string, d deed) error {
	if s.options.ReadOnly {
		return fmt.Errorf("%s: %w: it was opened for reading", doing, reconcile.ErrUnwritable)
	}
	err := s.patiently(ctx, func(ctx context.Context) error {
		err := s.transact(ctx, d)
		for errors.Is(err, errDue) {
			if err = s.transact(ctx, lapsing()); err == nil {
				err = s.transact(ctx, d)
			}
		}
		return err
	})
	return s.failed(ctx, doing, err)
}

// failed is the error of a write: what the ledger says, the end of the context, or that nothing can be written.
func (s *Store) failed(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case !isVerdict(err) && (ctx.Err() == nil || !errors.Is(err, context.Cause(ctx))):
		err = unwritable(explain(err))
	}
	return fmt.Errorf("%s: %w", doing, s.hide(err))
}

// headSQL is the instant, and whether something is due before anything is written: it has expired by then, or the ledger is not
// where it was.
const headSQL = `WITH clock AS MATERIALIZED (SELECT ledger_clock() AS now)
	SELECT now, EXISTS (SELECT 1 FROM leases WHERE until <= now) OR EXISTS (SELECT 1 FROM records WHERE expires <= now)
		OR EXISTS (SELECT 1 FROM work_sessions WHERE state = 'active' AND until <= now)
		OR EXISTS (SELECT 1 FROM sequence WHERE home <> ledger_home()) FROM clock`

// limitsSQL bounds how long a transaction can keep others waiting, whatever becomes of this process, and how long it waits
// for them itself. What it commits outlives a crash of the server: a number that was forgotten would be drawn again.
const limitsSQL = `SELECT set_config('idle_in_transaction_session_timeout', $1::text, true), set_config('lock_timeout', $2::text, true),
	set_config('tcp_user_timeout', $2::text, true),
	set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

// transact is one transaction.
func (s *Store) transact(ctx context.Context, d deed) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	t := &tx{s: s, conn: conn, ctx: ctx}
	due, err := t.begin(d)
	if err == nil && due && !d.lapses {
		err = errDue
	}
	if err == nil {
		err = d.decide(t)
	}
	if err != nil {
		t.rollback()
		return err
	}
	return t.commit(d.draws)
}

// beginSQL says what defaults of the role or of the database may say otherwise.
const beginSQL = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// begun does something long in a transaction that begins with beginSQL.
func (s *Store) begun(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{BeginQuery: beginSQL}, do)
}

// begin is the first round trip. What is read while something is locked is little: of a process that is stopped in the middle of an answer
// which no buffer takes, the server would wait for more than it lets be idle.
func (t *tx) begin(d deed) (due bool, err error) {
	b := &pgx.Batch{}
	b.Queue(beginSQL)
	half := fmt.Sprintf("%dms", t.s.options.Patience.Milliseconds()/2)
	b.Queue(limitsSQL, half, fmt.Sprintf("%dms", t.s.options.Patience.Milliseconds()))
	if d.draws {
		b.Queue("SELECT last FROM sequence FOR UPDATE").QueryRow(func(row pgx.Row) error { return row.Scan(&t.last) })
	}
	b.Queue(headSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&t.now, &due) })
	if d.read != nil {
		d.read(b)
	}
	err = t.conn.SendBatch(t.ctx, b).Close()
	t.now = t.now.UTC()
	return due, err
}

// rollback gives up what was begun. Where that fails the connection is closed, which does the same.
func (t *tx) rollback() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), time.Second)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = t.conn.Conn().Close(ctx)
	}
}

// commit is the second round trip. The context ends it no more: who gave up half-way would have to ask what came of it.
func (t *tx) commit(draws bool) error {
	if draws {
		t.Queue("UPDATE sequence SET last = $1", int64(t.last))
	}
	receipt, told := t.s.notes.next()
	t.Queue("DELETE FROM receipts WHERE id = ANY($1::text[])", told)
	t.Queue("INSERT INTO receipts (id, committed) VALUES ($1, true)", receipt)
	t.Queue("COMMIT")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), t.s.options.Patience)
	defer cancel()
	err := t.conn.SendBatch(ctx, &t.Batch).Close()
	switch {
	case err == nil:
	case t.conn.Conn().IsClosed():
		t.conn.Release() // all of the pool may be in doubt at once
		err = t.s.doubt(ctx, receipt, err)
	default:
		t.rollback()
	}
	if err == nil {
		t.s.notes.done(receipt)
	}
	return err
}

// draw takes the next number of the sequence.
func (t *tx) draw() reconcile.Fence {
	t.last++
	return t.last
}

// each calls do with every row of a query, in a round trip of its own.
func (t *tx) each(query string, do func(scan scanner) error, args ...any) error {
	rows, err := t.conn.Query(t.ctx, query, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, do)
}

// flush writes what is queued, in a round trip of its own.
func (t *tx) flush() error {
	b := t.Batch
	t.Batch = pgx.Batch{}
	return t.conn.SendBatch(t.ctx, &b).Close()
}
