package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// An ear hears, and keeps what it hears. Its connection can be cut.
type ear struct {
	t *testing.T

	mu    sync.Mutex
	heard []reconcile.Key
	ready int
	alive int
	deaf  int
}

// listening is an ear that hears by now.
func listening(t *testing.T, url string) *ear {
	t.Helper()
	return listeningOver(t, opened(t, url))
}

func listeningOver(t *testing.T, s *Store) *ear {
	t.Helper()
	e := &ear{t: t}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		err := s.Listen(ctx, Listener{
			Heard: func(k reconcile.Key) error { e.note(func() { e.heard = append(e.heard, k) }); return nil },
			Ready: func() { e.note(func() { e.ready++ }) },
			Alive: func() { e.note(func() { e.alive++ }) },
			Probe: 50 * time.Millisecond,
			Deaf:  func(error, time.Duration) { e.note(func() { e.deaf++ }) },
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("listening: %v", err)
		}
	})
	t.Cleanup(done.Wait)
	t.Cleanup(stop)
	e.until("it hears", func() bool { return e.ready == 1 && len(e.heard) == 1 })
	return e
}

func (e *ear) note(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

func (e *ear) until(what string, is func() bool) {
	e.t.Helper()
	late := time.After(20 * time.Second)
	for {
		e.mu.Lock()
		so := is()
		e.mu.Unlock()
		if so {
			return
		}
		select {
		case <-late:
			e.t.Fatalf("in vain until %s: heard %q, ready %d, deaf %d times", what, e.heard, e.ready, e.deaf)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func opened(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, Options{Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func aloud(keys ...reconcile.Key) reconcile.Batch {
	return reconcile.Batch{Ask: []reconcile.Ask{{Targets: keys, Aloud: true}}}
}

func commits(t *testing.T, s *Store, b reconcile.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestHints: what is asked aloud is told once it is committed; nothing else is.
func TestHints(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s, e, elsewhere := opened(t, url), listening(t, url), listening(t, pgtest.URL(t))
	commits(t, s, reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"command:quiet"}}}})
	refused := aloud("command:refused")
	refused.Records = []reconcile.Write{{Family: "node", Key: "x", Revision: 7, Value: []byte("{}")}}
	if err := s.Commit(t.Context(), refused); !errors.Is(err, reconcile.ErrConflict) {
		t.Fatalf("a batch that conflicts: %v", err)
	}
	commits(t, s, aloud("command:a", "command:b"))
	e.until("both are heard", func() bool { return len(e.heard) == 3 && e.heard[1] == "command:a" && e.heard[2] == "command:b" })
	var many []reconcile.Key
	for i := range mostHints + 1 {
		many = append(many, reconcile.Key(fmt.Sprintf("command:n%d", i)))
	}
	commits(t, s, aloud(many...))
	e.until("many are told as one", func() bool { return len(e.heard) == 4 && e.heard[3] == "" })
	elsewhere.note(func() {
		if len(elsewhere.heard) != 1 {
			t.Errorf("heard in another schema: %q", elsewhere.heard)
		}
	})
}

// TestListenerIsCut: what is told while the connection is away is lost, so when it hears again anything may be owed (PGL-02).
func TestListenerIsCut(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s, e := opened(t, url), listening(t, url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const cut = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = $1`
	var channel string
	if err := conn.QueryRow(t.Context(), "SELECT "+channelSQL).Scan(&channel); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := conn.QueryRow(t.Context(), cut, "LISTEN "+pgx.Identifier{channel}.Sanitize()).Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d connections listened, %v", n, err)
	}
	e.until("it is deaf", func() bool { return e.deaf > 0 })
	commits(t, s, aloud("command:a"))
	e.until("it hears again", func() bool { return e.ready == 2 && e.heard[len(e.heard)-1] == "" })
	commits(t, s, aloud("command:b"))
	e.until("it has heard", func() bool { return e.heard[len(e.heard)-1] == "command:b" })
}

// TestListenerFails: who cannot do anything about what it hears is told so.
func TestListenerFails(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	err := opened(t, pgtest.URL(t)).Listen(t.Context(), Listener{Heard: func(reconcile.Key) error { return full }, Ready: func() {}})
	if !errors.Is(err, full) {
		t.Errorf("listening: %v", err)
	}
}

// TestListenThroughAPooler: one that gives each transaction another connection takes LISTEN, and lets nothing be heard. That is
// found out, and told.
func TestListenThroughAPooler(t *testing.T) {
	t.Parallel()
	s := opened(t, pooled(t, pgtest.Schema(pgtest.URL(t))))
	err := s.Listen(t.Context(), Listener{Heard: func(reconcile.Key) error { return errors.New("it heard") }, Ready: func() {}})
	if !errors.Is(err, ErrUnheard) {
		t.Errorf("listening: %v", err)
	}
}

// TestListenerIsInTheDark: where nothing comes through any more and nothing says so, it is found out.
func TestListenerIsInTheDark(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	w := &wire{}
	e := listeningOver(t, w.over(t, url, Options{Holder: "a test"}))
	e.until("it has looked twice", func() bool { return e.alive > 1 })
	commits(t, opened(t, url), aloud("command:a"))
	e.until("it hears all the same", func() bool { return e.heard[len(e.heard)-1] == "command:a" })
	w.do(func() { w.dark = true })
	e.until("it is deaf", func() bool { return e.deaf > 0 })
}
