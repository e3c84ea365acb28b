package ledgertest

import (
	"errors"
	"reflect"
	"time"

	"trueup/reconcile"
)

func settlements() []test {
	return []test{
		{"a quiet tick leaves a standing and nothing else", quietTick},
		{"one tick's error is its own", oneTicksError},
		{"the end of a run, its report and its lease are one", endIsAtomic},
		{"an open run is not left behind", nothingCloses},
		{"a lease is given back without a report", givenBack},
		{"failures are counted in a row", failures},
		{"a tick is useless before its time", notBefore},
		{"nonsense from outside harms its own tick only", nonsense},
		{"a tick notifies others", notifying},
	}
}

func quietTick(b bench) {
	b.ask(nil, "test:one")
	l := b.grant("test:one", "x").Lease
	b.store.Advance(time.Second)
	b.must(b.settle(quiet(l)))
	now := l.Since.Add(time.Second)
	s := b.standing("test:one")
	if s.Report.State != reconcile.OK || s.Good == nil || s.Good.State != reconcile.OK || s.Fingerprint != "f1" ||
		!s.Ticked.Equal(now) || !s.CoveredAt.Equal(now) || !s.Since.Equal(now) || s.Report.Run != "" {
		b.Errorf("the standing is %+v", s)
	}
	b.unopened(l.Run)
	if runs, err := b.l.Runs(b.Context(), "", 10); err != nil || len(runs) > 0 {
		b.Errorf("runs %v, %v", runs, err)
	}
	if live, err := b.l.Leases(b.Context()); err != nil || len(live) > 0 {
		b.Errorf("live leases %v, %v", live, err)
	}
	b.grant("test:one", "x")
}

func oneTicksError(b bench) {
	leases := []reconcile.Lease{b.grant("test:one").Lease, b.grant("test:two").Lease, b.started("test:three"), b.grant("test:four").Lease}
	ends := []reconcile.Settlement{quiet(leases[0]), quiet(leases[1]), quiet(leases[2]), quiet(leases[3])}
	ends[1].Lease.Fence += 100 // lost
	ends[2].Expected = 1       // and there are two
	ends[2].Facts = []reconcile.Fact{reconcile.Succeeded{}}
	ends[3].Facts = []reconcile.Fact{reconcile.Leased{Lease: leases[3]}, reconcile.Succeeded{}}
	ends[3].Records = []reconcile.Write{{Family: "marker", Key: "k", Revision: 3, Value: []byte("x")}} // and there is none
	last := b.grant("test:five").Lease
	answers, err := b.l.Settle(b.Context(), append(ends, quiet(last)))
	b.must(err)
	for i, want := range []error{nil, reconcile.ErrLeaseLost, reconcile.ErrConflict, reconcile.ErrConflict, nil} {
		if !errors.Is(answers[i], want) {
			b.Errorf("answer %d is %v, want %v", i, answers[i], want)
		}
	}
	for key, settled := range map[reconcile.Key]bool{"test:one": true, "test:two": false, "test:three": false, "test:four": false, "test:five": true} {
		if got := !b.standing(key).Ticked.IsZero(); got != settled {
			b.Errorf("%s: settled %t, want %t", key, got, settled)
		}
	}
	b.unopened(leases[3].Run)
	b.must(b.l.Check(b.Context(), leases[3].Fence))
	b.must(b.settle(quiet(leases[3])))
}

func endIsAtomic(b bench) {
	l := b.started("test:one")
	b.store.Advance(time.Second)
	report := reconcile.Report{State: reconcile.OK, Note: "2 changes", Run: l.Run, Changes: 2, Policy: "p1"}
	b.must(b.settle(reconcile.Settlement{
		Lease: l, Expected: 2, Facts: []reconcile.Fact{reconcile.Succeeded{Changes: 2}}, Report: report, Covered: true,
		Records: []reconcile.Write{{Family: "held", Key: "test:one", Value: []byte("x")}},
		Logs:    []reconcile.Log{{Run: l.Run, Stream: "check", Text: "drift"}},
	}))
	if h := b.history(l.Run); h.Phase != reconcile.Done || !h.Ended.Equal(l.Since.Add(time.Second)) {
		b.Errorf("the run is %s since %s", h.Phase, h.Ended)
	}
	s := b.standing("test:one")
	if !reflect.DeepEqual(s.Report, report) || s.Good == nil || !reflect.DeepEqual(*s.Good, report) {
		b.Errorf("reported %+v, last good %+v, want %+v", s.Report, s.Good, report)
	}
	if len(b.records("held", "")) != 1 {
		b.Error("the record was not written")
	}
	if logs, err := b.l.Logs(b.Context(), l.Run); err != nil || len(logs) != 1 {
		b.Errorf("logs %v, %v", logs, err)
	}
	b.refused(b.l.Check(b.Context(), l.Fence), reconcile.ErrLeaseLost)
	b.refused(b.settle(quiet(l)), reconcile.ErrLeaseLost) // once

	// A run that is opened only to be closed is one step too.
	l = b.grant("test:two").Lease
	b.must(b.settle(reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.Failing, Run: l.Run},
		Facts: []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Failed{Error: "no"}}}))
	if h := b.history(l.Run); h.Phase != reconcile.Broken {
		b.Errorf("the run is %s", h.Phase)
	}
}

func nothingCloses(b bench) {
	l := b.started("test:one")
	end := quiet(l)
	end.Expected = 2
	if b.settle(end) == nil {
		b.Error("a run was left open without a lease")
	}
	end.Expected = 0 // as if it had not been opened
	b.refused(b.settle(end), reconcile.ErrConflict)
	end.Expected, end.Facts = 2, []reconcile.Fact{reconcile.Intended{Change: "a"}}
	if b.settle(end) == nil {
		b.Error("a run was ended by an event that does not close it")
	}
	b.must(b.l.Check(b.Context(), l.Fence))
	if h := b.history(l.Run); h.Seq() != 2 {
		b.Errorf("%d events, want 2", h.Seq())
	}
}

func givenBack(b bench) {
	b.must(b.settle(quiet(b.grant("test:one").Lease)))
	before := b.standing("test:one")
	b.store.Advance(time.Second)
	b.must(b.settle(reconcile.Settlement{Lease: b.grant("test:one").Lease}))
	if after := b.standing("test:one"); !reflect.DeepEqual(after, before) {
		b.Errorf("the standing went from %+v to %+v", before, after)
	}
	b.must(b.settle(reconcile.Settlement{Lease: b.grant("test:two").Lease}))
	if s := b.standing("test:two"); s.Target != "" {
		b.Errorf("a target that was not ticked has standing %+v", s)
	}
	b.grant("test:one")
}

// failures are counted in a row; Since moves when the state does, and the last good report stays.
func failures(b bench) {
	type end = reconcile.Report
	good := end{State: reconcile.OK, Note: "good", Changes: 1}
	start := time.Time{}
	for i, c := range []struct {
		report   end
		failures int
		since    int // the tick that brought the state
	}{
		{good, 0, 0}, {end{State: reconcile.Failing, Note: "once"}, 1, 1}, {end{State: reconcile.Failing, Note: "twice"}, 2, 1},
		{end{State: reconcile.Limited}, 2, 3}, {end{State: reconcile.Uncertain}, 3, 4}, {end{State: reconcile.Held}, 0, 5},
		{end{State: reconcile.Failing}, 1, 6}, {good, 0, 7},
	} {
		l := b.grant("test:one").Lease
		if i == 0 {
			start = l.Since
		}
		b.must(b.settle(reconcile.Settlement{Lease: l, Report: c.report, Covered: c.report.State == reconcile.OK}))
		s := b.standing("test:one")
		if s.Failures != c.failures || !s.Since.Equal(start.Add(time.Duration(c.since)*time.Minute)) || !reflect.DeepEqual(s.Report, c.report) ||
			s.Good == nil || !reflect.DeepEqual(*s.Good, good) {
			b.Errorf("after tick %d the standing is %+v, want %d failures and the state of tick %d", i, s, c.failures, c.since)
		}
		b.store.Advance(time.Minute)
	}
}

func notBefore(b bench) {
	b.ask(nil, "test:one")
	l := b.grant("test:one").Lease
	b.must(b.settle(reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.Limited}, Wait: time.Minute}))
	if s := b.standing("test:one"); !s.NotBefore.Equal(s.Ticked.Add(time.Minute)) || !s.Owed() {
		b.Errorf("the standing is %+v, want it owed and limited until a minute after %s", s, s.Ticked)
	}
	b.store.Advance(time.Minute)
	if s := b.standing("test:one"); !s.NotBefore.IsZero() {
		b.Errorf("limited until %s, which is over", s.NotBefore)
	}
	if a := b.grant("test:one"); !a.Standing.NotBefore.IsZero() {
		b.Errorf("granted with a limit until %s, which is over", a.Standing.NotBefore)
	}
}

// nonsense is a rate limit that ends in a year of five digits, which JSON cannot say.
func nonsense(b bench) {
	never := time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	one, two, three := b.grant("test:one").Lease, b.grant("test:two").Lease, b.grant("test:three").Lease
	limited := reconcile.Settlement{Lease: one, Report: reconcile.Report{State: reconcile.Limited}, Wait: 100 * 365 * 24 * time.Hour}
	told := reconcile.Settlement{Lease: two, Report: limited.Report,
		Facts: []reconcile.Fact{reconcile.Leased{Lease: two}, reconcile.Failed{Error: "limited", NotBefore: &never}}}
	answers, err := b.l.Settle(b.Context(), []reconcile.Settlement{limited, told, quiet(three)})
	b.must(err)
	if answers[0] != nil || answers[1] == nil || answers[2] != nil {
		b.Errorf("answers %v, want an error for the second alone", answers)
	}
	if s := b.standing("test:one"); s.Report.State != reconcile.Limited || !s.NotBefore.IsZero() {
		b.Errorf("the standing is %+v, want no limit that lasts for years", s)
	}
	b.unopened(two.Run)
}

func notifying(b bench) {
	one, two := b.grant("test:one").Lease, b.grant("test:two").Lease
	ends := []reconcile.Settlement{quiet(one), quiet(two)}
	ends[0].Report.Notify = []reconcile.Key{"test:two", "test:three"}
	answers, err := b.l.Settle(b.Context(), ends)
	b.must(errors.Join(append(answers, err)...))
	for key, owed := range map[reconcile.Key]bool{"test:one": false, "test:two": true, "test:three": true} {
		if s := b.standing(key); s.Owed() != owed {
			b.Errorf("%s: owed %t, want %t", key, s.Owed(), owed)
		}
	}
	lost := quiet(one)
	lost.Report.Notify = []reconcile.Key{"test:four"}
	b.refused(b.settle(lost), reconcile.ErrLeaseLost)
	if b.standing("test:four").Owed() {
		b.Error("a tick that lost its lease notified another")
	}
}
