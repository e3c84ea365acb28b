package export

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"trueup/reconcile"
)

// Held is what is known of a work item.
type held struct {
	item   reconcile.Item
	err    error // why its last start cannot be read
	row    bool  // the table of items, which are not done, has it
	told   bool
	scopes []placed
	last   int64 // the fence of its last session
	active bool  // that one is
	ends   bool  // and has an end
	before bool  // one before that is active
}

// told hears what a run or an item came to.
func (i *Inspector) told(run reconcile.History, item reconcile.Item, err error) error {
	if i.story.table == "events" {
		i.run(run, err)
		return nil
	}
	id := reconcile.ItemID(i.story.ID)
	h := i.items[id]
	if h == nil {
		h = &held{}
		i.items[id] = h
	}
	if h.err != nil { // of a start before this one
		i.flaw("work item "+string(id), h.err.Error(), doAge)
	}
	h.item, h.err, h.told = item, err, true
	return nil
}

// run keeps of a run what it came to.
func (i *Inspector) run(h reconcile.History, err error) {
	where := "run " + i.story.ID
	r := i.runs[i.story.ID]
	if r == nil {
		r = &ran{}
		i.runs[i.story.ID] = r
	}
	r.told = true
	switch {
	case err != nil:
		i.flaw(where, err.Error(), doNothing)
		return
	case !r.opened:
		i.flaw(where, "it has events and was never opened", doRestore)
		return
	case string(h.Lease.Run) != i.story.ID || int64(h.Lease.Fence) != r.fence || string(h.Lease.Target) != r.target:
		i.flaw(where, fmt.Sprintf("its first event is of run %s, target %s, fence %d", h.Lease.Run, h.Lease.Target, h.Lease.Fence), doRestore)
		return
	}
	if r.phase = h.Phase; h.Phase == reconcile.Running {
		r.lease = h.Lease
	}
}

func (i *Inspector) session() {
	fence, active := i.whole("fence"), i.text("state") == "active"
	i.drawn = max(i.drawn, fence)
	h := i.items[reconcile.ItemID(i.text("item"))]
	if h == nil {
		return
	}
	if fence > h.last { // they come by number
		h.before = h.before || h.active
		h.last, h.active, h.ends = fence, active, i.has("until")
	}
}

// End says what is wrong, once all was told. Last is the last number that the ledger drew.
func (i *Inspector) End(last int64) []reconcile.Flaw {
	_ = i.story.End() // told returns no error
	for _, fence := range slices.Sorted(maps.Keys(i.leases)) {
		i.lease(i.leases[fence])
	}
	for _, run := range slices.Sorted(maps.Keys(i.runs)) {
		switch r := i.runs[run]; {
		case !r.told:
			i.flaw("run "+run, "it was opened and has no events", doRestore)
		case r.phase == reconcile.Running && !r.leased:
			i.flaw("run "+run, "it has not ended, and nobody has a lease for it", doRestore)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.items)) {
		what, do := i.items[id].disagrees()
		if do == doDiscard {
			do += string(id)
		}
		if what != "" {
			i.flaw("work item "+string(id), what, do)
		}
	}
	if i.drawn > last {
		i.flaw(fmt.Sprintf("fence %d", i.drawn), "it was drawn, and the sequence is behind it", doRestore)
	}
	return i.flaws
}

// Sound is an error unless nothing is wrong.
func (i *Inspector) Sound(last int64) error {
	flaws := i.End(last)
	if len(flaws) == 0 {
		return nil
	}
	more := ""
	if len(flaws) > 1 {
		more = fmt.Sprintf(" (the first of %d things that are wrong with it)", len(flaws))
	}
	return errors.New(flaws[0].Where + ": " + flaws[0].What + more)
}

// lease holds a lease against what its run says, if it has said anything yet.
func (i *Inspector) lease(l *leased) {
	where, r := "run "+l.run, i.runs[l.run]
	scopes := inOrder(l.scopes)
	if r != nil {
		r.leased = true
	}
	switch {
	case len(scopes) == 0:
		i.flaw(where, "its lease holds no scope", doSweep)
	case r != nil && r.told && r.phase != "" && r.phase != reconcile.Running:
		i.flaw(where, fmt.Sprintf("it is %s, and still has a lease", r.phase), doSweep)
	case r != nil && r.phase == reconcile.Running && !slices.Equal(scopes, r.lease.Scopes):
		i.flaw(where, fmt.Sprintf("its events lease %v, and its lease holds %v", r.lease.Scopes, scopes), doRestore)
	case !slices.Contains(scopes, reconcile.Scope(l.target)):
		i.flaw(where, "its lease does not hold its own target", doRestore)
	}
}

func inOrder(all []placed) (scopes []reconcile.Scope) {
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for _, p := range all {
		scopes = append(scopes, p.scope)
	}
	return scopes
}

// disagrees says how the tables and the events of an item that is not done disagree: a scope that is missing lets a second
// holder in, and a session that is ended, or has no end, never lapses.
func (h *held) disagrees() (what, do string) {
	s, live := h.item.Session, h.item.State == reconcile.InProgress
	switch scopes := inOrder(h.scopes); {
	case !h.told:
		return "it has no events", doDiscard
	case h.err != nil:
		return h.err.Error(), doDiscard
	case !h.row && h.item.State == reconcile.WorkDone:
		return "", ""
	case h.row == (h.item.State == reconcile.WorkDone):
		return fmt.Sprintf("its events say %s, and the table of items the contrary", h.item.State), doRestore
	case !slices.Equal(scopes, h.item.Scopes):
		return fmt.Sprintf("its events reserve %v, and the table of scopes has %v", h.item.Scopes, scopes), doRestore
	case h.last != int64(s.Fence):
		return fmt.Sprintf("its last session has fence %d, and the table of sessions has %d", s.Fence, h.last), doRestore
	case h.active != live || h.before:
		return fmt.Sprintf("its events say %s, and the table of sessions the contrary", h.item.State), doRestore
	case live && h.ends == s.Until.IsZero():
		return "its events and the table of sessions do not agree whether its session has an end", doRestore
	}
	return "", ""
}
