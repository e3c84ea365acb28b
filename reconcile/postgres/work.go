package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Work is as reconcile.WorkLedger says.
func (s *Store) Work(ctx context.Context, o reconcile.WorkOrder) (item reconcile.Item, err error) {
	o.By, o.Note = clean(o.By), clean(o.Note)
	var r *itemReader
	var held holders
	read := func(b *pgx.Batch) {
		r = new(itemReader)
		r.read(b, o.Item)
		held.read(b, o.Scopes)
	}
	err = s.write(ctx, "ordering work", deed{draws: true, read: read, decide: func(t *tx) error {
		item, err = t.work(o, r, &held)
		return err
	}})
	if err != nil {
		return reconcile.Item{}, err
	}
	return item, nil
}

func (t *tx) work(o reconcile.WorkOrder, r *itemReader, held *holders) (reconcile.Item, error) {
	item, err := r.Only(o.Item)
	if err != nil {
		return item, err
	}
	fact, err := item.Decide(o, t.last+1, t.now)
	if err != nil {
		return item, err
	}
	if refused := reconcile.Reserved(fact.Scopes, held.by); refused != nil {
		return item, refused
	}
	if o.Begins() {
		t.draw()
	}
	if err := t.happened(o.Item, item.Next(), fact); err != nil {
		return item, err
	}
	if first, last, many := item.Surplus(); many && fact.Type == reconcile.WorkCheckpointed {
		t.Queue("DELETE FROM work_events WHERE item = $1 AND seq BETWEEN $2 AND $3", string(item.ID), first, last)
	}
	after := new(itemReader)
	after.read(&t.Batch, o.Item)
	if err := t.flush(); err != nil {
		return item, err
	}
	return after.Only(o.Item)
}

// Discard is as reconcile.WorkLedger says.
func (s *Store) Discard(ctx context.Context, id reconcile.ItemID) error {
	var r *itemReader
	read := func(b *pgx.Batch) {
		r = new(itemReader)
		r.read(b, id)
	}
	return s.write(ctx, "discarding a work item", deed{draws: true, read: read, decide: func(t *tx) error {
		item, err := r.Only(id)
		switch {
		case err == nil && item.State == "":
			return fmt.Errorf("work item %s: %w", id, reconcile.ErrNoItem)
		case err == nil:
			return &reconcile.UnfitError{Item: id, State: item.State, Do: "discarded"}
		case !errors.Is(err, reconcile.ErrUnreadable):
			return err
		}
		for _, table := range []string{"work_events", "work_items"} { // and with the latter sessions and scopes
			t.Queue("DELETE FROM "+table+" WHERE item = $1", string(id))
		}
		return nil
	}})
}

// happened records a fact of an item, and does to sessions and scopes what it says. The database refuses a second holder
// of a scope and a second active session of an item, whatever was decided before.
func (t *tx) happened(id reconcile.ItemID, seq int, f reconcile.WorkFact) error {
	typ, data, err := reconcile.EncodeWorkFact(f)
	if err != nil {
		return fmt.Errorf("encoding an event of work item %s: %w: %w", id, reconcile.ErrUndecidable, err)
	}
	t.Queue("INSERT INTO work_events (item, seq, at, type, data) VALUES ($1, $2, $3, $4, $5)", string(id), seq, t.now, typ, cleanJSON(string(data)))
	switch f.Type {
	case reconcile.WorkStarted:
		t.Queue("INSERT INTO work_items (item) VALUES ($1)", string(id))
		t.Queue("INSERT INTO scopes (scope, item, position) SELECT scope, $1::text, n - 1 FROM unnest($2::text[]) WITH ORDINALITY AS s (scope, n)", string(id), list(f.Scopes))
		t.beginSession(id, f)
	case reconcile.WorkUnblocked:
		t.beginSession(id, f)
	case reconcile.WorkCheckpointed:
		t.Queue("UPDATE work_sessions SET until = $1::timestamptz WHERE fence = $2 AND state = 'active'", f.Until, int64(f.Fence))
	case reconcile.WorkBlocked, reconcile.WorkReviewed:
		t.Queue("UPDATE work_sessions SET state = 'ended' WHERE item = $1 AND state = 'active'", string(id))
	case reconcile.WorkExpired:
		t.Queue("UPDATE work_sessions SET state = 'expired' WHERE item = $1 AND state = 'active'", string(id))
	case reconcile.WorkEnded:
		t.Queue("DELETE FROM work_items WHERE item = $1", string(id)) // and with it sessions and scopes
	}
	return nil
}

func (t *tx) beginSession(id reconcile.ItemID, f reconcile.WorkFact) {
	t.Queue("INSERT INTO work_sessions (fence, item, holder, since, until, state) VALUES ($1, $2, $3, $4, $5::timestamptz, 'active')",
		int64(f.Fence), string(id), f.By, t.now, f.Until)
}

// RenewWork is as reconcile.WorkLedger says.
func (s *Store) RenewWork(ctx context.Context, id reconcile.ItemID, f reconcile.Fence, ttl time.Duration) error {
	live := false
	read := func(b *pgx.Batch) {
		live = false
		reading(b, "SELECT true FROM work_sessions WHERE item = $1 AND fence = $2 AND state = 'active' FOR UPDATE",
			func(scan scanner) error { return scan(&live) }, string(id), int64(f))
	}
	return s.write(ctx, "renewing a session", deed{read: read, decide: func(t *tx) error {
		if !live {
			return fmt.Errorf("work item %s: fence %d: %w", id, f, reconcile.ErrLeaseLost)
		}
		t.Queue("UPDATE work_sessions SET until = $1::timestamptz WHERE fence = $2", stamp(t.now.Add(ttl)), int64(f))
		return nil
	}})
}

// lapseWork ends the sessions that have expired. It does not read the items: one that a newer trueup has written to must
// not keep every write from being done.
func (t *tx) lapseWork() error {
	type expired struct {
		reconcile.Item
		last int
	}
	var over []expired
	err := t.each(`SELECT item, fence, holder, coalesce((SELECT max(seq) FROM work_events AS e WHERE e.item = s.item), 0)
		FROM work_sessions AS s WHERE state = 'active' AND until <= $1 ORDER BY fence FOR UPDATE`, func(scan scanner) error {
		var e expired
		err := scan(&e.ID, &e.Session.Fence, &e.Session.Holder, &e.last)
		over = append(over, e)
		return err
	}, t.now)
	for _, e := range over {
		if err == nil {
			err = t.happened(e.ID, e.last+1, e.Expired())
		}
	}
	return err
}
