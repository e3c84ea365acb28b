package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"trueup/reconcile"
)

// An itemReader gathers the events of items from rows in order, and the end of their sessions, which renewals move
// without an event.
type itemReader struct {
	order  []reconcile.ItemID
	events map[reconcile.ItemID][]reconcile.WorkEvent
	until  map[reconcile.ItemID]sql.NullString
}

const itemsSQL = `SELECT item, seq, at, type, data, (SELECT until FROM work_sessions AS s WHERE s.item = e.item AND s.state = 'active')
	FROM work_events AS e `

const (
	oneItemSQL   = itemsSQL + "WHERE item = ? ORDER BY seq"
	openItemsSQL = itemsSQL + "WHERE item IN (SELECT item FROM work_items) ORDER BY item, seq"
)

func (r *itemReader) read(scan scanner) error {
	var id reconcile.ItemID
	var e reconcile.WorkEvent
	var at, until sql.NullString
	var typ string
	var data []byte
	err := scan(&id, &e.Seq, &at, &typ, &data, &until)
	if err != nil {
		return err
	}
	if e.At, err = instant(at); err == nil {
		e.WorkFact, err = reconcile.DecodeWorkFact(typ, data)
	}
	if err != nil {
		return fmt.Errorf("event %d of work item %s: %w", e.Seq, id, err)
	}
	if r.events == nil {
		r.events, r.until = map[reconcile.ItemID][]reconcile.WorkEvent{}, map[reconcile.ItemID]sql.NullString{}
	}
	if r.events[id] == nil {
		r.order = append(r.order, id)
	}
	r.events[id], r.until[id] = append(r.events[id], e), until
	return nil
}

// items folds what was read.
func (r *itemReader) items() (items []reconcile.Item, err error) {
	for _, id := range r.order {
		item, err := reconcile.FoldWork(id, r.events[id])
		if err != nil {
			return nil, err
		}
		if until := r.until[id]; until.Valid {
			if item.Session.Until, err = instant(until); err != nil {
				return nil, err
			}
		}
		items = append(items, item)
	}
	return items, nil
}

// item reads one inside a transaction; one without an event is as good as any.
func (t *tx) item(id reconcile.ItemID) (reconcile.Item, error) {
	var r itemReader
	if err := t.each(oneItemSQL, r.read, string(id)); err != nil {
		return reconcile.Item{}, err
	}
	items, err := r.items()
	if err != nil || len(items) == 0 {
		return reconcile.Item{ID: id}, err
	}
	return items[0], nil
}

// Item is as reconcile.WorkLedger says.
func (s *Store) Item(ctx context.Context, id reconcile.ItemID) (reconcile.Item, error) {
	items, err := s.items(ctx, "reading work item "+string(id), oneItemSQL, string(id))
	if err == nil && len(items) == 0 {
		err = fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
	}
	if err != nil {
		return reconcile.Item{}, err
	}
	return items[0], nil
}

// Items is as reconcile.WorkLedger says.
func (s *Store) Items(ctx context.Context) ([]reconcile.Item, error) {
	return s.items(ctx, "listing work items", openItemsSQL)
}

func (s *Store) items(ctx context.Context, doing, query string, args ...any) ([]reconcile.Item, error) {
	var r itemReader
	now := s.now()
	if err := s.query(ctx, doing, query, r.read, args...); err != nil {
		return nil, err
	}
	items, err := r.items()
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", doing, s.path, err)
	}
	for n := range items {
		items[n] = items[n].At(now)
	}
	return items, nil
}
