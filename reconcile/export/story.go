package export

import (
	"fmt"
	"strings"
	"time"

	"trueup/reconcile"
)

// TimeForm is how an instant stands in an export: text in UTC that sorts by time.
const TimeForm = "2006-01-02T15:04:05.000000Z"

// Instant reads an instant as it stands in an export, and in stores that keep text.
func Instant(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text) // a fifth of the time that another form takes
	if err != nil || len(text) != len(TimeForm) || !strings.HasSuffix(text, "Z") {
		return time.Time{}, fmt.Errorf("%q is no instant, which has the form %s", text, TimeForm)
	}
	return at, nil
}

// Stamp writes an instant as Instant reads it. What lies beyond four digits of a year, as nonsense from outside may, is the
// last instant that they can say.
func Stamp(t time.Time) string {
	if last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC); t.After(last) {
		t = last
	}
	return t.UTC().Format(TimeForm)
}

// A Story is the events of one run or work item at a time, as they come in the order of their tables, folded when the
// next one's begin.
type Story struct {
	table  string
	ID     string // of the run or item that is told
	events []reconcile.Event
	work   []reconcile.WorkEvent
	err    error // why an event could not be read
	after  int   // how many came after the first that could not be read
	// Told hears what the story came to; what it returns is the error of whoever tells. Nil refuses what does not fold.
	Told func(h reconcile.History, i reconcile.Item, err error) error
}

// Row hears of a row of any table: id, number, instant, type and data where it is an event's.
func (s *Story) Row(table string, values []any) error {
	if table != "events" && table != "work_events" {
		return s.End()
	}
	id, at := fmt.Sprint(values[0]), fmt.Sprint(values[2])
	if table != s.table || id != s.ID {
		if err := s.End(); err != nil {
			return err
		}
		s.table, s.ID = table, id
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

func (s *Story) event(values []any, at string) error {
	when, err := Instant(at)
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

// End folds what was heard.
func (s *Story) End() error {
	if s.table == "" {
		return nil
	}
	h, i, err := s.fold(max(len(s.events), len(s.work)))
	switch {
	case s.Told != nil:
		err = s.Told(h, i, err)
	case err != nil:
		err = &misfit{err, s.misfits()}
	}
	s.table, s.events, s.work, s.err, s.after = "", nil, nil, nil, 0
	return err
}

// fold folds the first n events.
func (s *Story) fold(n int) (h reconcile.History, i reconcile.Item, err error) {
	switch {
	case s.err != nil:
		err = s.err
	case s.table == "events":
		h, err = reconcile.Fold(s.events[:n])
	default:
		i, err = reconcile.FoldWork(reconcile.ItemID(s.ID), s.work[:n])
	}
	return h, i, err
}

// A misfit is an event that cannot be read, or does not follow those before it.
type misfit struct {
	error
	after int // how many events of the story came after it
}

// misfits is how many events come after the one at which the story no longer folds.
func (s *Story) misfits() int {
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
