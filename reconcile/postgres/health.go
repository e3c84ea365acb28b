package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Health is what can be seen of a database beside a running sweep, but for what is in it, which Inspect looks at.
type Health struct {
	Server string // its version, for people: "15.18"
	Lapsed []reconcile.Lease
}

// Health looks at the database and changes nothing.
func (s *Store) Health(ctx context.Context) (h Health, err error) {
	err = s.look(ctx, "looking at the server", func(b *pgx.Batch) {
		h = Health{}
		b.Queue("SELECT current_setting('server_version')").QueryRow(func(row pgx.Row) error {
			return row.Scan(&h.Server)
		})
		reading(b, "SELECT "+leaseColumns+" FROM leases WHERE until <= (SELECT ledger_clock()) ORDER BY fence", func(scan scanner) error {
			l, err := readLease(scan)
			h.Lapsed = append(h.Lapsed, l)
			return err
		})
	})
	return h, err
}
