package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Receipts are those of this store's transactions. Each transaction removes those that are of no use any more.
type receipts struct {
	mu   sync.Mutex
	told []string // of transactions whose end is known
}

// next is a name for a new receipt, and the names of those to remove.
func (r *receipts) next() (id string, told []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told, r.told = r.told, nil
	if told == nil {
		told = []string{}
	}
	return rand.Text(), told
}

// done notes that a transaction is known to be committed.
func (r *receipts) done(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, id)
}

// doubtSQL waits for the transaction in doubt, if it is still under way. Its own answer may be lost, too: the row tells whose it is.
const doubtSQL = "INSERT INTO receipts (id, committed) VALUES ($1, false) ON CONFLICT (id) DO UPDATE SET at = receipts.at RETURNING committed"

// doubt finds out whether a transaction was committed whose answer was lost, and sees to it that it is not committed later:
// the receipt is there, or this one is in its way.
func (s *Store) doubt(ctx context.Context, receipt string, lost error) error {
	committed := false
	err := s.patiently(ctx, func(ctx context.Context) error {
		b := &pgx.Batch{}
		b.Queue(beginSQL)
		b.Queue(doubtSQL, receipt).QueryRow(func(row pgx.Row) error { return row.Scan(&committed) })
		b.Queue("COMMIT")
		return s.pool.SendBatch(ctx, b).Close()
	})
	switch {
	case err != nil:
		return fmt.Errorf("whether it was written is not known, since the server does not answer: %w: %w", err, lost)
	case !committed:
		return fmt.Errorf("%w: %w", errLost, lost)
	}
	return nil
}
