package ledgertest

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"trueup/reconcile"
)

func work() []test {
	return []test{
		{"work and ticks exclude one another", workExcludesTicks},
		{"work reserves all scopes or none", workAllOrNone},
		{"an item goes through its states and keeps its scopes", workStates},
		{"what does not fit an item's state is refused", workUnfit},
		{"a live session's fence is needed", workFences},
		{"a checkpoint renews", workCheckpoint},
		{"a session that nobody renews expires and keeps its scopes", workExpires},
		{"an expiry is found by any write", workExpiryOutlives},
		{"a session outlives the process that began it", workOutlivesProcess},
		{"a pause does not expire", workPause},
		{"an item that is done may be started again", workAgain},
		{"an item that says without end how far it is stays readable", workEndless},
		{"an item that can be read is not discarded", workNotDiscarded},
	}
}

// w is an order by ada.
func w(do reconcile.WorkFactType, f reconcile.Fence) reconcile.WorkOrder {
	return reconcile.WorkOrder{Item: "disk", Do: do, By: "ada", Fence: f, For: ttl, Note: string(do)}
}

// begin starts the item disk.
func (b bench) begin(scopes ...reconcile.Scope) reconcile.Item {
	b.Helper()
	o := w(reconcile.WorkStarted, 0)
	o.Scopes = scopes
	return b.work(o)
}

// works is the ledger's other port.
func (b bench) works() reconcile.WorkLedger {
	b.Helper()
	l, is := b.l.(reconcile.WorkLedger)
	if !is {
		b.Fatalf("a %T keeps no work items", b.l)
	}
	return l
}

// work does what nothing stands in the way of.
func (b bench) work(o reconcile.WorkOrder) reconcile.Item {
	b.Helper()
	item, err := b.works().Work(b.Context(), o)
	b.must(err)
	return item
}

// unfit wants an order refused for the item's state.
func (b bench) unfit(o reconcile.WorkOrder, state reconcile.WorkState) {
	b.Helper()
	_, err := b.works().Work(b.Context(), o)
	if unfit, is := errors.AsType[*reconcile.UnfitError](err); !is || unfit.State != state {
		b.Errorf("%s: got %v, want it refused since the item is %s", o.Do, err, state)
	}
}

// item reads the item disk.
func (b bench) item() reconcile.Item {
	b.Helper()
	item, err := b.works().Item(b.Context(), "disk")
	b.must(err)
	return item
}

// is wants the item in a state, with everything that keeps the scopes in the way of a tick.
func (b bench) is(state reconcile.WorkState, held bool) {
	b.Helper()
	if i := b.item(); i.State != state {
		b.Errorf("the item is %s, want %s", i.State, state)
	}
	if a := b.bid(bid("test:one")); (a.Refused != nil) != held {
		b.Errorf("in %s a tick is answered %v, want it refused: %t", state, a.Refused, held)
	} else if !held {
		b.must(b.settle(reconcile.Settlement{Lease: a.Lease}))
	}
}

func workExcludesTicks(b bench) {
	i := b.begin("test:one", "x", "x")
	if !slices.Equal(i.Scopes, []reconcile.Scope{"test:one", "x"}) || i.State != reconcile.InProgress || i.Session.Holder != "ada" ||
		!i.Session.Until.Equal(i.Session.Since.Add(ttl)) || i.Reason != "started" {
		b.Errorf("started %+v", i)
	}
	by := b.another().reserved(bid("test:two", "y", "x"))
	want := &reconcile.ReservedError{Item: "disk", Holder: "ada", Scopes: []reconcile.Scope{"x"}, Until: i.Session.Until}
	if !reflect.DeepEqual(by, want) {
		b.Errorf("a tick is refused by %+v, want %+v", by, want)
	}
	b.ask(nil, "test:one")
	b.reserved(bid("test:one"))
	if s := b.standing("test:one"); !s.Owed() {
		b.Errorf("the standing is %+v, want it owed", s)
	}
	b.reserved(bid("test:three", "x", "X")) // and only X, exactly, is free
	l := b.grant("test:four", "X").Lease
	if l.Fence <= i.Session.Fence {
		b.Errorf("fence %d of a lease after %d of a session", l.Fence, i.Session.Fence)
	}
	b.work(w(reconcile.WorkEnded, i.Session.Fence))
	b.grant("test:one", "x")
}

func workAllOrNone(b bench) {
	l := b.grant("test:one", "x").Lease
	o := w(reconcile.WorkStarted, 0)
	o.Scopes = []reconcile.Scope{"w", "x", "test:one"}
	_, err := b.another().works().Work(b.Context(), o)
	by, is := errors.AsType[*reconcile.ReservedError](err)
	if !is || by.Run != l.Run || by.Holder != l.Holder || !by.Until.Equal(l.Until) || !slices.Equal(by.Scopes, []reconcile.Scope{"x", "test:one"}) {
		b.Fatalf("got %v, want it reserved by run %s with both scopes", err, l.Run)
	}
	if _, err := b.works().Item(b.Context(), "disk"); !errors.Is(err, reconcile.ErrNoItem) {
		b.Errorf("a refused start left an item: %v", err)
	}
	b.grant("test:two", "w")
	b.must(b.settle(reconcile.Settlement{Lease: l}))
	i := b.begin("x")
	o.Item, o.Scopes = "other", []reconcile.Scope{"x", "y"}
	_, err = b.works().Work(b.Context(), o)
	if by, is := errors.AsType[*reconcile.ReservedError](err); !is || by.Item != "disk" || i.Session.Fence <= l.Fence {
		b.Errorf("got %v, want it reserved by disk, whose fence %d is above %d", err, i.Session.Fence, l.Fence)
	}
}

// workStates goes through every state in which the scopes are kept.
func workStates(b bench) {
	i := b.begin("test:one")
	b.is(reconcile.InProgress, true)
	b.work(w(reconcile.WorkBlocked, i.Session.Fence))
	b.is(reconcile.Blocked, true)
	if by := b.reserved(bid("test:one")); !by.Until.IsZero() || by.Holder != "ada" {
		b.Errorf("reserved by %+v, want no end", by)
	}
	b.work(w(reconcile.WorkReviewed, 0))
	b.is(reconcile.InReview, true)
	again := b.work(w(reconcile.WorkUnblocked, 0))
	b.is(reconcile.InProgress, true)
	if again.Session.Fence <= i.Session.Fence || again.Reason != "started" {
		b.Errorf("unblocked as %+v after fence %d", again, i.Session.Fence)
	}
	b.work(w(reconcile.WorkReviewed, again.Session.Fence))
	b.is(reconcile.InReview, true)
	if open, err := b.works().Items(b.Context()); err != nil || len(open) != 1 || !open[0].NeedsPerson() {
		b.Errorf("open items %+v, %v", open, err)
	}
	b.work(w(reconcile.WorkEnded, 0))
	b.is(reconcile.WorkDone, false)
	if open, err := b.works().Items(b.Context()); err != nil || len(open) > 0 {
		b.Errorf("open items %+v, %v", open, err)
	}
	if i := b.item(); len(i.Events) != 6 || i.Events[5].Note != "done" || i.Events[3].By != "ada" {
		b.Errorf("its events are %+v", i.Events)
	}
}

func workUnfit(b bench) {
	_, err := b.works().Work(b.Context(), w(reconcile.WorkEnded, 0))
	b.refused(err, reconcile.ErrNoItem)
	_, err = b.works().Work(b.Context(), w(reconcile.WorkStarted, 0))
	b.refused(err, reconcile.ErrUndecidable) // no scope
	i := b.begin("x")
	start := w(reconcile.WorkStarted, 0)
	start.Scopes = []reconcile.Scope{"free"}
	b.unfit(start, reconcile.InProgress)
	b.unfit(w(reconcile.WorkUnblocked, i.Session.Fence), reconcile.InProgress)
	b.unfit(w(reconcile.WorkExpired, i.Session.Fence), reconcile.InProgress)
	b.work(w(reconcile.WorkBlocked, i.Session.Fence))
	b.unfit(start, reconcile.Blocked)
	b.unfit(w(reconcile.WorkCheckpointed, 0), reconcile.Blocked)
	b.unfit(w(reconcile.WorkBlocked, 0), reconcile.Blocked)
	b.work(w(reconcile.WorkEnded, 0))
	b.unfit(w(reconcile.WorkEnded, 0), reconcile.WorkDone)
	if got := len(b.item().Events); got != 3 {
		b.Errorf("%d events, want 3: a refusal leaves none", got)
	}
}

// workFences refuses who does not know of the session, and who knows an older one.
func workFences(b bench) {
	stale := b.begin("x").Session.Fence
	b.work(w(reconcile.WorkBlocked, stale))
	i := b.work(w(reconcile.WorkUnblocked, 0))
	for _, do := range []reconcile.WorkFactType{reconcile.WorkCheckpointed, reconcile.WorkBlocked, reconcile.WorkReviewed, reconcile.WorkEnded} {
		for fence, want := range map[reconcile.Fence]error{0: reconcile.ErrFenceNeeded, stale: reconcile.ErrLeaseLost, i.Session.Fence + 100: reconcile.ErrLeaseLost} {
			b.Run(string(do), func(t *testing.T) {
				_, err := b.works().Work(t.Context(), w(do, fence))
				bench{T: t, store: b.store, l: b.l}.refused(err, want)
			})
		}
	}
	b.refused(b.works().RenewWork(b.Context(), "disk", stale, ttl), reconcile.ErrLeaseLost)
	b.refused(b.works().RenewWork(b.Context(), "other", i.Session.Fence, ttl), reconcile.ErrLeaseLost)
	b.work(w(reconcile.WorkReviewed, i.Session.Fence))
	_, err := b.works().Work(b.Context(), w(reconcile.WorkEnded, i.Session.Fence))
	b.refused(err, reconcile.ErrLeaseLost) // its session has ended; who decides now does so without
}
