package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"trueup/reconcile"
)

// lostSQL leaves word in a database that goes on after the numbers of one that is gone: whoever opens it may be killed before
// anybody has heard.
const lostSQL = "INSERT OR IGNORE INTO records (family, key, revision, value) VALUES ('" + reconcile.LostFamily +
	"', 'ledger', 1, CAST(json_object('last', ?) AS BLOB))"

// TellLoss tells, until it has been told once, that the ledger was gone and that a new one was made in its place: what was
// reserved and paused in it is no longer. It gives the number up to which it had drawn.
func (s *Store) TellLoss(ctx context.Context, tell func(last reconcile.Fence)) error {
	records, err := s.Records(ctx, reconcile.LostFamily, "")
	if err != nil || len(records) == 0 {
		return err
	}
	r := records[0]
	var lost struct{ Last reconcile.Fence }
	if err := json.Unmarshal(r.Value, &lost); err != nil {
		return fmt.Errorf("reading record %s %s: %w", r.Family, r.Key, err)
	}
	tell(lost.Last)
	return s.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{{Family: r.Family, Key: r.Key, Revision: r.Revision}}})
}
