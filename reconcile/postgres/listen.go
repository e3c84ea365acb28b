package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// channelSQL is the channel that asks are told on: those who listen in one database hear every schema's.
const channelSQL = `'trueup ' || left(current_schema(), 56)`

// tellSQL tells who listens, once and when the transaction is committed.
const tellSQL = `SELECT pg_notify(` + channelSQL + `, hint) FROM unnest($1::text[]) AS hint`

const (
	mostHints = 64  // of one transaction; more are told as one
	anything  = "*" // the hint that something is owed
	hello     = "hello "
)

// tell queues hints of what was asked aloud.
func (t *tx) tell(asks []reconcile.Ask) {
	var hints []string
	for _, a := range asks {
		if a.Aloud {
			for _, key := range a.Targets {
				hints = append(hints, string(key))
			}
		}
	}
	if len(hints) > mostHints {
		hints = []string{anything}
	}
	if len(hints) > 0 {
		t.Queue(tellSQL, hints)
	}
}

// A Listener hears of what is asked aloud, see reconcile.Ask. Hints are lost while nothing listens, and so nothing may depend on them.
type Listener struct {
	Heard func(target reconcile.Key) error // of a target; empty: something may be owed, since nobody knows what was missed
	Ready func()                           // it hears from here on
	Alive func()                           // it still does: now and then
	Deaf  func(why error, again time.Duration)
	Probe time.Duration // between looks whether the connection lives; 30 s when zero
}

// ErrUnheard means that hints do not arrive although the server takes them, as through a pooler that gives each transaction
// another connection.
var ErrUnheard = errors.New("what is told does not arrive here, as through a transaction pooler")

const (
	probing = 30 * time.Second // see Listener
	answers = 5 * time.Second  // to come within
	longest = 30 * time.Second // between tries to connect
)

// Listen hears, on a connection of its own, until the context ends. A connection that is lost is made anew, and then as
// ever since the first anything may be owed. It fails when the listener does, and with ErrUnheard at the first try.
func (s *Store) Listen(ctx context.Context, l Listener) error {
	wait := time.Second
	for heard := false; ; {
		err := s.listen(ctx, l, func() { heard, wait = true, time.Second })
		own, failed := errors.AsType[*listenerError](err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case failed:
			return own.error
		case !heard && errors.Is(err, ErrUnheard):
			return fmt.Errorf("listening at %s: %w", s.place, err)
		}
		l.Deaf(s.hide(explain(err)), wait)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
			wait = min(2*wait, longest)
		}
	}
}

// A listenerError is why the listener gave up.
type listenerError struct{ error }

// listen hears for as long as one connection lasts.
func (s *Store) listen(ctx context.Context, l Listener, heard func()) error {
	conn, channel, err := s.tune(ctx)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(end)
	}()
	if err := s.greet(ctx, conn, channel); err != nil {
		return err
	}
	heard()
	l.Ready()
	for hint := anything; ; {
		if hint != "" {
			if err := l.Heard(meant(hint)); err != nil {
				return &listenerError{err}
			}
		}
		if hint, err = s.next(ctx, conn, l); err != nil {
			return err
		}
	}
}

// tune connects and listens.
func (s *Store) tune(ctx context.Context) (conn *pgx.Conn, channel string, err error) {
	limit, cancel := context.WithTimeout(ctx, s.options.Patience)
	defer cancel()
	if conn, err = pgx.ConnectConfig(limit, s.pool.Config().ConnConfig.Copy()); err != nil {
		return nil, "", err
	}
	if err = conn.QueryRow(limit, "SELECT "+channelSQL).Scan(&channel); err == nil {
		_, err = conn.Exec(limit, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	}
	if err != nil {
		_ = conn.Close(limit)
	}
	return conn, channel, err
}

// greet tells something on another connection, and waits until it is heard on this one. Other hints meanwhile are as good as
// what is taken for owed afterwards.
func (s *Store) greet(ctx context.Context, conn *pgx.Conn, channel string) error {
	word := hello + rand.Text()
	limit, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	if _, err := s.pool.Exec(limit, "SELECT pg_notify($1::text, $2::text)", channel, word); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(limit)
		switch {
		case err != nil && limit.Err() != nil && ctx.Err() == nil:
			return ErrUnheard
		case err != nil:
			return err
		case n.Payload == word:
			return nil
		}
	}
}

// next is the next hint; empty when there was none for a while, and the connection lives.
func (s *Store) next(ctx context.Context, conn *pgx.Conn, l Listener) (string, error) {
	limit, cancel := context.WithTimeout(ctx, cmp.Or(l.Probe, probing))
	defer cancel()
	n, err := conn.WaitForNotification(limit)
	if err == nil {
		if strings.HasPrefix(n.Payload, hello) {
			return "", nil // somebody else's
		}
		return n.Payload, nil
	}
	if ctx.Err() != nil || limit.Err() == nil {
		return "", err
	}
	probe, end := context.WithTimeout(ctx, answers)
	defer end()
	if err := conn.Ping(probe); err != nil {
		return "", err
	}
	l.Alive()
	return "", nil
}

// meant is the target of a hint; none when it is no target's.
func meant(hint string) reconcile.Key {
	key, _ := reconcile.ParseKey(hint)
	return key
}
