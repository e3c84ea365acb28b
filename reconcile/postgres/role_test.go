package postgres

import (
	"net/url"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestRoleDefaults: what the role or the database has as defaults changes nothing.
func TestRoleDefaults(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"datestyle=German", "datestyle=SQL,DMY", "default_transaction_read_only=on", "default_transaction_isolation=serializable",
		"client_encoding=LATIN1", "timezone=Asia/Kolkata", "synchronous_commit=off", "intervalstyle=sql_standard"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			address := pgtest.URL(t) + "&options=-c%20" + url.QueryEscape(setting)
			s := opened(t, address)
			commits(t, s, reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:é"}, Reason: "a test"}}})
			l := lease(t, s, "test:é")
			if lost, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence}, ttl); err != nil || len(lost) > 0 {
				t.Errorf("renewing: lost %v, %v", lost, err)
			}
			settle(t, s, quiet(l))
			standings, err := s.Standings(t.Context())
			if err != nil || len(standings) != 1 || standings[0].Owed() || standings[0].Ticked.Before(l.Since) || standings[0].Target != "test:é" {
				t.Errorf("standings %+v, %v", standings, err)
			}
			var durable string
			err = s.write(t.Context(), "a test", deed{decide: func(t *tx) error {
				return t.each("SHOW synchronous_commit", func(scan scanner) error { return scan(&durable) })
			}})
			if err != nil || durable != "on" {
				t.Errorf("synchronous_commit is %s, %v", durable, err)
			}
		})
	}
	_, err := Open(t.Context(), pgtest.URL(t)+"&options=-c%20bytea_output%3Descape", Options{})
	if err == nil || !strings.Contains(err.Error(), "SET bytea_output = hex") {
		t.Errorf("with another form of bytes: %v", err)
	}
}
