package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestStoppedInAnswer is a process that is stopped while the server answers it, about many targets of which much is known. The
// server waits for it without end where buffers do not take the answer: nothing may be locked by then.
func TestStoppedInAnswer(t *testing.T) {
	t.Parallel()
	url, w := pgtest.URL(t), &wire{}
	stopped, other := w.over(t, named(url), Options{Patience: time.Second}), opened(t, url)
	bids := make([]reconcile.Bid, 256)
	for i := range bids {
		bids[i] = bid(reconcile.Key(fmt.Sprintf("test:t%04d", i)))
	}
	granted := func() (ends []reconcile.Settlement) {
		answers, err := other.Grant(t.Context(), bids, ttl)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			end := quiet(a.Lease)
			end.Report.Note, end.Report.Notify = strings.Repeat("x", 4000), []reconcile.Key{"test:notified"}
			ends = append(ends, end)
		}
		return ends
	}
	settle(t, other, granted()...)
	for _, what := range []string{"settling", "granting"} {
		do := func() error {
			_, err := stopped.Grant(context.Background(), bids, ttl)
			return err
		}
		if what == "settling" {
			ends := granted()
			do = func() error {
				_, err := stopped.Settle(context.Background(), ends)
				return err
			}
		}
		stops, done := make(chan bool), make(chan error)
		w.do(func() {
			w.breaks = func(sent []byte) breach { // which may be no more than a look at whether the connection lives
				if bytes.Contains(sent, []byte("FROM standings WHERE target")) || bytes.Contains(sent, []byte("FROM sequence FOR UPDATE")) {
					w.stops = stops
				}
				return whole
			}
		})
		go func() { done <- do() }()
		for deadline := time.Now().Add(20 * time.Second); number(t, url, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trueup ' || current_schema()
			AND (wait_event = 'ClientWrite' OR state = 'idle in transaction')`) == 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it does not stop", what)
			}
			<-time.After(5 * time.Millisecond)
		}
		began := time.Now()
		lease(t, other, reconcile.Key("test:"+what))
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%s: another process waited %s", what, took)
		}
		w.do(func() { w.stops, w.breaks = nil, nil })
		close(stops)
		<-done
	}
}

// TestRenewBesideALock: a lease is renewed also where something is due that another process keeps locked.
func TestRenewBesideALock(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	s, other := openWith(t, d.url, Options{Patience: time.Second}), opened(t, d.url)
	defer s.Close()
	l := lease(t, s, "test:one")
	if _, err := other.Grant(t.Context(), []reconcile.Bid{bid("test:two")}, time.Second); err != nil {
		t.Fatal(err)
	}
	goOn := paused(other, func(*tx) {})
	d.Advance(time.Minute)
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence, l.Fence + 1}, ttl); err != nil || len(lost) != 1 || lost[0] != l.Fence+1 {
		t.Errorf("lost %v, %v; want the other's alone", lost, err)
	}
	if err := goOn(); err != nil {
		t.Fatal(err)
	}
}

// TestGrantUnknown: leases that a process has without knowing it are over when it ends, and not when their time is.
func TestGrantUnknown(t *testing.T) {
	t.Parallel()
	url, w := pgtest.URL(t), &wire{}
	s, other := w.over(t, url, Options{Patience: time.Second}), opened(t, url)
	w.do(func() {
		w.breaks = func(sent []byte) breach {
			if isCommit(sent) {
				w.dark = true
				return after
			}
			return whole
		}
	})
	if answers, err := s.Grant(t.Context(), []reconcile.Bid{bid("test:one")}, ttl); err == nil {
		t.Fatalf("granted %+v, and nobody can know", answers)
	}
	w.do(func() { w.dark, w.breaks = false, nil })
	if n := number(t, url, "SELECT count(*) FROM leases"); n != 1 {
		t.Fatalf("%d leases, want one of which nobody knows", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lease(t, other, "test:one")
}
