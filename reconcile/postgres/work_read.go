package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// What was before an item's last start decides nothing, and a name that is used for ever is read no longer than others.
const itemsSQL = ` SELECT these.item, seq, at, type, data, (SELECT until FROM work_sessions AS s WHERE s.item = these.item AND s.state = 'active')
	FROM these LEFT JOIN work_events AS e ON e.item = these.item AND seq >= coalesce(
		(SELECT max(seq) FROM work_events AS s WHERE s.item = these.item AND type = 'started'), 0)
	ORDER BY these.item, seq`

const (
	oneItemSQL = `WITH these AS (SELECT item FROM work_items WHERE item = $1::text
		UNION SELECT $1::text COLLATE "C" WHERE EXISTS (SELECT 1 FROM work_events WHERE item = $1::text))` + itemsSQL
	openItemsSQL = "WITH these AS (SELECT item FROM work_items)" + itemsSQL
)

// An itemReader reads items from rows in order.
type itemReader struct{ reconcile.ItemReader }

// read queues the reading of one item.
func (r *itemReader) read(b *pgx.Batch, id reconcile.ItemID) {
	reading(b, oneItemSQL, r.row, string(id))
}

func (r *itemReader) row(scan scanner) error {
	var id reconcile.ItemID
	var seq *int
	var at, until *time.Time
	var typ, data *string
	if err := scan(&id, &seq, &at, &typ, &data, &until); err != nil {
		return err
	}
	var e reconcile.WorkEvent
	err := errors.New("it has none")
	if seq != nil {
		e.WorkFact, err = reconcile.DecodeWorkFact(*typ, []byte(*data))
		e.Seq, e.At = *seq, instant(at)
	}
	r.Add(id, e, instant(until), err)
	return nil
}

// Item is as reconcile.WorkLedger says.
func (s *Store) Item(ctx context.Context, id reconcile.ItemID) (reconcile.Item, error) {
	var r *itemReader
	var now time.Time
	err := s.look(ctx, "reading work item "+string(id), func(b *pgx.Batch) {
		r = new(itemReader)
		b.Queue("SELECT ledger_clock()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		r.read(b, id)
	})
	if err != nil {
		return reconcile.Item{}, err
	}
	item, err := r.Only(id)
	switch {
	case err != nil:
		return reconcile.Item{}, fmt.Errorf("reading %s: %w", s.place, err)
	case item.State == "":
		return item, fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
	}
	return item.At(now), nil
}

// Items is as reconcile.WorkLedger says.
func (s *Store) Items(ctx context.Context) ([]reconcile.Item, error) {
	var r *itemReader
	var now time.Time
	var held map[reconcile.ItemID]*reconcile.Item
	err := s.look(ctx, "listing work items", func(b *pgx.Batch) {
		r, held = new(itemReader), map[reconcile.ItemID]*reconcile.Item{}
		b.Queue("SELECT ledger_clock()").QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
		reading(b, openItemsSQL, r.row)
		reading(b, heldSQL, func(scan scanner) error {
			var id reconcile.ItemID
			var scope reconcile.Scope
			var holder string
			err := scan(&id, &scope, &holder)
			if held[id] == nil {
				held[id] = &reconcile.Item{}
			}
			held[id].Scopes, held[id].Session.Holder = append(held[id].Scopes, scope), holder
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	items := r.Items()
	for n, i := range items {
		items[n] = i.At(now)
		if has := held[i.ID]; i.State == reconcile.Unreadable && has != nil {
			items[n].Scopes, items[n].Session.Holder = has.Scopes, has.Session.Holder
		}
	}
	return items, nil
}

// heldSQL is what items hold, and who held them last, whatever their events say.
const heldSQL = `SELECT item, scope, coalesce((SELECT holder FROM work_sessions AS s WHERE s.item = scopes.item ORDER BY fence DESC LIMIT 1), '')
	FROM scopes WHERE item IS NOT NULL ORDER BY item, position`
