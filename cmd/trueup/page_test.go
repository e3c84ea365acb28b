package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// TestPageModel holds what the page says of each state, place by place.
func TestPageModel(t *testing.T) {
	t.Setenv("TZ", "UTC")
	all := samples(t)
	for _, name := range []string{"held", "waiting", "broken", "empty", "trigger-only", "trigger-dead"} {
		p := all[name].page()
		p.Version, p.Strip = "", nil
		text, err := json.MarshalIndent(p, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata/page", name+".json")
		if *update {
			if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != string(text)+"\n" {
			t.Errorf("%s: %v; got\n%s\nwant\n%s", name, err, text, want)
		}
	}
}

// TestPageBounds: a page stays a page, however much there is; what is left out it says. And whatever somebody puts into names, no
// tag and no attribute comes of it, nor anything that a reader's eye or terminal would obey.
func TestPageBounds(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for name, v := range samples(t) {
		p := v.page()
		text, err := p.HTML()
		if err != nil || len(text) > 300_000 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		if i := strings.IndexFunc(string(text), func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x202a && r <= 0x202e }); i >= 0 {
			t.Errorf("%s: a control character at %q", name, text[i:i+4])
		}
		if n := len(regexp.MustCompile(`<script`).FindAllString(string(text), -1)); n != 1 {
			t.Errorf("%s: %d scripts", name, n)
		}
	}
	for _, b := range samples(t)["well"].page().Strip.Slots {
		if !regexp.MustCompile(`^\d\d:\d\d  \d+ sweep`).MatchString(b.Text) {
			t.Fatalf("five minutes of yesterday are called %q", b.Text)
		}
	}
	crowd := samples(t)["crowd"].page()
	if len(crowd.Rows) != 1 || len(crowd.Quiet) != maxQuiet || crowd.More != "and 499 targets more: trueup status" {
		t.Errorf("%d rows, %d names, %q; want the one that fails, %d names, and how many more", len(crowd.Rows), len(crowd.Quiet), crowd.More, maxQuiet)
	}
}

// TestPageOfTrouble: with everything held and reserved there are the first cards and holders, and how many more.
func TestPageOfTrouble(t *testing.T) {
	t.Setenv("TZ", "UTC")
	v := samples(t)["crowd"]
	v.site.holds = map[reconcile.Key]plan.Hold{}
	for i, s := range v.site.standings {
		v.site.standings[i].Report, v.site.standings[i].Failures = reconcile.Report{State: reconcile.Held, Run: "r-1"}, 0
		v.site.holds[s.Target] = plan.Hold{Target: s.Target, Run: "r-1", Why: strings.Repeat("many removals ", 60), Changes: 3}
		v.site.items = append(v.site.items, reconcile.Item{ID: reconcile.ItemID("pause:" + string(s.Target)), State: reconcile.InProgress})
	}
	p := v.page()
	text, err := p.HTML()
	if err != nil || len(text) > 300_000 || p.Sentence != "1500 plans are held" {
		t.Errorf("%d bytes, %v, %q", len(text), err, p.Sentence)
	}
	if last := p.Needs[len(p.Needs)-1]; len(p.Needs) != maxCards+1 || last.What != "1,476 things more" || last.Do[0] != "trueup status" {
		t.Errorf("%d cards, the last %+v", len(p.Needs), last)
	}
	if last := p.Holds[len(p.Holds)-1]; len(p.Holds) != maxHolders+1 || last.By != "and 1450 more" {
		t.Errorf("%d holders, the last %+v", len(p.Holds), last)
	}
}

// TestPageWords: what a note and a run came to keep their cause, and the box for commands has none but commands.
func TestPageWords(t *testing.T) {
	t.Setenv("TZ", "UTC")
	v := samples(t)["failing"]
	cause := "no such file or directory"
	v.site.standings[0].Report = reconcile.Report{State: reconcile.Failing, Note: "reading policy " + strings.Repeat("/long", 40) + ": " + cause}
	v.run(t, string(v.site.standings[0].Target), "r-77777", noon.Add(-time.Minute), time.Second, v.site.standings[0].Report.Note)
	v.unit, v.systemd, v.watch = "", nil, watchOn
	v.shown.State, v.state.Claim = trigger.Failing, claim(4, time.Minute)
	p := v.page()
	if !slices.ContainsFunc(p.Rows, func(r publish.Row) bool { return strings.HasSuffix(r.Note, cause) && strings.Contains(r.Note, "…") }) {
		t.Errorf("the cause is not in the notes of %+v", p.Rows)
	}
	told := false
	for _, s := range p.Stories {
		for _, r := range s.Runs {
			told = told || strings.HasSuffix(r.What, cause)
		}
	}
	if !told {
		t.Errorf("the cause is not in what the runs came to: %+v", p.Stories)
	}
	for _, n := range p.Needs {
		for _, do := range n.Do {
			if !strings.HasPrefix(do, "trueup ") {
				t.Errorf("%q stands in the box for commands", do)
			}
		}
	}
	if p.Needs[0].Say != "look at what trueup watch and its command print" {
		t.Errorf("what to do is %+v", p.Needs[0])
	}
	if text, err := p.HTML(); err != nil || !strings.Contains(string(text), `<p class="more">look at what trueup watch`) {
		t.Errorf("the sentence is not on the page, %v", err)
	}
}

// TestPageAfterSweep: the page that a sweep writes shows what is so once it is over, though its own run is still on.
func TestPageAfterSweep(t *testing.T) {
	t.Setenv("TZ", "UTC")
	during := func() *view {
		v := &view{facts: well(), host: "host-a"}
		v.site = &siteFacts{folders: v.folders}
		v.shown.State, v.shown.Claims, v.state.Claim = trigger.Running, 8, claim(3, 5*time.Second)
		v.serve("activating", "start", 5*time.Second)
		v.systemd.Timers[0].Next = time.Time{}
		return v
	}
	failing := map[reconcile.Key]reconcile.Report{"command:a": {State: reconcile.Failing}}
	for _, c := range []struct {
		name, mood, sentence, state string
		sw                          swept
	}{
		{"done", "well", "All well; everything written before 11:59:55 is live", "ready",
			swept{claim: claim(3, 5*time.Second), outcome: reconcile.Outcome{Covered: 8, CoveredUntil: noon.Add(-5 * time.Second)}}},
		{"some lag", "well", "All well; everything written before 11:59:48 is live", "ready", swept{claim: claim(3, 5*time.Second)}},
		{"a target failed", "needs", "Failing: the run has failed 3 times in a row; last success 40 s ago", "failing",
			swept{claim: claim(3, 5*time.Second), outcome: reconcile.Outcome{Reports: failing}}},
		{"the ledger failed", "needs", "Failing: the run has failed 3 times in a row; last success 40 s ago", "failing", swept{claim: claim(3, 5*time.Second), err: errors.New("no space")}},
	} {
		v := during()
		v.ended(c.sw)
		p := v.page()
		if p.Mood != c.mood || p.Sentence != c.sentence || p.Health[0].Text != c.state {
			t.Errorf("%s: %s, %q, %s; want %s, %q, %s", c.name, p.Mood, p.Sentence, p.Health[0].Text, c.mood, c.sentence, c.state)
		}
		if got := p.Health[2].Text; got != "at 12:05:00, by web.timer" {
			t.Errorf("%s: next sweep %s", c.name, got)
		}
	}
	v := during()
	v.ended(swept{})
	if v.phase() != trigger.Running {
		t.Errorf("a sweep by hand ends the service's run: %s", v.phase())
	}
}

// TestSlotOfSweep: what asked for a sweep is what systemd says, and the gate's wait counts from the service's start.
func TestSlotOfSweep(t *testing.T) {
	for _, c := range []struct {
		by      string
		claim   *trigger.Claim
		touched int
	}{
		{"trueup.path", claim(1, 0), 1}, {"trueup.timer", claim(1, 0), 0}, {"trueup.path", claim(2, 0), 0}, // the claim itself asks again
		{"", claim(1, 0), 0}, {"", &trigger.Claim{Attempt: 1, Requests: []string{"command:a"}, Claimed: noon}, 1}, {"trueup.path", nil, 0},
	} {
		t.Setenv("TRIGGER_UNIT", c.by)
		v := &view{facts: well()}
		v.systemd.Service.Began = noon.Add(-12 * time.Second)
		slot := v.slot(swept{claim: c.claim, took: time.Second})
		if slot.Touched != c.touched || slot.Took != time.Second || c.claim != nil && slot.Waited != 12*time.Second {
			t.Errorf("by %q, %+v: %+v", c.by, c.claim, slot)
		}
	}
}

// quiet finds everything as it should be.
type quiet struct{}

func (quiet) Tick(context.Context, *reconcile.Run) (reconcile.Report, error) {
	return reconcile.Report{State: reconcile.OK}, nil
}

// BenchmarkSweepWithPage is what the page adds to a sweep of 1,000 targets with which all is well:
// docs/performance.md.
func BenchmarkSweepWithPage(b *testing.B) {
	dir := b.TempDir()
	text := fmt.Sprintf("version: 1\ntrigger: {spool: %[1]s/spool, state: %[1]s/state}\noutbox: %[1]s/outbox\nreport: %[1]s/report\ntargets:\n", dir)
	for i := range 1000 {
		text += fmt.Sprintf("- {kind: command, name: t%d, check: [true], apply: [true]}\n", i)
	}
	if err := errors.Join(os.WriteFile(dir+"/trueup.yaml", []byte(text), 0o600), os.Mkdir(dir+"/state", 0o700)); err != nil {
		b.Fatal(err)
	}
	w := which{config: dir + "/trueup.yaml"}
	s, err := w.open(b.Context(), "benchmark")
	if err != nil {
		b.Fatal(err)
	}
	defer s.close()
	for key := range s.engine.Tickers {
		s.engine.Tickers[key] = quiet{}
	}
	everything := reconcile.Wanted{All: true}
	sweeping, paging := time.Duration(0), time.Duration(0)
	for b.Loop() {
		began := time.Now()
		outcome, err := s.engine.Sweep(b.Context(), reconcile.Order{Owing: everything, Fresh: everything})
		if err != nil {
			b.Fatal(err)
		}
		standings, err := s.showTargets(b.Context(), nil, outcome)
		if err != nil {
			b.Fatal(err)
		}
		swept := swept{outcome: outcome, standings: standings, took: time.Since(began)}
		sweeping += swept.took
		if err := s.writePage(b.Context(), swept); err != nil {
			b.Fatal(err)
		}
		paging += time.Since(began) - swept.took
	}
	b.ReportMetric(100*paging.Seconds()/sweeping.Seconds(), "%page/sweep")
	b.ReportMetric(1000*paging.Seconds()/float64(b.N), "ms/page")
}
