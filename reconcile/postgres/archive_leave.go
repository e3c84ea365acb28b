package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"trueup/reconcile"
)

// closedCode is that of the error with which a ledger that has moved refuses to be written.
const closedCode = "TUMOV"

// Leave is as reconcile.Archive says. What somebody writes at that moment comes to its end before.
func (s *Store) Leave(ctx context.Context, place string, carry func(ctx context.Context) error) error {
	var over bool
	err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE until <= ledger_clock())
		OR EXISTS (SELECT 1 FROM work_sessions WHERE state = 'active' AND until <= ledger_clock())`).Scan(&over)
	if err == nil && over {
		err = s.lapse(ctx)
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", s.place, s.hide(unwritable(explain(err))))
	}
	if most := s.pool.Config().MaxConns; most < 2 {
		return fmt.Errorf("closing %s: it takes two connections at once: pool_max_conns is %d", s.place, most)
	}
	var failed error
	err = s.begun(ctx, func(tx pgx.Tx) error {
		if err := alone(ctx, tx, 3*s.options.Patience); err != nil {
			return err
		}
		if err := free(ctx, tx); err != nil {
			return err
		}
		if failed = s.beating(ctx, tx, carry); failed != nil {
			return failed
		}
		return shut(ctx, tx, place)
	})
	if failed != nil {
		return failed // which says itself what was being done
	}
	if err != nil {
		if _, held := errors.AsType[*reconcile.ReservedError](err); !held {
			err = unwritable(explain(err))
		}
		return fmt.Errorf("closing %s: %w", s.place, s.hide(err))
	}
	return nil
}

// beating does something for as long as it takes while the transaction goes on, and shows the server meanwhile that somebody is there.
func (s *Store) beating(ctx context.Context, tx pgx.Tx, do func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done, still := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(still)
		for {
			select {
			case <-done:
				return
			case <-time.After(s.options.Patience / 2):
			}
			if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
				stop(fmt.Errorf("keeping others from writing to %s meanwhile: %w", s.place, s.hide(explain(err))))
				return
			}
		}
	}()
	err := do(ctx)
	close(done)
	<-still
	return err
}

// alone keeps everybody else from writing until the transaction ends, which may be a while; but not for longer than that once this
// process stands still.
func alone(ctx context.Context, tx pgx.Tx, most time.Duration) (err error) {
	limit := fmt.Sprintf("%dms", most.Milliseconds())
	if _, err := tx.Exec(ctx, "SELECT set_config('idle_in_transaction_session_timeout', $1, true)", limit); err != nil {
		return err
	}
	for range 20 {
		err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // whose locks go where it fails
			_, err := tx.Exec(ctx, "LOCK TABLE sequence, "+strings.Join(tableNames(), ", ")+" IN EXCLUSIVE MODE")
			return err
		})
		if crossed, is := errors.AsType[*pgconn.PgError](err); !is || crossed.Code != "40P01" {
			return err
		}
	}
	return err
}

// free refuses where somebody holds what no other place would know of in time.
func free(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "UPDATE sequence SET last = last"); err != nil { // which one that has left refuses
		return err
	}
	var r reconcile.ReservedError
	var scope reconcile.Scope
	err := tx.QueryRow(ctx, `SELECT run, '', holder, until, scope FROM leases JOIN scopes USING (fence)
		UNION ALL SELECT '', work_sessions.item, holder, until, scope FROM work_sessions JOIN scopes ON scopes.item = work_sessions.item
			WHERE state = 'active' AND until IS NOT NULL LIMIT 1`).Scan(&r.Run, &r.Item, &r.Holder, &r.Until, &scope)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	r.Scopes, r.Until = []reconcile.Scope{scope}, r.Until.UTC()
	return &r
}

// shut has the database refuse whatever is to be written, also by who has it open and by who knows nothing of this.
func shut(ctx context.Context, tx pgx.Tx, place string) error {
	word := "'" + strings.ReplaceAll(movedTo(place), "'", "''") + "'"
	b := &pgx.Batch{}
	b.Queue("CREATE FUNCTION ledger_moved() RETURNS trigger LANGUAGE plpgsql AS " +
		"$moved$BEGIN RAISE EXCEPTION USING MESSAGE = " + word + ", ERRCODE = '" + closedCode + "'; END$moved$")
	for _, name := range append(tableNames(), "sequence") {
		b.Queue("CREATE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE ON " + name + " FOR EACH STATEMENT EXECUTE FUNCTION ledger_moved()")
	}
	return tx.SendBatch(ctx, b).Close()
}
