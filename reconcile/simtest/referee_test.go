package simtest

import (
	"fmt"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// mostTries is how often one process tries a target before it leaves it to the next.
const mostTries = 5

// A referee keeps its own book of leases, from what passes the ports. Its methods are called under the world's lock.
type referee struct {
	book     map[reconcile.Fence]*entry
	greatest reconcile.Fence
	writes   map[reconcile.Scope]reconcile.Fence // the last write's fence
	raised   map[reconcile.Key]string            // the digest of what was raised last and not approved
	working  map[reconcile.ItemID][]reconcile.Scope
	sessions map[reconcile.ItemID]reconcile.Session
	tired    map[reconcile.Key]reconcile.Fence // the ask that was left to the next process
}

type entry struct {
	reconcile.Lease
	p    *process
	over bool
}

func newReferee() referee {
	return referee{book: map[reconcile.Fence]*entry{}, writes: map[reconcile.Scope]reconcile.Fence{}, raised: map[reconcile.Key]string{},
		working: map[reconcile.ItemID][]reconcile.Scope{}, sessions: map[reconcile.ItemID]reconcile.Session{}, tired: map[reconcile.Key]reconcile.Fence{}}
}

// live tells whether a lease is, by the book.
func (w *world) live(f reconcile.Fence) bool {
	e := w.book[f]
	return e != nil && !e.over && !e.p.session.over && e.Until.After(w.clock())
}

// lapse is what each write of the store does first.
func (w *world) lapse() {
	for f, e := range w.book {
		e.over = e.over || !w.live(f)
	}
}

func (w *world) granted(p *process, answers []reconcile.Answer) {
	w.lapse()
	for _, a := range answers {
		l := a.Lease
		if a.Refused != nil {
			w.tellLocked("%s: refused: %v", p.name, a.Refused)
			continue
		}
		w.tellLocked("%s: fence %d, run %s of %s", p.name, l.Fence, l.Run, l.Target)
		for f, e := range w.book {
			if s := common(e.Scopes, l.Scopes); s != "" && !e.over {
				w.judge(oneHolder, fmt.Sprintf("%s is granted under fence %d, and %s holds it under %d", s, l.Fence, e.p.name, f))
			}
		}
		for id, scopes := range w.working {
			if s := common(scopes, l.Scopes); s != "" {
				w.judge(oneHolder, fmt.Sprintf("%s is granted under fence %d, and work item %s holds it", s, l.Fence, id))
			}
		}
		w.drawn(l.Fence)
		w.book[l.Fence] = &entry{Lease: l, p: p}
	}
}

func (w *world) drawn(f reconcile.Fence) {
	if f <= w.greatest {
		w.judge("fences grow", fmt.Sprintf("%d after %d", f, w.greatest))
	}
	w.greatest = f
}

// common is a scope of both.
func common(a, b []reconcile.Scope) reconcile.Scope {
	for _, s := range a {
		if slices.Contains(b, s) {
			return s
		}
	}
	return ""
}

// worked judges an order that was followed. An item holds its scopes until it is done.
func (w *world) worked(o reconcile.WorkOrder, item reconcile.Item, err error) {
	w.lapse()
	if err != nil {
		return
	}
	if o.Begins() {
		w.drawn(item.Session.Fence)
	}
	switch o.Do {
	case reconcile.WorkStarted:
		for f, e := range w.book {
			if s := common(e.Scopes, item.Scopes); s != "" && !e.over {
				w.judge(oneHolder, fmt.Sprintf("work item %s reserves %s, and %s holds it under %d", item.ID, s, e.p.name, f))
			}
		}
		for id, scopes := range w.working {
			if s := common(scopes, item.Scopes); s != "" {
				w.judge(oneHolder, fmt.Sprintf("work items %s and %s hold %s", item.ID, id, s))
			}
		}
		w.working[item.ID] = item.Scopes
	case reconcile.WorkCheckpointed:
		if w.sessions[item.ID].Fence != o.Fence || !w.sessions[item.ID].Until.After(w.clock()) {
			w.judge(liveOnly, fmt.Sprintf("work item %s is checkpointed under fence %d", item.ID, o.Fence))
		}
	case reconcile.WorkEnded:
		delete(w.working, item.ID)
	}
	w.sessions[item.ID] = item.Session
}

func (w *world) renewed(p *process, fences, lost []reconcile.Fence) {
	w.lapse()
	for _, f := range fences {
		live := w.live(f) && w.book[f].p == p
		switch {
		case live && slices.Contains(lost, f):
			w.judge("a live lease is not lost", fmt.Sprintf("%s lost %d", p.name, f))
		case live:
			w.book[f].Until = w.clock().Add(ttl)
		case !slices.Contains(lost, f):
			w.judge(liveOnly, fmt.Sprintf("%s renewed %d", p.name, f))
		}
	}
}

func (w *world) looked(f reconcile.Fence, err error) {
	if err == nil && !w.live(f) {
		w.judge(liveOnly, fmt.Sprintf("%d was found live", f))
	}
}

func (w *world) committed(b reconcile.Batch, err error) {
	w.lapse()
	if err != nil {
		return
	}
	if b.Under != 0 && !w.live(b.Under) {
		w.judge(liveOnly, fmt.Sprintf("something is recorded under %d", b.Under))
	}
	for _, a := range b.Append {
		for _, f := range a.Facts {
			target := w.store.runs[a.Run].target
			switch f := f.(type) {
			case reconcile.HeldBack:
				if w.raised[target] == f.Digest {
					w.judge(raisedOnce, fmt.Sprintf("run %s raises what was raised before: %s", a.Run, f.Why))
				}
				w.raised[target] = f.Digest
			case reconcile.Approved:
				w.raised[target] = ""
			}
		}
	}
}

func (w *world) gaveBack(p *process, ends []reconcile.Settlement, answers []error) {
	w.lapse()
	for i, err := range answers {
		f := ends[i].Lease.Fence
		w.tellLocked("%s: fence %d of %s is settled as %s: %v", p.name, f, ends[i].Lease.Target, ends[i].Report.State, err)
		if err != nil {
			continue
		}
		if !w.live(f) {
			w.judge(liveOnly, fmt.Sprintf("%s gave %d back", p.name, f))
			continue
		}
		w.book[f].over = true
	}
}

// written judges a write to the outside at the instant at which it is done.
func (w *world) written(in plan.Input) {
	scopes := []reconcile.Scope{reconcile.Scope(in.Target.Key)}
	if !w.fenced {
		scopes = in.Target.Holds()
		if !w.live(in.Fence) {
			w.judge(noStaleWrite, fmt.Sprintf("%s is written under fence %d", in.Target.Key, in.Fence))
		}
	}
	for _, s := range scopes {
		if in.Fence < w.writes[s] {
			w.judge(noStaleWrite, fmt.Sprintf("%s is written under fence %d after %d", s, in.Fence, w.writes[s]))
		}
		w.writes[s] = in.Fence
	}
}

func (w *world) invited(in plan.Input, name string, times int) {
	if times > 1 {
		w.judge(doneOnce, fmt.Sprintf("%s of %s was invited %d times", name, in.Target.Key, times))
	}
}

// The promises, in the words of a failure.
const (
	oneHolder    = "no scope has two live holders"
	liveOnly     = "nothing is done under a lease that is over"
	noStaleWrite = "no write under an old fence reaches the outside"
	noneEarly    = "no ticket is covered early"
	allCovered   = "every request is covered in the end"
	handedOver   = "whoever gives a lease back looks for owed targets"
	doneOnce     = "what must not be repeated is done once"
	raisedOnce   = "what waits for a person is raised once"
	storiesEnd   = "every run can be read and has an end"
)
