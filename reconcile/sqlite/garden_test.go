package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

// TestPruneNeverCuts plays at random with runs, holds, approvals, markers and time, prunes, and compares what is left with
// what the retention and the domain say, run by run: nothing else is cut, and nothing else stays.
func TestPruneNeverCuts(t *testing.T) {
	t.Parallel()
	disk := tmpfs(t, "size=64m")
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(disk, "")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		d := &desk{path: filepath.Join(dir, "state.db"), now: time.Date(2026, 11, 29, 14, 2, 11, 0, time.UTC)}
		s, err := Open(t.Context(), d.path, Options{Holder: "a test", Clock: d.clock})
		if err != nil {
			r.Fatal(err)
		}
		defer s.Close()
		g := &garden{ctx: t.Context(), r: r, d: d, s: s, known: map[reconcile.RunID]grown{}}
		r.Repeat(map[string]func(*rapid.T){
			"run":    func(r *rapid.T) { g.grow(r, false) },
			"open":   func(r *rapid.T) { g.grow(r, true) },
			"name":   g.name,
			"unname": g.unname,
			"forget": g.forget,
			"wait":   func(r *rapid.T) { d.Advance(time.Duration(rapid.IntRange(1, 72).Draw(r, "hours")) * time.Hour) },
			"prune":  g.prune,
		})
	})
}

// A garden is a ledger in which runs grow old.
type garden struct {
	ctx   context.Context
	r     *rapid.T
	d     *desk
	s     *Store
	known map[reconcile.RunID]grown
}

type grown struct {
	target reconcile.Key
	at     time.Time
}

// grow leaves a run behind, closed or not.
func (g *garden) grow(r *rapid.T, open bool) {
	target := reconcile.Key(rapid.SampledFrom([]string{"test:one", "test:two", "test:three"}).Draw(r, "target"))
	ttl := 1000 * time.Hour
	answers, err := g.s.Grant(g.ctx, []reconcile.Bid{{Target: target}}, ttl)
	if err != nil {
		r.Fatal(err)
	}
	if answers[0].Refused != nil {
		return
	}
	l := answers[0].Lease
	g.known[l.Run] = grown{target, g.d.clock().Truncate(time.Microsecond)}
	plan := reconcile.Plan{{ID: "a", Op: reconcile.Remove}}
	facts := []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Planned{Changes: plan}}
	if open {
		err := g.s.Commit(g.ctx, reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: facts}}})
		if err != nil {
			r.Fatal(err)
		}
		return
	}
	report := reconcile.Report{State: reconcile.OK, Run: l.Run}
	switch rapid.SampledFrom([]string{"done", "failed", "held", "another's"}).Draw(r, "end") {
	case "done":
		facts = append(facts, reconcile.Succeeded{Changes: 1})
	case "failed":
		facts = append(facts, reconcile.Failed{Error: "no"})
		report.State = reconcile.Failing
	case "held":
		facts = append(facts, reconcile.HeldBack{Digest: "d", Changes: []string{"a"}, Why: "w"}, reconcile.Succeeded{})
		report.State = reconcile.Held
	default: // the standing goes on to name an earlier run
		facts = append(facts, reconcile.Succeeded{Changes: 1})
		report.Run = answers[0].Standing.Report.Run
	}
	_, err = g.s.Settle(g.ctx, []reconcile.Settlement{{Lease: l, Facts: facts, Report: report}})
	if err != nil {
		r.Fatal(err)
	}
}

func (g *garden) runs() []reconcile.RunID {
	runs, err := g.s.Runs(g.ctx, "", 10000)
	if err != nil {
		g.r.Fatal(err)
	}
	return runs
}

// name has a record name a run.
func (g *garden) name(r *rapid.T) {
	runs := g.runs()
	if len(runs) == 0 {
		return
	}
	run := rapid.SampledFrom(runs).Draw(r, "run")
	family := rapid.SampledFrom([]string{"held", "approval", "marker"}).Draw(r, "family")
	w := reconcile.Write{Family: family, Key: string(run), Value: fmt.Appendf(nil, `{"run":%q}`, run)}
	if family == "approval" {
		w.TTL = 48 * time.Hour
	}
	_ = g.s.Commit(g.ctx, reconcile.Batch{Records: []reconcile.Write{w}}) // it may be named already
}

func (g *garden) records() (all []reconcile.Record) {
	for _, family := range []string{"held", "approval", "marker"} {
		records, err := g.s.Records(g.ctx, family, "")
		if err != nil {
			g.r.Fatal(err)
		}
		all = append(all, records...)
	}
	return all
}

func (g *garden) unname(r *rapid.T) {
	records := g.records()
	if len(records) == 0 {
		return
	}
	one := rapid.SampledFrom(records).Draw(r, "record")
	if err := g.s.Commit(g.ctx, reconcile.Batch{Records: []reconcile.Write{{Family: one.Family, Key: one.Key, Revision: one.Revision}}}); err != nil {
		r.Fatal(err)
	}
}

func (g *garden) forget(r *rapid.T) {
	if err := g.s.Commit(g.ctx, reconcile.Batch{Forget: []reconcile.Key{"test:three"}}); err != nil {
		r.Fatal(err)
	}
}

// prune prunes, and looks at every run that there was.
func (g *garden) prune(r *rapid.T) {
	keep := reconcile.Retention{Keep: time.Duration(rapid.IntRange(1, 60).Draw(r, "keep")) * time.Hour,
		Runs: rapid.IntRange(0, 3).Draw(r, "runs"), Most: rapid.IntRange(0, 3).Draw(r, "most")}
	before := g.runs()
	kept := g.kept(before, keep)
	pruned, err := g.s.Prune(g.ctx, keep)
	if err != nil {
		r.Fatal(err)
	}
	left := g.runs()
	for _, run := range before {
		is := slices.Contains(left, run)
		if !is && kept[run] != "" {
			r.Fatalf("run %s was cut: %s", run, kept[run])
		}
		if is && kept[run] == "" && !pruned.More {
			r.Fatalf("run %s stayed", run)
		}
	}
	if found, err := g.s.Inspect(g.ctx); err != nil || len(found) > 0 {
		r.Fatalf("flaws %+v, %v", found, err)
	}
}

// kept says of each run that has to stay why it has to. The runs come the latest first.
func (g *garden) kept(runs []reconcile.RunID, keep reconcile.Retention) map[reconcile.RunID]string {
	why := map[reconcile.RunID]string{}
	for _, record := range g.records() {
		why[reconcile.RunID(record.Key)] = "a record names it"
	}
	standings, err := g.s.Standings(g.ctx)
	if err != nil {
		g.r.Fatal(err)
	}
	declared := map[reconcile.Key]bool{}
	for _, s := range standings {
		declared[s.Target] = true
		why[s.Report.Run] = "its target's report names it"
		if s.Good != nil {
			why[s.Good.Run] = "its target's last good report names it"
		}
	}
	rank := map[reconcile.Key]int{}
	for _, run := range runs {
		k := g.known[run]
		events, err := g.s.Events(g.ctx, run)
		if err != nil {
			g.r.Fatal(err)
		}
		h, err := reconcile.Fold(events)
		switch rank[k.target]++; {
		case err != nil:
			g.r.Fatal(err)
		case h.Phase == reconcile.Running:
			why[run] = "it is open"
		case !k.at.Before(g.s.now().Add(-keep.Keep)):
			why[run] = "it is young"
		case declared[k.target] && rank[k.target] <= keep.Runs:
			why[run] = "it is one of its target's last"
		}
	}
	return why
}
