package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"trueup/reconcile"
)

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

// An itemReader reads items from rows in order.
type itemReader struct{ reconcile.ItemReader }

func (r *itemReader) read(scan scanner) error {
	var id reconcile.ItemID
	var seq sql.NullInt64
	var at, typ, data, until sql.NullString
	if err := scan(&id, &seq, &at, &typ, &data, &until); err != nil {
		return err
	}
	e := reconcile.WorkEvent{Seq: int(seq.Int64)}
	ends, err := instant(until)
	if err == nil && !seq.Valid {
		err = errors.New("it has none")
	}
	if err == nil {
		e.At, err = instant(at)
	}
	if err == nil {
		e.WorkFact, err = reconcile.DecodeWorkFact(typ.String, []byte(data.String))
	}
	r.Add(id, e, ends, err)
	return nil
}

// item reads one inside a transaction.
func (t *tx) item(id reconcile.ItemID) (reconcile.Item, error) {
	var r itemReader
	if err := t.each(oneItemSQL, r.read, string(id)); err != nil {
		return reconcile.Item{}, err
	}
	return r.Only(id)
}

// Item is as reconcile.WorkLedger says.
func (s *Store) Item(ctx context.Context, id reconcile.ItemID) (reconcile.Item, error) {
	r, now := new(itemReader), s.now()
	if err := s.query(ctx, "reading work item "+string(id), oneItemSQL, r.read, string(id)); err != nil {
		return reconcile.Item{}, err
	}
	item, err := r.Only(id)
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
	r, now := new(itemReader), s.now()
	if err := s.query(ctx, "listing work items", openItemsSQL, r.read); err != nil {
		return nil, err
	}
	items := r.Items()
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
