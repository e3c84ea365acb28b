package simtest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"trueup/reconcile"
)

// quiet looks, when nobody is there any more, whether something was left undone. Where processes die or fail it may be,
// until the next run for everything; and so may a target that one process has tried many times.
func (w *world) quiet(last *process) {
	for key, n := range last.tries {
		if n >= mostTries {
			w.tired[key] = w.store.standings[key].Asked
		}
	}
	if w.sort.name != "crowd" || len(w.living) > 0 {
		return
	}
	for _, t := range w.targets {
		if s := w.store.standings[t.Key]; s.Owed() && w.tired[t.Key] != s.Asked {
			w.judge(handedOver, w.owed())
		}
	}
}

// owed names a target that is.
func (w *world) owed() string {
	for _, t := range w.targets {
		if s := w.store.standings[t.Key]; s.Owed() {
			return fmt.Sprintf("%s is owed since %d, covered until %d", t.Key, s.Asked, s.Covered)
		}
	}
	return ""
}

// uncovered names something that was asked for and is not there.
func (w *world) uncovered() string {
	for _, t := range w.trigger.tickets {
		for key, version := range t.writes {
			return fmt.Sprintf("version %d of %s, ticket %s:%d", version, key, t.epoch, t.n)
		}
	}
	return w.owed()
}

// lastWords reads what is left, when nothing goes on any more.
func (w *world) lastWords() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return
	}
	reader := w.store.open("the referee")
	_ = reader.Commit(context.Background(), reconcile.Batch{}) // lapses what has expired
	for _, id := range slices.Sorted(maps.Keys(w.store.runs)) {
		if err := readable(reader, id); err != nil {
			w.judge(storiesEnd, err.Error())
		}
	}
	for key, o := range w.outside {
		for name := range o.wanted {
			if _, there := o.members[name]; !there {
				w.judge("what is wanted is so", fmt.Sprintf("%s of %s is not there", name, key))
			}
		}
	}
}

// readable tells whether a run can be read, has ended, and reads the same once it was written down and read again.
func readable(l *ledger, id reconcile.RunID) error {
	events, err := l.Events(context.Background(), id)
	if err != nil {
		return err
	}
	h, err := reconcile.Fold(events)
	if err != nil {
		return err
	}
	if h.Phase == reconcile.Running {
		return fmt.Errorf("run %s is open, and nobody is there", id)
	}
	for i, e := range events {
		typ, data, err := reconcile.EncodeFact(e.Fact)
		if err != nil {
			return err
		}
		if events[i].Fact, err = reconcile.DecodeFact(typ, data); err != nil {
			return err
		}
	}
	if again, err := reconcile.Fold(events); err != nil || !reflect.DeepEqual(again, h) {
		return fmt.Errorf("run %s is not what it was, once it was copied: %v", id, err)
	}
	return nil
}
