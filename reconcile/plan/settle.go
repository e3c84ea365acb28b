package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"trueup/reconcile"
)

// A recovery is what became of a change that an earlier run began, and what becomes of its marker.
type recovery struct {
	reconcile.Recover
	marker reconcile.Write
}

// withoutMarked is the plan without what markers speak against.
//
// A marker goes when the plan shows that its change is so: it is not wanted any more, and nothing is unknown. Until then
// the outside is asked. What has happened is only slow to show and is not done again, what has not is, and of what cannot
// be told nothing is done. Where the kind cannot ask, the change is doubtful.
func (t *Ticker[W]) withoutMarked(ctx context.Context, s *sight[W], p reconcile.Plan) reconcile.Plan {
	asker, asks := t.kind.(Asker[W])
	dark := slices.ContainsFunc(p, func(c reconcile.Change) bool { return c.Op == reconcile.Unknown })
	s.doubtful = map[string]reconcile.RunID{}
	wanted, undo := set(p), map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(s.markers.values)) {
		m := s.markers.of(id)
		shows := !wanted[id] && !dark
		if m.value.Done && shows {
			s.stale = append(s.stale, m.drop()...)
			continue
		}
		if !asks && !shows {
			s.doubtful[id] = m.value.Run
			continue
		}
		happened, err := true, error(nil)
		if asks {
			happened, err = asker.Happened(ctx, s.in, s.seen, m.value.Change)
		}
		undo[id] = err != nil || happened
		if err != nil {
			s.failures = append(s.failures, failure{m.value.Change, fmt.Errorf("asking whether run %s did it: %w", m.value.Run, err)})
		} else {
			s.recover(m, happened, shows)
		}
	}
	return without(p, undo)
}

// recover notes what the outside says of a change, where the ledger does not say the same already.
func (s *sight[W]) recover(m kept[marker], happened, shows bool) {
	r := recovery{Recover: reconcile.Recover{Run: m.value.Run, Change: m.value.Change.ID, Happened: happened}}
	switch {
	case !happened || shows:
		r.marker = m.drop()[0]
	case m.value.Done:
		return
	default:
		m.value.Done = true
		r.marker = m.put(m.value, 0)
	}
	s.recovered = append(s.recovered, r)
}
