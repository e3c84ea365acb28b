package plan

import (
	"context"
	"errors"

	"trueup/reconcile"
)

// A Hold is what waits for a person's answer.
type Hold struct {
	Target  reconcile.Key
	Run     reconcile.RunID // that raised it
	Changes int             // how many
	Why     string
	Told    bool // somebody was told of it, see Tell

	record kept[hold]
}

// Waiting lists what waits for an answer, of one target or, where none is named, of all of them. A run that held something back is not among them once it was
// answered, once other changes wait in its place, or once nothing waits any more.
func Waiting(ctx context.Context, r Records, target reconcile.Key) ([]Hold, error) {
	holds, err := list[hold](ctx, r, heldFamily, string(target))
	if err != nil {
		return nil, err
	}
	var waiting []Hold
	for _, k := range holds {
		if h := k.value; h.Answer == unanswered && (target == "" || k.key == string(target)) {
			waiting = append(waiting, Hold{reconcile.Key(k.key), h.Run, len(h.Changes), h.Why, h.Told, k})
		}
	}
	return waiting, nil
}

// Tell notes that somebody was told, so that nobody is told again. Who is killed between the telling and the note tells
// twice, and nobody never. Where the hold has changed since, there is nothing to note.
func (h Hold) Tell(ctx context.Context, l reconcile.Ledger) error {
	h.record.value.Told = true
	err := l.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{h.record.put(h.record.value, 0)}})
	if errors.Is(err, reconcile.ErrConflict) {
		return nil
	}
	return err
}
