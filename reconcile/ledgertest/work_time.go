package ledgertest

import (
	"errors"
	"time"

	"trueup/reconcile"
)

func workCheckpoint(b bench) {
	i := b.begin("test:one")
	f := i.Session.Fence
	b.store.Advance(ttl - time.Second)
	checked := b.work(w(reconcile.WorkCheckpointed, f))
	if want := i.Session.Since.Add(2*ttl - time.Second); !checked.Session.Until.Equal(want) || checked.Session.Fence != f || checked.Note != "checkpointed" {
		b.Errorf("the session is %+v (%s), want it until %s", checked.Session, checked.Note, want)
	}
	b.store.Advance(ttl - time.Second)
	b.must(b.another().works().RenewWork(b.Context(), "disk", f, ttl)) // by whatever process
	b.store.Advance(ttl - time.Second)
	b.is(reconcile.InProgress, true)
	if i := b.item(); len(i.Events) != 2 || !i.Session.Until.Equal(i.Session.Since.Add(3*ttl-2*time.Second)) {
		b.Errorf("the item is %+v, want no event for a renewal that says nothing", i)
	}
	if by := b.reserved(bid("test:one")); !by.Until.Equal(b.item().Session.Until) {
		b.Errorf("reserved until %s, want the renewed end", by.Until)
	}
}

// workExpires is a person who went away (LCK-13): the scopes stay reserved, since nobody knows how far the work had come.
func workExpires(b bench) {
	i := b.begin("test:one")
	f := i.Session.Fence
	b.store.Advance(ttl)
	if got := b.item(); got.State != reconcile.Blocked || !got.NeedsPerson() || !got.Since.Equal(i.Session.Until) {
		b.Errorf("before any write the item reads %+v, want it blocked since its session's end", got)
	}
	b.refused(b.works().RenewWork(b.Context(), "disk", f, ttl), reconcile.ErrLeaseLost)
	b.is(reconcile.Blocked, true)
	_, err := b.works().Work(b.Context(), w(reconcile.WorkCheckpointed, f)) // a script learns that it has lost its session
	b.refused(err, reconcile.ErrLeaseLost)
	_, err = b.works().Work(b.Context(), w(reconcile.WorkEnded, f)) // the one who had it comes back too late
	b.refused(err, reconcile.ErrLeaseLost)
	events := b.item().Events
	if len(events) != 2 || events[1].Type != reconcile.WorkExpired || events[1].Fence != f || events[1].By != "ada" {
		b.Errorf("its events are %+v, want lease_expired once", events)
	}
	again := b.work(w(reconcile.WorkUnblocked, 0))
	if again.Session.Fence <= f {
		b.Errorf("unblocked under fence %d after %d", again.Session.Fence, f)
	}
	b.is(reconcile.InProgress, true)
}

// workExpiryOutlives finds the expiry by a write that has nothing to do with it and is itself refused.
func workExpiryOutlives(b bench) {
	b.begin("test:one")
	b.store.Advance(ttl)
	b.refused(b.append(99, "r-00000", 0, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
	b.store.Advance(-ttl) // as if the clock were set back: what has been recorded stays so
	b.is(reconcile.Blocked, true)
}

// workOutlivesProcess: the process that starts work ends at once.
func workOutlivesProcess(b bench) {
	f := b.begin("test:one").Session.Fence
	b = b.restart()
	b.is(reconcile.InProgress, true)
	b.work(w(reconcile.WorkCheckpointed, f))
	b.work(w(reconcile.WorkEnded, f))
	b.is(reconcile.WorkDone, false)
}

func workPause(b bench) {
	o := w(reconcile.WorkStarted, 0)
	o.Scopes, o.For = []reconcile.Scope{"test:one"}, 0
	f := b.work(o).Session.Fence
	b.store.Advance(1000 * ttl)
	b.ask(nil, "test:one")
	b.is(reconcile.InProgress, true)
	if by := b.reserved(bid("test:one")); !by.Until.IsZero() || b.item().NeedsPerson() {
		b.Errorf("reserved by %+v, want no end and no need", by)
	}
	b.work(w(reconcile.WorkEnded, f))
	b.is(reconcile.WorkDone, false)
}

// workEndless is a script that checkpoints each minute and is never done.
func workEndless(b bench) {
	f := b.begin("test:one").Session.Fence
	for range 60 {
		b.work(w(reconcile.WorkCheckpointed, f))
	}
	if i := b.item(); len(i.Events) > 55 || i.Next() != 62 || i.Events[0].Type != reconcile.WorkStarted || i.Note != "checkpointed" {
		b.Errorf("%d events are left of 61, from %+v on", len(i.Events), i.Events[0])
	}
	b.work(w(reconcile.WorkBlocked, f))
	f = b.work(w(reconcile.WorkUnblocked, 0)).Session.Fence
	b.work(w(reconcile.WorkCheckpointed, f))
	b.is(reconcile.InProgress, true)
}

func workNotDiscarded(b bench) {
	b.refused(b.works().Discard(b.Context(), "disk"), reconcile.ErrNoItem)
	f := b.begin("test:one").Session.Fence
	for _, state := range []reconcile.WorkState{reconcile.InProgress, reconcile.WorkDone} {
		err := b.works().Discard(b.Context(), "disk")
		if unfit, is := errors.AsType[*reconcile.UnfitError](err); !is || unfit.State != state {
			b.Errorf("got %v, want it refused since the item is %s", err, state)
		}
		b.is(state, state == reconcile.InProgress)
		if state == reconcile.InProgress {
			b.work(w(reconcile.WorkEnded, f))
		}
	}
}

func workAgain(b bench) {
	first := b.begin("x")
	b.work(w(reconcile.WorkEnded, first.Session.Fence))
	second := b.begin("y")
	if second.Session.Fence <= first.Session.Fence || len(second.Events) != 1 || second.Next() != 4 || second.Reserves([]reconcile.Scope{"x"}) != nil {
		b.Errorf("started again as %+v", second)
	}
	b.grant("x:free", "x")
	b.reserved(bid("y:held", "y"))
}
