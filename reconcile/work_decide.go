package reconcile

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A WorkOrder is what somebody wants of a work item.
type WorkOrder struct {
	Item ItemID
	Do   WorkFactType // what is to have happened: any but WorkExpired
	By   string       // who orders it, for people
	// Fence is the session's, which a checkpoint needs, and everything that ends a live session: who works is not
	// interrupted by somebody who does not know of it. Where nobody works it stays zero.
	Fence  Fence
	Scopes []Scope       // to reserve, with a start; all or none
	For    time.Duration // how long the session lives unless it is renewed; for ever when zero
	Note   string        // why, or how far
}

// Begins tells whether the order begins a session.
func (o WorkOrder) Begins() bool { return o.Do == WorkStarted || o.Do == WorkUnblocked }

// until is when a session that is begun or renewed by the order expires.
func (o WorkOrder) until(now time.Time) *time.Time {
	if o.For == 0 {
		return nil
	}
	until := now.Add(o.For).Truncate(time.Microsecond)
	return &until
}

// Decide says what an order comes to at an instant; next is the fence of the session that it would begin. It looks at the
// item alone: whether the scopes of a start are free is for the store to say, in the same transaction.
func (i Item) Decide(o WorkOrder, next Fence, now time.Time) (WorkFact, error) {
	f := WorkFact{Type: o.Do, By: o.By, Note: o.Note}
	switch {
	case o.Fence != 0 && i.State != "" && (i.State != InProgress || o.Fence != i.Session.Fence):
		return f, fmt.Errorf("work item %s: fence %d: %w", i.ID, o.Fence, ErrLeaseLost) // whatever the item may do by now
	case o.Do == WorkExpired || !i.takes(o.Do):
		return f, i.unfit(o.Do)
	case o.Do == WorkStarted && len(o.Scopes) == 0:
		return f, fmt.Errorf("work item %s: it reserves no scope: %w", i.ID, ErrUndecidable)
	case o.For < 0:
		return f, fmt.Errorf("work item %s: a session of %s: %w", i.ID, o.For, ErrUndecidable)
	}
	live := i.State == InProgress
	switch {
	case o.Begins():
		f.Fence, f.Until = next, o.until(now)
	case live && o.Fence == 0:
		return f, fmt.Errorf("work item %s: %s works on it until %s: %w", i.ID, inLine(i.Session.Holder), shownUntil(i.Session.Until), ErrFenceNeeded)
	case live:
		f.Fence = i.Session.Fence
	}
	switch o.Do {
	case WorkStarted:
		f.Scopes = distinct(o.Scopes)
	case WorkCheckpointed:
		f.Until = o.until(now)
	}
	return f, nil
}

func (i Item) unfit(do WorkFactType) error {
	if i.State == "" {
		return fmt.Errorf("work item %s: %w", i.ID, ErrNoItem)
	}
	return &UnfitError{Item: i.ID, State: i.State, Do: do}
}

// UnfitError says that an item's state does not allow what was ordered.
type UnfitError struct {
	Item  ItemID
	State WorkState
	Do    WorkFactType // in the word of the fact that would have followed, or "discarded"
}

func (e *UnfitError) Error() string {
	return fmt.Sprintf("work item %s is %s, so it cannot be %s", e.Item, e.State, strings.ReplaceAll(string(e.Do), "_", " "))
}

// distinct is the scopes in their order, none twice.
func distinct(scopes []Scope) (once []Scope) {
	for _, s := range scopes {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}
