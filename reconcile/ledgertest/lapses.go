package ledgertest

import (
	"strings"
	"time"

	"trueup/reconcile"
)

func lapses() []test {
	return []test{
		{"a lease lapses by time", lapsesByTime},
		{"a lapse outlives the write that finds it", lapseOutlivesRefusal},
		{"a run that was not opened is told of when it lapses", lapsesUnopened},
		{"a target that nobody asked for is owed once its lease has lapsed", lapsedIsOwed},
		{"the clock is set back", clockBack},
	}
}

// lapsesByTime also stands for a clock that is set forward, and for a process that sleeps (LCK-13, LCK-17).
func lapsesByTime(b bench) {
	b.ask(nil, "test:one")
	asked := b.standing("test:one").Asked
	l := b.started("test:one", "x")
	b.store.Advance(ttl - time.Second)
	b.must(b.l.Check(b.Context(), l.Fence))
	b.store.Advance(time.Second)
	b.refused(b.l.Check(b.Context(), l.Fence), reconcile.ErrLeaseLost)
	if live, err := b.l.Leases(b.Context()); err != nil || len(live) > 0 {
		b.Errorf("live leases: %+v, %v", live, err)
	}

	other := b.another()
	next := other.grant("test:one", "x")
	if next.Lease.Fence <= l.Fence {
		b.Errorf("fence %d after %d", next.Lease.Fence, l.Fence)
	}
	h := b.history(l.Run)
	if h.Phase != reconcile.Expired || len(h.Plan) != 2 {
		b.Errorf("the lapsed run is %s with plan %v, want expired with its plan", h.Phase, h.Plan)
	}
	s := next.Standing
	if !s.Owed() || s.Asked != asked || s.Report.State != reconcile.Failing || s.Report.Run != l.Run || s.Failures != 1 ||
		!strings.Contains(s.Report.Note, "lease expired") {
		b.Errorf("the standing is %+v, want it owed as before and failing", s)
	}
	b.refused(b.append(l.Fence, l.Run, 3, reconcile.Applied{Change: "a"}), reconcile.ErrLeaseLost)
	b.refused(b.settle(quiet(l)), reconcile.ErrLeaseLost)
}

func lapseOutlivesRefusal(b bench) {
	l := b.started("test:one")
	b.store.Advance(ttl)
	b.refused(b.append(l.Fence, l.Run, 2, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
	if h := b.history(l.Run); h.Phase != reconcile.Expired {
		b.Errorf("the run is %s", h.Phase)
	}
}

func lapsesUnopened(b bench) {
	l := b.grant("test:one").Lease
	b.store.Advance(ttl)
	b.ask(nil, "test:two")
	h := b.history(l.Run)
	if h.Phase != reconcile.Expired || h.Lease.Fence != l.Fence || h.Seq() != 2 {
		b.Errorf("the run is %+v", h)
	}
	if runs, err := b.l.Runs(b.Context(), "test:one", 5); err != nil || len(runs) != 1 {
		b.Errorf("runs %v, %v", runs, err)
	}
}

func lapsedIsOwed(b bench) {
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	l := b.grant("test:one").Lease
	b.store.Advance(ttl)
	b.ask(nil, "test:two")
	if s := b.standing("test:one"); !s.Owed() || s.Asked <= l.Fence || s.Good == nil {
		b.Errorf("the standing is %+v, want it owed, with its last good report", s)
	}
}

// clockBack leaves leases live for longer, and gives no scope to two (LCK-18).
func clockBack(b bench) {
	l := b.grant("test:one").Lease
	b.store.Advance(-time.Hour)
	b.must(b.l.Check(b.Context(), l.Fence))
	b.another().reserved(bid("test:one"))
	b.must(b.settle(quiet(l)))
	b.another().grant("test:one")
}
