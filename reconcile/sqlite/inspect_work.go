package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// startSQL are the events of every item on one side of its last start, from which on the store itself reads them.
const startSQL = `SELECT item, seq, at, type, data, work_items.item IS NOT NULL FROM work_events AS e LEFT JOIN work_items USING (item)
	WHERE seq %s coalesce((SELECT max(seq) FROM work_events AS s WHERE s.item = e.item AND type = 'started'), 0) ORDER BY item, seq`

// items folds every work item as the store does, and holds it against those that are not done. What was before is folded too.
func (i *inspector) items() error {
	var open bool
	s := &export.Story{}
	s.Told = func(_ reconcile.History, item reconcile.Item, err error) error {
		where := "work item " + s.ID
		switch {
		case err != nil:
			i.flaw(where, err.Error(), doDiscard+s.ID)
		case open != (item.State != reconcile.WorkDone):
			i.flaw(where, fmt.Sprintf("its events say %s, and the table of items the contrary", item.State), doRestore)
		case open:
			i.open[item.ID] = &held{item: item}
		}
		return nil
	}
	err := i.work(s, fmt.Sprintf(startSQL, ">="), &open)
	if err != nil {
		return err
	}
	s.Told = func(_ reconcile.History, _ reconcile.Item, err error) error {
		if err != nil {
			i.flaw("work item "+s.ID, err.Error(), doAge)
		}
		return nil
	}
	return i.work(s, fmt.Sprintf(startSQL, "<"), &open)
}

// work has a story of work items told. Open is whether the one that is told is not done.
func (i *inspector) work(s *export.Story, query string, open *bool) error {
	err := i.each(query, func(scan scanner) error {
		values := make([]any, 5)
		var is bool
		if err := scan(&values[0], &values[1], &values[2], &values[3], &values[4], &is); err != nil {
			return err
		}
		err := s.Row("work_events", values) // tells the item before, if this is another
		*open = is
		return err
	})
	return errors.Join(err, s.End())
}

// held is a work item that is not done, and what the tables say of it.
type held struct {
	item   reconcile.Item
	scopes []reconcile.Scope
	last   int64 // the fence of its last session
	active bool  // that one is
	ends   bool  // and has an end
	before bool  // one before that is active
}

// reservations holds scopes and sessions against what the items' events say: a scope that is missing lets a second holder in, and
// a session that is ended, or has no end, never lapses.
func (i *inspector) reservations() error {
	err := i.each("SELECT item, scope FROM scopes WHERE item IS NOT NULL ORDER BY item, position", func(scan scanner) error {
		var id reconcile.ItemID
		var scope reconcile.Scope
		err := scan(&id, &scope)
		if h := i.open[id]; h != nil {
			h.scopes = append(h.scopes, scope)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = i.each("SELECT item, fence, state = 'active', until FROM work_sessions ORDER BY item, fence", func(scan scanner) error {
		var id reconcile.ItemID
		var fence int64
		var active bool
		var until sql.NullString
		err := scan(&id, &fence, &active, &until)
		if h := i.open[id]; h != nil {
			h.before = h.before || h.active
			h.last, h.active, h.ends = fence, active, until.Valid
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(i.open)) {
		if what := i.open[id].disagrees(); what != "" {
			i.flaw("work item "+string(id), what, doRestore)
		}
	}
	return nil
}

// disagrees says how the tables and the events disagree.
func (h *held) disagrees() string {
	s, live := h.item.Session, h.item.State == reconcile.InProgress
	switch {
	case !slices.Equal(h.scopes, h.item.Scopes):
		return fmt.Sprintf("its events reserve %v, and the table of scopes has %v", h.item.Scopes, h.scopes)
	case h.last != int64(s.Fence):
		return fmt.Sprintf("its last session has fence %d, and the table of sessions has %d", s.Fence, h.last)
	case h.active != live || h.before:
		return fmt.Sprintf("its events say %s, and the table of sessions the contrary", h.item.State)
	case live && h.ends == s.Until.IsZero():
		return "its events and the table of sessions do not agree whether its session has an end"
	}
	return ""
}
