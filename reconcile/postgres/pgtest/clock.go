package pgtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Ahead sets the clock of the ledger in a schema ahead of the server's, by so much from now on.
func Ahead(t testing.TB, address string, by time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const clock = `CREATE OR REPLACE FUNCTION ledger_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT clock_timestamp() + interval ''%d microseconds'''`
	if _, err := conn.Exec(t.Context(), fmt.Sprintf(clock, by.Microseconds())); err != nil {
		t.Fatalf("setting the ledger's clock: %v", err)
	}
}
