package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestDoubtStandsInTheWay: a transaction that was found not to be committed is not committed later, when what was on its way arrives.
func TestDoubtStandsInTheWay(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := opened(t, url)
	if err := s.doubt(t.Context(), "late", errors.New("lost")); !errors.Is(err, errLost) {
		t.Fatalf("in doubt about what never came: %v", err)
	}
	if _, err := rawConn(t, url).Exec(t.Context(), "INSERT INTO receipts (id, committed) VALUES ('late', true)"); err == nil {
		t.Error("it is committed after all")
	}
	if err := s.doubt(t.Context(), "late", errors.New("lost")); !errors.Is(err, errLost) {
		t.Errorf("in doubt a second time: %v", err)
	}
}

// TestRecordsMeet: of two transactions that write one record from the same revision the second is refused, when the first is done.
func TestRecordsMeet(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := opened(t, named(url))
	write := func(revision int64) error {
		return s.Commit(context.Background(), reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: "k", Revision: revision, Value: []byte("x")}}})
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	first, err := rawConn(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Exec(t.Context(), "UPDATE records SET revision = 2"); err != nil {
		t.Fatal(err)
	}
	wait := waits(t, url, func() error { return write(1) })
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := wait(); !errors.Is(err, reconcile.ErrConflict) {
		t.Errorf("the second is answered with %v", err)
	}
}

// TestLeaseEndsOnTime: until then nobody ends a lease, and from then on nobody revives it.
func TestLeaseEndsOnTime(t *testing.T) {
	t.Parallel()
	d := deskOf(t)
	s, other := opened(t, d.url), opened(t, d.url)
	lasts, ends := lease(t, s, "test:lasts"), lease(t, s, "test:ends")
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{lasts.Fence}, ttl+time.Second); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	d.Advance(ttl)
	if lost, err := s.Renew(t.Context(), []reconcile.Fence{ends.Fence}, ttl); err != nil || len(lost) != 1 {
		t.Errorf("a lease that is over is renewed: lost %v, %v", lost, err)
	}
	lease(t, other, "test:ends")
	if err := other.Check(t.Context(), lasts.Fence); err != nil {
		t.Errorf("a second before its time: %v", err)
	}
	settle(t, s, quiet(lasts))
}

// TestDataAlone: rows that are put back without what makes tables of them come whole, or not at all.
func TestDataAlone(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	opened(t, url)
	_, err := rawConn(t, url).Exec(t.Context(), `SET search_path = ''; INSERT INTO `+pgx.Identifier{pgtest.Schema(url)}.Sanitize()+`.logs (run, at, stream, text, cut)
		VALUES ('r-1', now(), 'check', 'x', 0)`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Error(err)
	}
	if n := number(t, url, "SELECT logs FROM usage"); n != 1 {
		t.Errorf("%d bytes of logs are counted", n)
	}
}
