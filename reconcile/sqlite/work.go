package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/reconcile"
)

// Work is as reconcile.WorkLedger says.
func (s *Store) Work(ctx context.Context, o reconcile.WorkOrder) (item reconcile.Item, err error) {
	err = s.write(ctx, "ordering work", func(t *tx) error {
		item, err = t.work(o)
		return err
	})
	if err != nil {
		return reconcile.Item{}, err
	}
	return item, nil
}

func (t *tx) work(o reconcile.WorkOrder) (reconcile.Item, error) {
	item, err := t.item(o.Item)
	if err != nil {
		return item, err
	}
	next, err := t.upcoming()
	if err != nil {
		return item, err
	}
	fact, err := item.Decide(o, next, t.now)
	if err != nil {
		return item, err
	}
	held, err := t.holdersOf(fact.Scopes)
	if err != nil {
		return item, err
	}
	if refused := reconcile.Reserved(fact.Scopes, held); refused != nil {
		return item, refused
	}
	if err := t.happened(o.Item, item.Next(), fact); err != nil {
		return item, err
	}
	if fact.Type == reconcile.WorkCheckpointed {
		if first, last, many := item.Surplus(); many {
			if _, err := t.exec("DELETE FROM work_events WHERE item = ? AND seq BETWEEN ? AND ?", string(item.ID), first, last); err != nil {
				return item, err
			}
		}
	}
	return t.item(o.Item)
}

// Discard is as reconcile.WorkLedger says.
func (s *Store) Discard(ctx context.Context, id reconcile.ItemID) error {
	return s.write(ctx, "discarding a work item", func(t *tx) error {
		item, err := t.item(id)
		switch {
		case err == nil && item.State == "":
			return fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
		case err == nil:
			return &reconcile.UnfitError{Item: id, State: item.State, Do: "discarded"}
		case !errors.Is(err, reconcile.ErrUnreadable):
			return err
		}
		for _, table := range []string{"work_events", "work_items"} { // and with the latter sessions and scopes
			if _, err := t.exec("DELETE FROM "+table+" WHERE item = ?", string(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// happened records a fact of an item, and does to sessions and scopes what it says. The database refuses a second holder
// of a scope and a second active session of an item, whatever was decided before.
func (t *tx) happened(id reconcile.ItemID, seq int, f reconcile.WorkFact) error {
	typ, data, err := reconcile.EncodeWorkFact(f)
	if err != nil {
		return fmt.Errorf("encoding an event of work item %s: %w: %w", id, reconcile.ErrUndecidable, err)
	}
	_, err = t.exec("INSERT INTO work_events (item, seq, at, type, data) VALUES (?, ?, ?, ?, ?)",
		string(id), seq, stamp(t.now), typ, string(data))
	if err != nil {
		return err
	}
	switch f.Type {
	case reconcile.WorkStarted:
		if err = t.reserve(id, f.Scopes); err == nil {
			err = t.beginSession(id, f)
		}
	case reconcile.WorkUnblocked:
		err = t.beginSession(id, f)
	case reconcile.WorkCheckpointed:
		_, err = t.exec("UPDATE work_sessions SET until = ? WHERE fence = ? AND state = 'active'", stampOf(f.Until), int64(f.Fence))
	case reconcile.WorkBlocked, reconcile.WorkReviewed:
		_, err = t.exec("UPDATE work_sessions SET state = 'ended' WHERE item = ? AND state = 'active'", string(id))
	case reconcile.WorkExpired:
		_, err = t.exec("UPDATE work_sessions SET state = 'expired' WHERE item = ? AND state = 'active'", string(id))
	case reconcile.WorkEnded:
		_, err = t.exec("DELETE FROM work_items WHERE item = ?", string(id)) // and with it sessions and scopes
	}
	return err
}

func (t *tx) reserve(id reconcile.ItemID, scopes []reconcile.Scope) error {
	_, err := t.exec("INSERT INTO work_items (item) VALUES (?)", string(id))
	for n, scope := range scopes {
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO scopes (scope, item, position) VALUES (?, ?, ?)", string(scope), string(id), n)
	}
	return err
}

// beginSession draws the fence that the fact was decided with: nobody else has drawn since.
func (t *tx) beginSession(id reconcile.ItemID, f reconcile.WorkFact) error {
	drawn, err := t.draw(1)
	if err == nil && drawn != f.Fence {
		err = fmt.Errorf("work item %s: drew fence %d and not %d", id, drawn, f.Fence)
	}
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO work_sessions (fence, item, holder, since, until, state) VALUES (?, ?, ?, ?, ?, 'active')",
		int64(f.Fence), string(id), f.By, stamp(t.now), stampOf(f.Until))
	return err
}

// RenewWork is as reconcile.WorkLedger says.
func (s *Store) RenewWork(ctx context.Context, id reconcile.ItemID, f reconcile.Fence, ttl time.Duration) error {
	return s.write(ctx, "renewing a session", func(t *tx) error {
		changed, err := t.exec("UPDATE work_sessions SET until = ? WHERE item = ? AND fence = ? AND state = 'active'",
			stamp(t.now.Add(ttl)), string(id), int64(f))
		if err == nil && changed == 0 {
			err = fmt.Errorf("work item %s: fence %d: %w", id, f, reconcile.ErrLeaseLost)
		}
		return err
	})
}

// lapseWork ends the sessions that have expired. It does not read the items: one that a newer trueup has written to must
// not keep every write from being done.
func (t *tx) lapseWork() (some bool, err error) {
	type expired struct {
		reconcile.Item
		last int
	}
	var over []expired
	err = t.each(`SELECT item, fence, holder, (SELECT max(seq) FROM work_events AS e WHERE e.item = s.item)
		FROM work_sessions AS s WHERE state = 'active' AND until <= ? ORDER BY fence`, func(scan scanner) error {
		var e expired
		err := scan(&e.ID, &e.Session.Fence, &e.Session.Holder, &e.last)
		over = append(over, e)
		return err
	}, stamp(t.now))
	for _, e := range over {
		if err == nil {
			err = t.happened(e.ID, e.last+1, e.Expired())
		}
	}
	return len(over) > 0, err
}

// stampOf is the end of a session that may never end.
func stampOf(until *time.Time) any {
	if until == nil {
		return nil
	}
	return stamp(*until)
}
