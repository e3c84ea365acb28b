package ledgertest

import (
	"reflect"
	"time"

	"trueup/reconcile"
)

// What a restart must not change: all processes but the holder of a lease may come and go.
func restarts() []test {
	return []test{
		{"everything is there after a restart", thereAfterRestart},
		{"a held run stays held over a restart", heldOverRestart},
		{"a live lease outlives the restart of others", leaseOverRestart},
		{"a lease ends with its process", leaseEndsWithProcess},
		{"a lease that lapsed meanwhile is queued again", lapsedOverRestart},
	}
}

// restart ends the process and begins another.
func (b bench) restart() bench {
	b.Helper()
	b.must(b.l.Close())
	return b.another()
}

// thereAfterRestart is a run that nobody took up, among other things: it waits with its plan unchanged.
func thereAfterRestart(b bench) {
	b.ask(claim("e", 3), "test:two")
	l := b.started("test:one")
	b.closed(l, false)
	b.must(b.write(reconcile.Write{Family: "marker", Key: "k", Value: []byte("x"), TTL: time.Hour}))
	before := b.history(l.Run)
	one, two, records := b.standing("test:one"), b.standing("test:two"), b.records("marker", "")
	b = b.restart()
	if after := b.history(l.Run); !reflect.DeepEqual(after, before) || len(after.Plan) != 2 {
		b.Errorf("the run was %+v and is %+v", before, after)
	}
	if got := b.standing("test:one"); !reflect.DeepEqual(got, one) {
		b.Errorf("the standing was %+v and is %+v", one, got)
	}
	if got := b.standing("test:two"); !reflect.DeepEqual(got, two) || !got.Owed() {
		b.Errorf("what waits was %+v and is %+v", two, got)
	}
	if got := b.records("marker", ""); !reflect.DeepEqual(got, records) {
		b.Errorf("the records were %+v and are %+v", records, got)
	}
	if next := b.grant("test:two").Lease; next.Fence <= two.Asked || next.Fence <= l.Fence {
		b.Errorf("fence %d after %d and %d", next.Fence, two.Asked, l.Fence)
	}
}

func heldOverRestart(b bench) {
	l := b.started("test:one")
	b.closed(l, true)
	before := b.history(l.Run)
	b = b.restart()
	after := b.history(l.Run)
	if after.Phase != reconcile.AwaitsYou || after.Plan.Digest() != before.Plan.Digest() || after.Hold.Digest != before.Hold.Digest {
		b.Errorf("the run is %s with %+v, want it held as it was", after.Phase, after.Hold)
	}
	if s := b.standing("test:one"); s.Report.State != reconcile.Held || s.Report.Run != l.Run {
		b.Errorf("the standing is %+v", s)
	}
	if runs, err := b.l.Runs(b.Context(), "test:one", 5); err != nil || len(runs) != 1 {
		b.Errorf("runs %v, %v; want the held one only", runs, err)
	}
}

func leaseOverRestart(b bench) {
	l := b.started("test:one", "x")
	other := b.another().restart()
	if by := other.reserved(bid("test:two", "x")); by.Run != l.Run {
		b.Errorf("reserved by %+v", by)
	}
	other.reserved(bid("test:one"))
	if live, err := other.l.Leases(b.Context()); err != nil || len(live) != 1 || live[0].Fence != l.Fence {
		b.Errorf("live leases %+v, %v", live, err)
	}
	b.must(b.l.Check(b.Context(), l.Fence))
	b.must(b.append(l.Fence, l.Run, 2, reconcile.Intended{Change: "a"}, reconcile.Applied{Change: "a"}))
	lost, err := b.l.Renew(b.Context(), []reconcile.Fence{l.Fence}, ttl)
	if err != nil || len(lost) > 0 {
		b.Errorf("renewing: lost %v, %v", lost, err)
	}
	if h := other.history(l.Run); h.Phase != reconcile.Running || h.Seq() != 4 {
		b.Errorf("the run is %s with %d events", h.Phase, h.Seq())
	}
}

// leaseEndsWithProcess is why nobody waits for the lease of a dead process. The process that comes after it, also under
// the same name, has a fence of its own (LCK-20).
func leaseEndsWithProcess(b bench) {
	l := b.started("test:one")
	b = b.restart()
	b.refused(b.l.Check(b.Context(), l.Fence), reconcile.ErrLeaseLost)
	next := b.grant("test:one")
	if next.Lease.Fence <= l.Fence || !next.Standing.Owed() {
		b.Errorf("granted %+v after fence %d, want it greater and the target owed", next, l.Fence)
	}
	if h := b.history(l.Run); h.Phase != reconcile.Expired {
		b.Errorf("the run is %s", h.Phase)
	}
	b.refused(b.append(l.Fence, l.Run, 3, reconcile.Applied{Change: "a"}), reconcile.ErrLeaseLost)
}

func lapsedOverRestart(b bench) {
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	l := b.started("test:one")
	b.store.Advance(ttl)
	other := b.another()
	other.ask(nil, "test:two") // any write
	if h := other.history(l.Run); h.Phase != reconcile.Expired {
		b.Errorf("the run is %s", h.Phase)
	}
	if s := other.standing("test:one"); !s.Owed() {
		b.Errorf("the standing is %+v, want it owed", s)
	}
	b.refused(b.l.Check(b.Context(), l.Fence), reconcile.ErrLeaseLost)
}
