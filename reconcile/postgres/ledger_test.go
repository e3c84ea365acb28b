package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
	"trueup/reconcile/ledgertest"
	"trueup/reconcile/postgres/pgtest"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, newDesk)
}

func TestWorkLedger(t *testing.T) {
	t.Parallel()
	ledgertest.RunWork(t, newDesk)
}

func newDesk(t *testing.T) ledgertest.Store { return deskOf(t) }

// A desk is a schema of the test's own, with a clock that moves on demand.
type desk struct {
	t    *testing.T
	url  string
	conn *pgx.Conn
}

func deskOf(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, url: pgtest.URL(t)}
	opened(t, d.url) // which makes the tables
	d.conn = rawConn(t, d.url)
	d.exec("CREATE TABLE test_clock AS SELECT timestamptz '2026-11-29T14:02:11.123456Z' AS now")
	d.exec("CREATE OR REPLACE FUNCTION ledger_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT now FROM test_clock'")
	return d
}

func (d *desk) Open(t *testing.T) ledgertest.Ledger {
	return openWith(t, d.url, Options{Holder: "a test"})
}

func (d *desk) Advance(by time.Duration) {
	d.exec("UPDATE test_clock SET now = now + $1::bigint * interval '1 microsecond'", by.Microseconds())
}

func (d *desk) Plant(t *testing.T, run reconcile.RunID, seq int, typ, data string) {
	t.Helper()
	d.exec(`INSERT INTO events VALUES ($1, $2, '2026-11-29T14:02:11Z', $3, $4)
		ON CONFLICT (run, seq) DO UPDATE SET type = excluded.type, data = excluded.data`, string(run), seq, typ, data)
}

func (d *desk) exec(query string, args ...any) {
	d.t.Helper()
	if _, err := d.conn.Exec(context.Background(), query, args...); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
}

// openWith opens a store, which the test closes.
func openWith(t *testing.T, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rawConn is the schema as any other program sees it.
func rawConn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}
