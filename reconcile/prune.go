package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	pruning    = 24 * time.Hour // between prunings that sweeps do
	mostPruned = 50             // transactions in one sweep: seconds at most, and others go on meanwhile
)

// prune cuts what is no longer kept, once a day and not too much in one sweep. What is left over is the next one's.
func (r *Reconciler) prune(ctx context.Context) (Pruned, error) {
	if r.Archive == nil {
		return Pruned{}, nil
	}
	last, err := r.Ledger.Records(ctx, pruneFamily, "last")
	if err != nil || len(last) > 0 {
		return Pruned{}, err
	}
	keep := r.Keep
	keep.Most = mostPruned
	pruned, err := r.Archive.Prune(ctx, keep)
	if err != nil {
		return pruned, fmt.Errorf("pruning the ledger: %w", err)
	}
	if pruned.More {
		return pruned, nil
	}
	value, _ := json.Marshal(pruned) // numbers cannot fail to encode
	err = r.Ledger.Commit(ctx, Batch{Records: []Write{{Family: pruneFamily, Key: "last", Value: value, TTL: pruning}}})
	if errors.Is(err, ErrConflict) {
		err = nil // another sweep was quicker
	}
	return pruned, err
}
