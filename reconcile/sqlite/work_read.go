package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"trueup/reconcile"
)

// An itemReader gathers the events of items from rows in order, and the end of their sessions, which renewals move
// without an event.
type itemReader struct {
	order  []reconcile.ItemID
	events map[reconcile.ItemID][]reconcile.WorkEvent
	until  map[reconcile.ItemID]sql.NullString
	damage map[reconcile.ItemID]error // the first thing that makes no sense
}

// What was before an item's last start decides nothing, and a name that is used for ever is read no longer than others.
const itemsSQL = ` SELECT these.item, seq, at, type, data, (SELECT until FROM work_sessions AS s WHERE s.item = these.item AND s.state = 'active')
	FROM these LEFT JOIN work_events AS e ON e.item = these.item AND seq >= coalesce(
		(SELECT seq FROM work_events AS s WHERE s.item = these.item AND type = 'started' ORDER BY seq DESC LIMIT 1), 0)
	ORDER BY these.item, seq`

const (
	oneItemSQL = `WITH these AS (SELECT item FROM work_items WHERE item = ?1
		UNION SELECT ?1 WHERE EXISTS (SELECT 1 FROM work_events WHERE item = ?1))` + itemsSQL
	openItemsSQL = "WITH these AS (SELECT item FROM work_items)" + itemsSQL
)

func newItemReader() *itemReader {
	return &itemReader{events: map[reconcile.ItemID][]reconcile.WorkEvent{}, until: map[reconcile.ItemID]sql.NullString{}, damage: map[reconcile.ItemID]error{}}
}

func (r *itemReader) read(scan scanner) error {
	var id reconcile.ItemID
	var seq sql.NullInt64
	var at, typ, data, until sql.NullString
	if err := scan(&id, &seq, &at, &typ, &data, &until); err != nil {
		return err
	}
	if _, known := r.until[id]; !known {
		r.order = append(r.order, id)
	}
	r.until[id] = until
	e := reconcile.WorkEvent{Seq: int(seq.Int64)}
	err := errors.New("it has none")
	if seq.Valid {
		e.At, err = instant(at)
	}
	if err == nil {
		e.WorkFact, err = reconcile.DecodeWorkFact(typ.String, []byte(data.String))
	}
	if err != nil && r.damage[id] == nil {
		r.damage[id] = fmt.Errorf("event %d: %w", e.Seq, err)
	}
	r.events[id] = append(r.events[id], e)
	return nil
}

// items folds what was read. One that does not fold stops no other.
func (r *itemReader) items() (items []reconcile.Item) {
	for _, id := range r.order {
		item, err := r.item(id)
		if err != nil {
			item = reconcile.Item{ID: id, State: reconcile.Unreadable, Note: err.Error()}
		}
		items = append(items, item)
	}
	return items
}

func (r *itemReader) item(id reconcile.ItemID) (item reconcile.Item, err error) {
	if err := r.damage[id]; err != nil {
		return item, err
	}
	if item, err = reconcile.FoldWork(id, r.events[id]); err != nil {
		return item, err
	}
	if until := r.until[id]; until.Valid {
		item.Session.Until, err = instant(until)
	}
	return item, err
}

// only is the one item that was read, or one without an event, which is as good as any.
func (r *itemReader) only(id reconcile.ItemID) (reconcile.Item, error) {
	items := r.items()
	switch {
	case len(items) == 0:
		return reconcile.Item{ID: id}, nil
	case items[0].State == reconcile.Unreadable:
		return items[0], fmt.Errorf("work item %s: %w: %s", id, reconcile.ErrUnreadable, items[0].Note)
	}
	return items[0], nil
}

// item reads one inside a transaction.
func (t *tx) item(id reconcile.ItemID) (reconcile.Item, error) {
	r := newItemReader()
	if err := t.each(oneItemSQL, r.read, string(id)); err != nil {
		return reconcile.Item{}, err
	}
	return r.only(id)
}

// Item is as reconcile.WorkLedger says.
func (s *Store) Item(ctx context.Context, id reconcile.ItemID) (reconcile.Item, error) {
	r, now := newItemReader(), s.now()
	if err := s.query(ctx, "reading work item "+string(id), oneItemSQL, r.read, string(id)); err != nil {
		return reconcile.Item{}, err
	}
	item, err := r.only(id)
	switch {
	case err != nil:
		return reconcile.Item{}, fmt.Errorf("reading %s: %w", s.path, err)
	case item.State == "":
		return item, fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
	}
	return item.At(now), nil
}

// Items is as reconcile.WorkLedger says.
func (s *Store) Items(ctx context.Context) ([]reconcile.Item, error) {
	r, now := newItemReader(), s.now()
	if err := s.query(ctx, "listing work items", openItemsSQL, r.read); err != nil {
		return nil, err
	}
	items := r.items()
	for n, i := range items {
		items[n] = i.At(now)
		if i.State != reconcile.Unreadable {
			continue
		}
		err := s.query(ctx, "listing scopes", heldSQL, func(scan scanner) error {
			var scope reconcile.Scope
			err := scan(&scope, &items[n].Session.Holder)
			items[n].Scopes = append(items[n].Scopes, scope)
			return err
		}, string(i.ID))
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// heldSQL is what an item holds, and who held it last, whatever its events say.
const heldSQL = `SELECT scope, coalesce((SELECT holder FROM work_sessions AS s WHERE s.item = scopes.item ORDER BY fence DESC LIMIT 1), '')
	FROM scopes WHERE item = ? ORDER BY position`
