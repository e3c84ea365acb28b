package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/publish"
)

// recent reads the last runs of all targets, and those that hold something back, as far as the page has cards for them. One
// that cannot be read is left out, beside the error.
func (s *site) recent(ctx context.Context, holds map[reconcile.Key]plan.Hold) (runs []reconcile.History, err error) {
	names, err := s.ledger.Runs(ctx, "", maxRuns)
	cards := 0
	for _, t := range s.engine.Targets {
		hold, waits := holds[t.Key]
		if waits && cards < maxCards && !slices.Contains(names, hold.Run) {
			names = append(names, hold.Run)
		}
		if waits {
			cards++
		}
	}
	for _, name := range names {
		events, readErr := s.ledger.Events(ctx, name)
		if readErr == nil {
			var h reconcile.History
			if h, readErr = reconcile.Fold(events); readErr == nil {
				runs = append(runs, h)
				continue
			}
		}
		err = errors.Join(err, readErr)
	}
	return runs, err
}

// addTargets adds the table, the stories and who holds what.
func (v *view) addTargets(p *publish.Page) {
	stories := v.stories()
	next, leased := v.next(), v.addHolders(p)
	ordered := v.site.ordered(v.now)
	for i, s := range ordered {
		story := stories[s.Target]
		if story != nil {
			p.Stories = append(p.Stories, *story)
		}
		quiet := stateWord(s) == reconcile.OK && leased[s.Target] == ""
		switch {
		case len(p.Rows) < maxRows && (len(ordered) <= maxRows || !quiet):
			p.Rows = append(p.Rows, v.row(s, next, leased[s.Target], story))
		case quiet && len(p.Quiet) < maxQuiet:
			p.Quiet = append(p.Quiet, shown(string(s.Target)))
		case p.More == "":
			p.More = fmt.Sprintf("and %s more: %s", counted(len(ordered)-i, "target"), v.more())
		}
	}
}

// addHolders adds who holds scopes, and says of each target that is ticked by whom.
func (v *view) addHolders(p *publish.Page) map[reconcile.Key]string {
	leased := map[reconcile.Key]string{}
	for _, l := range v.site.leases {
		until := clock(l.Until, v.now)
		leased[l.Target] = fmt.Sprintf("ticked now by %s until %s", l.Holder, until)
		p.Holds = append(p.Holds, publish.Holder{By: shown(l.Holder), What: shown(string(l.Target)), Scopes: shown(joined(l.Scopes)), Until: until})
	}
	for _, i := range v.site.items {
		until := "a person decides"
		switch {
		case i.State == reconcile.InProgress && i.Session.Until.IsZero():
			until = "trueup resume"
		case i.State == reconcile.InProgress:
			until = clock(i.Session.Until, v.now)
		}
		p.Holds = append(p.Holds, publish.Holder{By: shown(fmt.Sprintf("%s (%s)", i.ID, i.Session.Holder)),
			What: shown(fmt.Sprintf("%s: %s", i.State, cmp.Or(i.Note, i.Reason))), Scopes: shown(joined(i.Scopes)), Until: until})
	}
	if more := len(p.Holds) - maxHolders; more > 0 {
		p.Holds = append(p.Holds[:maxHolders], publish.Holder{By: fmt.Sprintf("and %d more", more), What: v.more()})
	}
	return leased
}

func (v *view) row(s reconcile.Standing, next schedule, leased string, story *publish.Story) publish.Row {
	r := publish.Row{Name: shown(string(s.Target)), State: string(stateWord(s)), Since: v.age(since(s), "–"), Good: v.age(s.CoveredAt, "never"),
		Next: "–", Note: amid(cmp.Or(leased, v.site.noteOf(s, v.now)), maxText), Do: printable(v.site.storyOf(s))}
	if due := next.of(s); !due.IsZero() {
		r.Next = clock(due, v.now)
	}
	if story != nil {
		r.Link, r.Past = story.Link, story.Past
		for _, told := range slices.Backward(story.Runs) {
			r.Marks = append(r.Marks, told.State)
		}
	}
	return r
}

// age is how long ago an instant was.
func (v *view) age(t time.Time, none string) publish.Age {
	if t.IsZero() {
		return publish.Age{Text: none}
	}
	return publish.Age{At: t, Text: coarse(v.now.Sub(t))}
}

// coarse is a duration in its greatest unit, as the page's script has it.
func coarse(d time.Duration) string {
	text := strings.Fields(span(max(0, d).Truncate(time.Second)))
	return text[0] + " " + text[1]
}

// stories are the last runs of each target.
func (v *view) stories() map[reconcile.Key]*publish.Story {
	stories := map[reconcile.Key]*publish.Story{}
	for i, h := range v.runs {
		target := h.Lease.Target
		s := stories[target]
		if s == nil {
			s = &publish.Story{Name: shown(string(target)), Link: fmt.Sprintf("story-%d", i)}
			stories[target] = s
		}
		if len(s.Runs) == maxStory {
			s.More = printable("trueup history" + v.site.flags + " " + quoted(string(target)))
			continue
		}
		s.Runs = append(s.Runs, publish.Told{Link: runLink(i), When: clock(h.Lease.Since, v.now), State: v.stateOf(h), Took: v.took(h),
			What: amid(cameTo(h), maxTold), Do: printable("trueup show" + v.site.flags + " " + quoted(string(h.Lease.Run)))})
		v.linked[i] = true
	}
	for _, s := range stories {
		s.Past = "last " + counted(len(s.Runs), "run") + ": " + pastOf(s.Runs)
	}
	return stories
}

// pastOf counts runs by how they have ended.
func pastOf(runs []publish.Told) string {
	counts := map[string]int{}
	for _, r := range runs {
		counts[r.State]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
	}
	return list(parts)
}

func runLink(i int) string { return fmt.Sprintf("run-%d", i) }

// stateOf is how far a run is; one whose removals wait is held, however the rest of it went.
func (v *view) stateOf(h reconcile.History) string {
	waits := v.site.holds[h.Lease.Target].Run == h.Lease.Run
	if waits {
		return string(reconcile.AwaitsYou)
	}
	return string(standsAt(h, waits))
}

func (v *view) took(h reconcile.History) string {
	if h.Ended.IsZero() {
		return "–"
	}
	return span(h.Ended.Sub(h.Lease.Since))
}

// cameTo is a run in a line: how it failed, or what it changed.
func cameTo(h reconcile.History) string {
	for _, e := range slices.Backward(h.Events) {
		switch f := e.Fact.(type) {
		case reconcile.Failed:
			return oneLineOf(f.Error)
		case reconcile.LeaseExpired:
			return f.Why
		}
	}
	return changesLine(h.Plan)
}
