package ledgertest

import (
	"bytes"
	"slices"
	"time"

	"trueup/reconcile"
)

func prunings() []archiveTest {
	return []archiveTest{
		{"old runs are cut, and the last ones of each target are not", cutByAgeAndNumber},
		{"what is open, waits or may have to be recovered is not cut", neverCut},
		{"a work item is cut when it is done and old", cutItems},
		{"an item that is used for ever loses its old sessions", cutUsedForEver},
		{"one call does no more than it is to, and the next goes on", bounded},
		{"a pruned ledger is sound, and its fences go on", soundAfterPruning},
	}
}

// month is longer than anything is kept in these tests.
const month = 30 * 24 * time.Hour

func (s shelf) prune(r reconcile.Retention) reconcile.Pruned {
	s.Helper()
	p, err := s.archive().Prune(s.Context(), r)
	s.must(err)
	return p
}

// old leaves some runs of a target, the oldest first, with logs, and lets them grow old.
func (s shelf) old(target reconcile.Key, n int) (runs []reconcile.RunID) {
	s.Helper()
	for range n {
		l := s.started(target)
		s.must(s.l.Commit(s.Context(), reconcile.Batch{Under: l.Fence, Logs: []reconcile.Log{{Run: l.Run, Stream: "check", Text: "x\n"}}}))
		s.closed(l, false)
		runs = append(runs, l.Run)
		s.store.Advance(time.Second)
	}
	s.store.Advance(month)
	return runs
}

// left wants exactly these runs to be there, each whole, and of the others not even a log.
func (s shelf) left(gone []reconcile.RunID, want ...reconcile.RunID) {
	s.Helper()
	got, err := s.l.Runs(s.Context(), "", 10000)
	s.must(err)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("left are %v, want %v", got, want)
	}
	for _, run := range want {
		s.history(run)
	}
	for _, run := range gone {
		s.unopened(run)
		if logs, err := s.l.Logs(s.Context(), run); err != nil || len(logs) > 0 {
			s.Errorf("logs of run %s: %v, %v", run, logs, err)
		}
	}
}

func cutByAgeAndNumber(s shelf) {
	one, two := s.old("test:one", 6), s.old("test:two", 2)
	undeclared := s.old("test:gone", 3)
	s.must(s.l.Commit(s.Context(), reconcile.Batch{Forget: []reconcile.Key{"test:gone"}}))
	young := s.started("test:two")
	s.closed(young, false)
	keep := reconcile.Retention{Keep: month / 2, Runs: 2}
	if p := s.prune(keep); p.Runs != 4+1+3 || p.More {
		s.Errorf("pruned %+v, want 8 runs", p)
	}
	s.left(slices.Concat(one[:4], two[:1], undeclared), one[4], one[5], two[1], young.Run)
	if p := s.prune(keep); p.Runs != 0 {
		s.Errorf("pruned again %+v", p)
	}
	s.prune(reconcile.Retention{Keep: month / 2}) // the last stays: the standing names it
	s.left(slices.Concat(one[:5], two), one[5], young.Run)
}

func neverCut(s shelf) {
	held := s.started("test:held")
	s.closed(held, true)
	s.must(s.write(reconcile.Write{Family: "held", Key: "test:held", Value: []byte(`{"run":"` + string(held.Run) + `"}`)}))
	approved := s.started("test:approved")
	s.closed(approved, true)
	s.must(s.append(0, approved.Run, 4, reconcile.Approved{By: "ada", Until: approved.Since.Add(10 * month)}))
	s.must(s.write(reconcile.Write{Family: "approval", Key: "test:approved b", Value: []byte(`{"run":"` + string(approved.Run) + `"}`), TTL: 10 * month}))
	begun := s.started("test:begun")
	s.must(s.append(begun.Fence, begun.Run, 2, reconcile.Intended{Change: "a"}))
	s.must(s.write(reconcile.Write{Family: "marker", Key: "test:begun a", Value: []byte(`{"run":"` + string(begun.Run) + `"}`)}))
	s.store.Advance(ttl) // it lapses
	for _, target := range []reconcile.Key{"test:held", "test:approved", "test:begun"} {
		s.closed(s.started(target), false) // so that no standing names the old ones
	}
	s.store.Advance(month)
	open := s.started("test:open")
	lost, err := s.l.Renew(s.Context(), []reconcile.Fence{open.Fence}, 10*month)
	if err != nil || len(lost) > 0 {
		s.Fatal(lost, err)
	}
	s.store.Advance(month)
	s.prune(reconcile.Retention{Keep: month / 2})
	for _, run := range []reconcile.RunID{held.Run, approved.Run, begun.Run, open.Run} {
		s.history(run)
	}
	s.must(s.append(open.Fence, open.Run, 2, reconcile.Intended{Change: "a"}))
	for _, family := range []string{"held", "approval", "marker"} { // and once nothing names them they go
		for _, r := range s.records(family, "") {
			s.must(s.write(reconcile.Write{Family: family, Key: r.Key, Revision: r.Revision}))
		}
	}
	if p := s.prune(reconcile.Retention{Keep: month / 2}); p.Runs != 3 {
		s.Errorf("pruned %+v, want the 3 runs that nothing names any more", p)
	}
	s.history(open.Run)
}

func cutItems(s shelf) {
	for _, id := range []reconcile.ItemID{"old", "open", "young"} {
		item := s.work(id, reconcile.Scope(id))
		if id == "young" {
			s.store.Advance(month)
			item = reconcile.Item{} // its session has expired
		}
		if id != "open" {
			_, err := s.works().Work(s.Context(), reconcile.WorkOrder{Item: id, Do: reconcile.WorkEnded, By: "ada", Fence: item.Session.Fence})
			s.must(err)
		}
	}
	if p := s.prune(reconcile.Retention{Keep: month / 2}); p.Items != 1 {
		s.Errorf("pruned %+v, want one item", p)
	}
	_, err := s.works().Item(s.Context(), "old")
	s.refused(err, reconcile.ErrNoItem)
	for _, id := range []reconcile.ItemID{"open", "young"} {
		if _, err := s.works().Item(s.Context(), id); err != nil {
			s.Error(err)
		}
	}
	s.work("old", "old") // its name is free again
}

// cutUsedForEver is a script that works under one name each night.
func cutUsedForEver(s shelf) {
	night := func() reconcile.Item {
		item := s.work("nightly", "db")
		_, err := s.works().Work(s.Context(), reconcile.WorkOrder{Item: "nightly", Do: reconcile.WorkEnded, By: "ada", Fence: item.Session.Fence})
		s.must(err)
		s.store.Advance(24 * time.Hour)
		return item
	}
	for range 40 {
		night()
	}
	open := s.work("nightly", "db")
	if open.Next() != 40*2+2 || len(open.Events) != 1 {
		s.Errorf("started for the 41st time as %+v, want its last start alone to be read", open)
	}
	s.store.Advance(time.Second)
	if p := s.prune(reconcile.Retention{Keep: 20*24*time.Hour + time.Hour}); p.Items != 20 || p.More {
		s.Errorf("pruned %+v, want 20 nights", p)
	}
	if kept := bytes.Count(s.export(), []byte(`{"work_events":`)); kept != 20*2+1 {
		s.Errorf("%d events are left, want those of 20 nights and of the session that is live", kept)
	}
	s.sound()
	again, err := s.works().Work(s.Context(), reconcile.WorkOrder{Item: "nightly", Do: reconcile.WorkCheckpointed, By: "ada", Fence: open.Session.Fence, For: 100 * month})
	if err != nil || again.Next() != open.Next()+1 {
		s.Errorf("the live session is checkpointed as %+v, %v", again, err)
	}
	s.store.Advance(month)
	s.prune(reconcile.Retention{Keep: time.Hour})
	if got, err := s.works().Item(s.Context(), "nightly"); err != nil || got.State != reconcile.InProgress || len(got.Events) != 2 {
		s.Errorf("the open item is %+v, %v", got, err)
	}
	s.reserved(bid("test:one", "db"))
	s.sound()
}

// sound wants a ledger without flaws.
func (s shelf) sound() {
	s.Helper()
	if found, err := s.archive().Inspect(s.Context()); err != nil || len(found) > 0 {
		s.Errorf("flaws %+v, %v", found, err)
	}
}

func bounded(s shelf) {
	l := s.started("test:one")
	facts := make([]reconcile.Fact, 1200) // more than one transaction cuts, beside the others
	for i := range facts {
		facts[i] = reconcile.Recovered{Run: "r-00000", Change: "a"}
	}
	s.must(s.append(l.Fence, l.Run, 2, facts...))
	s.must(s.settle(reconcile.Settlement{Lease: l, Expected: 1202, Facts: []reconcile.Fact{reconcile.Succeeded{}}, Report: reconcile.Report{State: reconcile.OK}}))
	s.old("test:one", 4)
	calls := 0
	for more := true; more; calls++ {
		p := s.prune(reconcile.Retention{Keep: month / 2, Most: 1})
		if more = p.More; calls > 50 {
			s.Fatalf("after %d calls there still is more: %+v", calls, p)
		}
	}
	if runs, err := s.l.Runs(s.Context(), "", 10); err != nil || len(runs) != 1 || calls < 3 {
		s.Errorf("after %d calls runs %v are left, %v", calls, runs, err)
	}
}

func soundAfterPruning(s shelf) {
	s.furnish()
	s.old("test:two", 5)
	last := s.started("test:two")
	s.closed(last, false)
	s.prune(reconcile.Retention{Keep: time.Hour})
	s.sound()
	if next := s.grant("test:two").Lease; next.Fence <= last.Fence {
		s.Errorf("fence %d after %d", next.Fence, last.Fence)
	}
}
