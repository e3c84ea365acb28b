package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/ledgertest"
)

// Work is as reconcile.WorkLedger says.
func (l *ledger) Work(_ context.Context, o reconcile.WorkOrder) (item reconcile.Item, err error) {
	err = l.write(func(t *tx) error {
		fact, err := t.item(o.Item).Decide(o, t.last+1, t.now)
		if err != nil {
			return err
		}
		if by := t.reserved(fact.Scopes); by != nil && t.fault != workNotCompared {
			return by
		}
		if o.Begins() {
			t.draw()
		}
		item, err = t.happened(o.Item, fact)
		return err
	})
	return item, err
}

func (t *tx) item(id reconcile.ItemID) reconcile.Item {
	item := t.items[id]
	item.ID = id
	return item
}

// happened adds a fact to an item.
func (t *tx) happened(id reconcile.ItemID, f reconcile.WorkFact) (reconcile.Item, error) {
	was := t.items[id]
	item, err := reconcile.FoldWork(id, append(slices.Clip(was.Events), reconcile.WorkEvent{Seq: was.Next(), At: t.now, WorkFact: f}))
	if n := len(item.Events); n > 51 && f.Type == reconcile.WorkCheckpointed && item.Events[n-51].Type == f.Type && item.Events[n-51].Fence == f.Fence {
		item.Events = slices.Delete(slices.Clone(item.Events), n-51, n-50)
	}
	put(t, t.items, id, item)
	return item, err
}

// lapseWork records what has expired.
func (t *tx) lapseWork() error {
	for _, id := range slices.Sorted(maps.Keys(t.items)) {
		if i := t.items[id]; i.State == reconcile.InProgress && i.At(t.now).State != i.State {
			if _, err := t.happened(id, i.Expired()); err != nil {
				return err
			}
		}
	}
	return nil
}

// RenewWork is as reconcile.WorkLedger says.
func (l *ledger) RenewWork(_ context.Context, id reconcile.ItemID, f reconcile.Fence, ttl time.Duration) error {
	return l.write(func(t *tx) error {
		item := t.item(id)
		if item.State != reconcile.InProgress || item.Session.Fence != f {
			return fmt.Errorf("work item %s: fence %d: %w", id, f, reconcile.ErrLeaseLost)
		}
		item.Session.Until = t.now.Add(ttl)
		put(t, t.items, id, item)
		return nil
	})
}

// Item is as reconcile.WorkLedger says.
func (l *ledger) Item(_ context.Context, id reconcile.ItemID) (reconcile.Item, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	item, is := l.items[id]
	if !is {
		return item, fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
	}
	return item.At(l.clock()), nil
}

// Discard is as reconcile.WorkLedger says: every item here can be read.
func (l *ledger) Discard(ctx context.Context, id reconcile.ItemID) error {
	item, err := l.Item(ctx, id)
	if err == nil {
		err = &reconcile.UnfitError{Item: id, State: item.State, Do: "discarded"}
	}
	return err
}

// Items is as reconcile.WorkLedger says.
func (l *ledger) Items(context.Context) (open []reconcile.Item, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(l.items)) {
		if item := l.items[id].At(l.clock()); item.State != reconcile.WorkDone {
			open = append(open, item)
		}
	}
	return open, nil
}

func TestWorkLedger(t *testing.T) {
	t.Parallel()
	ledgertest.RunWork(t, newDesk)
}
