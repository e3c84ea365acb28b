package registry_test

import (
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres"
	"trueup/reconcile/postgres/pgtest"
)

type postgresDesk struct {
	url   string
	ahead time.Duration
}

func onPostgres(t *testing.T) desk { return &postgresDesk{url: pgtest.URL(t)} }

func (d *postgresDesk) open(t *testing.T, session string) reconcile.Ledger {
	t.Helper()
	s, err := postgres.Open(t.Context(), d.url, postgres.Options{Holder: session, Node: session, Session: session})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (d *postgresDesk) advance(t *testing.T, by time.Duration) {
	d.ahead += by
	pgtest.Ahead(t, d.url, d.ahead)
}
