package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// forget drops what is known of targets that this reconciler declared in an earlier sweep and no longer does, with what
// waits for a person or was approved about them: declared again, they begin anew. A marker stays, since what it is about
// may have been done. Targets of other reconcilers on the same ledger are not its business.
func (r *Reconciler) forget(ctx context.Context) (gone []Key, err error) {
	declared := make([]Key, len(r.Targets))
	for i, t := range r.Targets {
		declared[i] = t.Key
	}
	slices.Sort(declared)
	now, err := json.Marshal(declared)
	if err != nil {
		return nil, err
	}
	before, err := r.ownRecord(ctx, declaredFamily)
	if err != nil || bytes.Equal(before.Value, now) {
		return nil, err
	}
	b := Batch{Records: []Write{{Family: declaredFamily, Key: r.owner(), Revision: before.Revision, Value: now}}}
	if before.Revision > 0 {
		var was []Key
		if err := json.Unmarshal(before.Value, &was); err != nil {
			return nil, fmt.Errorf("reading what was declared before: %w", err)
		}
		for _, key := range was {
			if _, still := slices.BinarySearch(declared, key); !still {
				gone = append(gone, key)
			}
		}
	}
	b.Forget = gone
	for _, key := range gone {
		for _, family := range []string{heldFamily, approvalFamily} {
			drops, err := r.dropping(ctx, family, key)
			if err != nil {
				return nil, err
			}
			b.Records = append(b.Records, drops...)
		}
	}
	if err := r.Ledger.Commit(ctx, b); !errors.Is(err, ErrConflict) {
		return gone, err
	}
	return nil, nil // another sweep was quicker, or a person said something about one of them: the next sweep looks again
}

// dropping are the writes that drop a target's records of a family, whose keys begin with the target.
func (r *Reconciler) dropping(ctx context.Context, family string, key Key) (drops []Write, err error) {
	records, err := r.Ledger.Records(ctx, family, string(key))
	for _, found := range records {
		if found.Key == string(key) || strings.HasPrefix(found.Key, string(key)+" ") {
			drops = append(drops, Write{Family: family, Key: found.Key, Revision: found.Revision})
		}
	}
	return drops, err
}
