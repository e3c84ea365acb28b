package sqlite

import (
	"database/sql"
	"fmt"

	"trueup/reconcile"
)

// A story is the events of one run or work item at a time, as they come in the order of their tables, folded when the
// next one's begin.
type story struct {
	table  string
	id     string
	events []reconcile.Event
	work   []reconcile.WorkEvent
	err    error // why an event could not be read
	after  int   // how many came after the first that could not be read
	// told is what the story came to; what it returns is the error of whoever tells. Nil refuses what does not fold.
	told func(h reconcile.History, i reconcile.Item, err error) error
}

// row hears of a row of any table: id, number, instant, type and data where it is an event's.
func (s *story) row(table string, values []any) error {
	if table != "events" && table != "work_events" {
		return s.end()
	}
	id, at := fmt.Sprint(values[0]), fmt.Sprint(values[2])
	if table != s.table || id != s.id {
		if err := s.end(); err != nil {
			return err
		}
		s.table, s.id = table, id
	}
	if s.err != nil {
		s.after++
		return nil // the rest of what cannot be read
	}
	if err := s.event(values, at); err != nil {
		s.err = fmt.Errorf("event %v of %s: %w", values[1], id, err)
	}
	return nil
}

func (s *story) event(values []any, at string) error {
	when, err := instant(sql.NullString{String: at, Valid: true})
	if err != nil {
		return err
	}
	seq, _ := values[1].(int64) // what is no number is out of order
	typ, data := fmt.Sprint(values[3]), []byte(fmt.Sprint(values[4]))
	if s.table == "events" {
		fact, err := reconcile.DecodeFact(typ, data)
		s.events = append(s.events, reconcile.Event{Seq: int(seq), At: when, Fact: fact})
		return err
	}
	fact, err := reconcile.DecodeWorkFact(typ, data)
	s.work = append(s.work, reconcile.WorkEvent{Seq: int(seq), At: when, WorkFact: fact})
	return err
}

// end folds what was heard.
func (s *story) end() error {
	if s.table == "" {
		return nil
	}
	h, i, err := s.fold(max(len(s.events), len(s.work)))
	if s.told == nil && err != nil {
		err = &misfit{err, s.misfits()}
	}
	told := s.told
	s.table, s.events, s.work, s.err, s.after = "", nil, nil, nil, 0
	if told != nil {
		return told(h, i, err)
	}
	return err
}

// fold folds the first n events.
func (s *story) fold(n int) (h reconcile.History, i reconcile.Item, err error) {
	switch {
	case s.err != nil:
		err = s.err
	case s.table == "events":
		h, err = reconcile.Fold(s.events[:n])
	default:
		i, err = reconcile.FoldWork(reconcile.ItemID(s.id), s.work[:n])
	}
	return h, i, err
}

// A misfit is an event that cannot be read, or does not follow those before it.
type misfit struct {
	error
	after int // how many events of the story came after it
}

// misfits is how many events come after the one at which the story no longer folds.
func (s *story) misfits() int {
	if s.err != nil {
		return s.after
	}
	all := max(len(s.events), len(s.work))
	for n := 1; n < all; n++ {
		if _, _, err := s.fold(n); err != nil {
			return all - n
		}
	}
	return 0
}
