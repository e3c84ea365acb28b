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
	done := Write{Family: pruneFamily, Key: "last", TTL: pruning}
	last, err := r.Ledger.Records(ctx, pruneFamily, done.Key)
	if err != nil {
		return Pruned{}, err
	}
	if len(last) > 0 {
		if !last[0].Expires.After(time.Now().Add(2 * pruning)) {
			return Pruned{}, nil
		}
		done.Revision = last[0].Revision // of a clock that was far ahead
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
	done.Value, _ = json.Marshal(pruned) // numbers cannot fail to encode
	err = r.Ledger.Commit(ctx, Batch{Records: []Write{done}})
	if errors.Is(err, ErrConflict) {
		err = nil // another sweep was quicker
	}
	return pruned, err
}
