package reconcile

import (
	"fmt"
	"time"
)

// An ItemReader folds work items from the rows that a store reads of them: the events of one item after the other, in their
// order. One that does not fold stops no other.
type ItemReader struct {
	order  []ItemID
	events map[ItemID][]WorkEvent
	until  map[ItemID]time.Time
	damage map[ItemID]error // the first thing that makes no sense
}

// Add takes an event of an item, with the end of its live session, which renewals move without an event; zero where none
// lives. Damage says why the row makes no sense.
func (r *ItemReader) Add(id ItemID, e WorkEvent, until time.Time, damage error) {
	if r.events == nil {
		r.events, r.until, r.damage = map[ItemID][]WorkEvent{}, map[ItemID]time.Time{}, map[ItemID]error{}
	}
	if _, known := r.until[id]; !known {
		r.order = append(r.order, id)
	}
	r.until[id] = until
	if damage != nil && r.damage[id] == nil {
		r.damage[id] = fmt.Errorf("event %d: %w", e.Seq, damage)
	}
	r.events[id] = append(r.events[id], e)
}

// Items are all that were read, in the order in which they came.
func (r *ItemReader) Items() (items []Item) {
	for _, id := range r.order {
		item, err := r.item(id)
		if err != nil {
			item = Item{ID: id, State: Unreadable, Note: err.Error()}
		}
		items = append(items, item)
	}
	return items
}

func (r *ItemReader) item(id ItemID) (Item, error) {
	if err := r.damage[id]; err != nil {
		return Item{}, err
	}
	item, err := FoldWork(id, r.events[id])
	if until := r.until[id]; err == nil && !until.IsZero() {
		item.Session.Until = until
	}
	return item, err
}

// Only is the one item that was read, or one without an event, which is as good as any. ErrUnreadable when it does not fold.
func (r *ItemReader) Only(id ItemID) (Item, error) {
	items := r.Items()
	switch {
	case len(items) == 0:
		return Item{ID: id}, nil
	case items[0].State == Unreadable:
		return items[0], fmt.Errorf("work item %s: %w: %s", id, ErrUnreadable, items[0].Note)
	}
	return items[0], nil
}
