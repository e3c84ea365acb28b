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
	declared := r.declared()
	before, was, err := r.declaredBefore(ctx)
	if err != nil {
		return nil, err
	}
	write, err := r.redeclare(before, declared)
	if err != nil || len(write) == 0 {
		return nil, err
	}
	b := Batch{Records: write}
	for _, key := range was {
		if _, still := slices.BinarySearch(declared, key); !still {
			gone = append(gone, key)
		}
	}
	if gone, err = r.nobodys(ctx, gone); err != nil {
		return nil, err
	}
	b.Forget = gone
	for _, key := range gone {
		for _, family := range []string{heldFamily, approvalFamily, knownFamily} {
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

// declared are the targets by name.
func (r *Reconciler) declared() []Key {
	keys := make([]Key, len(r.Targets))
	for i, t := range r.Targets {
		keys[i] = t.Key
	}
	slices.Sort(keys)
	return keys
}

// declares is the write that adds what is declared now to what is on record of it; none where nothing is new, or no other host
// asks before it forgets.
func (r *Reconciler) declares(ctx context.Context) ([]Write, error) {
	if r.Host == nil {
		return nil, nil
	}
	before, was, err := r.declaredBefore(ctx)
	if err != nil {
		return nil, err
	}
	grown := slices.Concat(was, r.declared())
	slices.Sort(grown)
	return r.redeclare(before, slices.Compact(grown))
}

// declaredBefore is what is on record as declared.
func (r *Reconciler) declaredBefore(ctx context.Context) (before Record, keys []Key, err error) {
	if before, err = r.ownRecord(ctx, declaredFamily); err != nil || before.Revision == 0 {
		return before, nil, err
	}
	if err := json.Unmarshal(before.Value, &keys); err != nil {
		return before, nil, fmt.Errorf("reading what was declared before: %w", err)
	}
	return before, keys, nil
}

// redeclare is the write that puts targets on record as declared; none where they are.
func (r *Reconciler) redeclare(before Record, keys []Key) ([]Write, error) {
	now, err := json.Marshal(keys)
	if err != nil || bytes.Equal(before.Value, now) {
		return nil, err
	}
	return []Write{{Family: declaredFamily, Key: r.owner(), Revision: before.Revision, Value: now}}, nil
}

// nobodys are those of the targets that no other node declares: hosts follow a new configuration one after the other.
func (r *Reconciler) nobodys(ctx context.Context, keys []Key) ([]Key, error) {
	if len(keys) == 0 || r.Host == nil {
		return keys, nil
	}
	records, err := r.Ledger.Records(ctx, declaredFamily, "")
	if err != nil {
		return nil, err
	}
	nodes, err := r.Ledger.Records(ctx, NodeFamily, "")
	if err != nil {
		return nil, err
	}
	for _, found := range records {
		var declared []Key
		node, _, _ := strings.Cut(found.Key, " ")
		if found.Key == r.owner() || !slices.ContainsFunc(nodes, func(n Record) bool { return n.Key == node }) {
			continue // it is ours, or was left by a node that is gone
		}
		if err := json.Unmarshal(found.Value, &declared); err != nil {
			return nil, fmt.Errorf("reading what %s declares: %w", found.Key, err)
		}
		keys = slices.DeleteFunc(keys, func(key Key) bool { return slices.Contains(declared, key) })
	}
	return keys, nil
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
