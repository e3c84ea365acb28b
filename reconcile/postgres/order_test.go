package postgres

import (
	"context"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestLockOrder: whoever waits for a row of a target keeps nothing locked that comes after it in the order in which all lock, so that
// whoever has the row gets on.
func TestLockOrder(t *testing.T) {
	t.Parallel()
	notifies := func(l reconcile.Lease, target reconcile.Key) reconcile.Settlement {
		end := quiet(l)
		end.Report.Notify, end.Logs = []reconcile.Key{target}, []reconcile.Log{{Run: l.Run, Stream: "check", Text: "x"}}
		return end
	}
	const standing = "SELECT FROM standings WHERE target = 'test:a' FOR UPDATE"
	for name, c := range map[string]struct {
		has, wants string
		do         func(s *Store, leases []reconcile.Answer) error
	}{
		"logs": {standing, "UPDATE usage SET logs = logs", func(s *Store, leases []reconcile.Answer) error {
			_, err := s.Settle(context.Background(), []reconcile.Settlement{notifies(leases[0].Lease, "test:a")})
			return err
		}},
		"many asks": {standing, "SELECT FROM standings WHERE target = 'test:b' FOR UPDATE", func(s *Store, leases []reconcile.Answer) error {
			_, err := s.Settle(context.Background(), []reconcile.Settlement{notifies(leases[0].Lease, "test:b"), notifies(leases[1].Lease, "test:a")})
			return err
		}},
		"triggers that are gone": {standing, "SELECT FROM claims WHERE target = 'test:a' FOR UPDATE", func(s *Store, _ []reconcile.Answer) error {
			return s.Commit(context.Background(), reconcile.Batch{Gone: []string{"old"}, Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:a", "test:b"}}}})
		}},
		"targets that are gone": {standing, "SELECT FROM standings WHERE target = 'test:b' FOR UPDATE", func(s *Store, _ []reconcile.Answer) error {
			return s.Commit(context.Background(), reconcile.Batch{Forget: []reconcile.Key{"test:b", "test:a"}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			s := opened(t, named(url))
			for _, target := range []reconcile.Key{"test:b", "test:a"} { // the rows lie in this order
				for _, claim := range []*reconcile.Claim{{Epoch: "old", N: 1}, {Epoch: "new", N: 1}} {
					commits(t, s, reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{target}, Claim: claim}}})
				}
			}
			leases, err := s.Grant(t.Context(), []reconcile.Bid{bid("test:x"), bid("test:y")}, ttl)
			if err != nil {
				t.Fatal(err)
			}
			rival, err := rawConn(t, url).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rival.Exec(t.Context(), c.has); err != nil {
				t.Fatal(err)
			}
			wait := waits(t, url, func() error { return c.do(s, leases) })
			for _, do := range []string{"SET LOCAL lock_timeout = '500ms'", c.wants} {
				if _, err := rival.Exec(t.Context(), do); err != nil {
					t.Errorf("%s: %v", do, err)
				}
			}
			if err := rival.Rollback(t.Context()); err != nil {
				t.Error(err)
			}
			if err := wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
