package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Same tells whether another store is of the same ledger, whatever their addresses are.
func (s *Store) Same(ctx context.Context, other *Store) (bool, error) {
	ours, err := s.identity(ctx)
	if err != nil {
		return false, err
	}
	theirs, err := other.identity(ctx)
	return ours == theirs, err
}

// identity tells a ledger from every other one.
func (s *Store) identity(ctx context.Context) (lineage string, err error) {
	err = s.look(ctx, "looking which ledger it is", func(b *pgx.Batch) {
		b.Queue("SELECT lineage || '-' || ledger_place() FROM sequence").QueryRow(func(row pgx.Row) error { return row.Scan(&lineage) })
	})
	return lineage, err
}
