package ledgertest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
)

func runs() []test {
	return []test{
		{"a stale sequence is refused", staleSequence},
		{"a run and its opening event are one", openingIsAtomic},
		{"every fact comes back as it was", factsComeBack},
		{"a run is written to under its lease only", othersRuns},
		{"a closed run is judged without a lease", judging},
		{"unknown and damaged events are refused, other runs load", unknownEvents},
		{"a batch is written whole or not at all", batchIsAtomic},
		{"runs are listed, the latest first", listing},
		{"logs are read in order", logs},
	}
}

func staleSequence(b bench) {
	l := b.started("test:one")
	for _, stale := range []int{0, 1, 3} {
		b.refused(b.append(l.Fence, l.Run, stale, reconcile.Intended{Change: "a"}), reconcile.ErrConflict)
	}
	b.refused(b.append(l.Fence, l.Run, 0, reconcile.Leased{Lease: l}), reconcile.ErrConflict)
	if h := b.history(l.Run); h.Seq() != 2 {
		b.Errorf("%d events, want 2", h.Seq())
	}
	b.must(b.append(l.Fence, l.Run, 2, reconcile.Intended{Change: "a"}))
}

func openingIsAtomic(b bench) {
	l := b.grant("test:one").Lease
	b.unopened(l.Run)
	err := b.append(l.Fence, l.Run, 0, plan)
	if err == nil {
		b.Error("a run was opened by a plan")
	}
	err = b.l.Commit(b.Context(), reconcile.Batch{
		Under:   l.Fence,
		Append:  []reconcile.Append{{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}}}},
		Records: []reconcile.Write{{Family: "marker", Key: "none", Revision: 7, Value: []byte("x")}},
	})
	b.refused(err, reconcile.ErrConflict)
	b.unopened(l.Run)
	if runs, err := b.l.Runs(b.Context(), "", 10); err != nil || len(runs) > 0 {
		b.Errorf("runs %v, %v", runs, err)
	}
}

func factsComeBack(b bench) {
	l := b.grant("test:one", "x").Lease
	at := l.Since.Add(time.Hour)
	facts := []reconcile.Fact{
		reconcile.Leased{Lease: l}, plan,
		reconcile.HeldBack{Digest: "d", Changes: []string{"b"}, Why: "“why” \x01 <&> 'quoted'"},
		reconcile.Intended{Change: "a"}, reconcile.Applied{Change: "a", Took: time.Second, Approved: "r-abcde"},
		reconcile.ChangeFailed{Change: "c", Error: "no\nway"}, reconcile.Recovered{Run: "r-12345", Change: "a", Happened: true},
		reconcile.Failed{Error: "later", NotBefore: &at}, reconcile.Approved{By: "ada", Digest: "d", Until: at},
		reconcile.Rejected{By: "bob", Reason: "no"}, reconcile.LeaseExpired{Why: "w"}, reconcile.Succeeded{Changes: 3},
	}
	b.must(b.append(l.Fence, l.Run, 0, facts[:3]...))
	b.store.Advance(time.Second)
	b.must(b.append(l.Fence, l.Run, 3, facts[3:]...))
	events, err := b.l.Events(b.Context(), l.Run)
	b.must(err)
	for i, e := range events {
		late := time.Duration(0)
		if i >= 3 {
			late = time.Second
		}
		if e.Seq != i+1 || !e.At.Equal(l.Since.Add(late)) || !same(e.Fact, facts[i]) {
			b.Errorf("event %d is %+v at %s, want %+v", e.Seq, e.Fact, e.At, facts[i])
		}
	}
	if len(events) != len(facts) {
		b.Errorf("%d events, want %d", len(events), len(facts))
	}
}

// same compares two facts by type and JSON: instants are equal in any location.
func same(x, y reconcile.Fact) bool {
	left, err1 := json.Marshal(x)
	right, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(left) == string(right) && reflect.TypeOf(x) == reflect.TypeOf(y)
}

func othersRuns(b bench) {
	one, two := b.started("test:one"), b.started("test:two")
	b.refused(b.append(one.Fence, two.Run, 2, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
	b.refused(b.append(0, one.Run, 2, reconcile.Intended{Change: "a"}), reconcile.ErrLeaseLost)
	b.refused(b.append(0, "r-none0", 0, reconcile.Leased{Lease: one}), reconcile.ErrNoRun)
	for _, l := range []reconcile.Lease{one, two} {
		if h := b.history(l.Run); h.Seq() != 2 {
			b.Errorf("run %s has %d events, want 2", l.Run, h.Seq())
		}
	}
}

func judging(b bench) {
	l := b.started("test:one")
	b.closed(l, true)
	h := b.history(l.Run)
	if h.Phase != reconcile.AwaitsYou {
		b.Fatalf("the run is %s, want held", h.Phase)
	}
	approved := reconcile.Approved{By: "ada", Digest: h.Hold.Digest, Until: l.Since.Add(time.Hour)}
	b.must(b.another().append(0, l.Run, h.Seq(), approved))
	b.refused(b.append(0, l.Run, h.Seq(), reconcile.Rejected{By: "bob"}), reconcile.ErrConflict) // both decided at once
	if h := b.history(l.Run); h.Phase != reconcile.Allowed || h.Approval.By != "ada" {
		b.Errorf("the run is %s", h.Phase)
	}
}

// unknownEvents quarantines one run (EVT-04), also one that a newer trueup wrote (EVT-02).
func unknownEvents(b bench) {
	sound, newer, damaged := b.started("test:one"), b.started("test:two"), b.started("test:three")
	b.store.Plant(b.T, newer.Run, 3, "teleported", `{"to":"mars"}`)
	b.store.Plant(b.T, damaged.Run, 2, "planned", `{"policy":"p1","chan`)
	_, err := b.l.Events(b.Context(), newer.Run)
	b.refused(err, reconcile.ErrUnknownEvent)
	for run, position := range map[reconcile.RunID]string{newer.Run: "event 3", damaged.Run: "event 2"} {
		events, err := b.l.Events(b.Context(), run)
		if err == nil || !strings.Contains(err.Error(), position) || !strings.Contains(err.Error(), string(run)) || len(events) > 0 {
			b.Errorf("got %d events and error %v, want one that names %s and %s", len(events), err, run, position)
		}
	}
	if h := b.history(sound.Run); h.Seq() != 2 {
		b.Errorf("the sound run has %d events", h.Seq())
	}
	if listed, err := b.l.Runs(b.Context(), "", 10); err != nil || len(listed) != 3 {
		b.Errorf("runs %v, %v", listed, err)
	}
	b.closed(sound, false)
}

func batchIsAtomic(b bench) {
	l := b.started("test:one")
	b.must(b.write(reconcile.Write{Family: "marker", Key: "there", Value: []byte("1")}))
	b.ask(nil, "test:gone")
	err := b.l.Commit(b.Context(), reconcile.Batch{
		Under:  l.Fence,
		Append: []reconcile.Append{{Run: l.Run, Expected: 2, Facts: []reconcile.Fact{reconcile.Intended{Change: "a"}}}},
		Records: []reconcile.Write{
			{Family: "marker", Key: "new", Value: []byte("1")}, {Family: "marker", Key: "there", Value: []byte("2")},
		},
		Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:two"}}}, Forget: []reconcile.Key{"test:gone"},
		Logs: []reconcile.Log{{Run: l.Run, Stream: "check", Text: "x"}},
	})
	b.refused(err, reconcile.ErrConflict)
	logs, err := b.l.Logs(b.Context(), l.Run)
	b.must(err)
	if n := len(b.records("marker", "")); b.history(l.Run).Seq() != 2 || n != 1 || len(logs) > 0 ||
		b.standing("test:two").Owed() || !b.standing("test:gone").Owed() {
		b.Error("a part of a refused batch was written")
	}
}

func listing(b bench) {
	var want []reconcile.RunID
	for i := range 6 {
		l := b.started([]reconcile.Key{"test:one", "test:two"}[i%2])
		b.closed(l, false)
		want = slices.Insert(want, 0, l.Run)
		b.store.Advance(time.Second)
	}
	for _, c := range []struct {
		target reconcile.Key
		limit  int
		want   []reconcile.RunID
	}{
		{"", 10, want}, {"", 2, want[:2]}, {"test:two", 10, []reconcile.RunID{want[0], want[2], want[4]}},
		{"test:one", 1, want[1:2]}, {"test:none", 10, nil},
	} {
		if got, err := b.l.Runs(b.Context(), c.target, c.limit); err != nil || !slices.Equal(got, c.want) {
			b.Errorf("%d runs of %q: %v, %v, want %v", c.limit, c.target, got, err, c.want)
		}
	}
}

func logs(b bench) {
	l := b.started("test:one")
	log := func(stream, text string) {
		b.must(b.l.Commit(b.Context(), reconcile.Batch{Under: l.Fence, Logs: []reconcile.Log{{Run: l.Run, Stream: stream, Text: text}}}))
		b.store.Advance(time.Second)
	}
	log("check", "drift\n")
	log("apply user ada", strings.Repeat("é\n", 1000))
	got, err := b.l.Logs(b.Context(), l.Run)
	b.must(err)
	if len(got) != 2 || got[0].Stream != "check" || got[0].Text != "drift\n" || !got[0].At.Equal(l.Since) ||
		got[1].Text != strings.Repeat("é\n", 1000) || !got[1].At.Equal(l.Since.Add(time.Second)) || got[1].Run != l.Run {
		b.Errorf("logs %+v", got)
	}
	log("check", "a\x00b\xffc") // every store keeps it alike
	if got, err = b.l.Logs(b.Context(), l.Run); err != nil || len(got) != 3 || got[2].Text != "a\ufffdb\ufffdc" {
		b.Errorf("logs %+v, %v; want what is no text marked", got, err)
	}
	if none, err := b.l.Logs(b.Context(), "r-none0"); err != nil || len(none) > 0 {
		b.Errorf("logs of no run: %+v, %v", none, err)
	}
}
