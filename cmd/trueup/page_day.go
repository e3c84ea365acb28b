package main

import (
	"fmt"
	"strings"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/publish"
)

// maxFocus is how many runs of the strip take the focus: who goes through a page by keyboard has other places to go to.
const maxFocus = 24

// addDay adds the strip and the figures of the last day.
func (v *view) addDay(p *publish.Page) {
	local := v.now.Local()
	strip := publish.NewStrip(local)
	slots := v.activity.Within(v.now)
	for _, s := range slots {
		strip.AddSlot(s, local, v.slotText(s))
	}
	changed, failed := 0, 0
	for i, h := range v.runs {
		if v.now.Sub(h.Lease.Since) > publish.Day {
			continue
		}
		for _, c := range h.Plan {
			if h.Applied(c.ID) {
				changed++
			}
		}
		if h.Phase == reconcile.Broken || h.Phase == reconcile.Expired {
			failed++
		}
		v.addMark(strip, i, i < maxFocus)
	}
	p.Figures = figures(slots, changed)
	strip.Says = fmt.Sprintf("%s on record within 24 hours, %d of them failed", counted(len(strip.Runs), "run"), failed)
	if len(slots) > 0 || len(strip.Runs) > 0 {
		p.Strip = strip
	}
}

func (v *view) slotText(s publish.Slot) string {
	parts := []string{s.At.Local().Format("15:04") + "  " + counted(s.Sweeps, "sweep")}
	if s.Touched > 0 {
		parts = append(parts, fmt.Sprintf("%d asked for", s.Touched))
	}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
	}
	parts = append(parts, "longest "+span(s.Longest))
	if s.Waited > 0 {
		parts = append(parts, "waited "+span(s.Waited)+" in the gate")
	}
	return strings.Join(parts, " · ")
}

// addMark draws a run; focus says that it may take the focus.
func (v *view) addMark(strip *publish.Strip, i int, focus bool) {
	h, ended := v.runs[i], v.runs[i].Ended
	if ended.IsZero() {
		ended = v.now
	}
	link := ""
	if focus && v.linked[i] {
		link = runLink(i)
	}
	text := fmt.Sprintf("%s  %s  %s", clock(h.Lease.Since, v.now), h.Lease.Target, v.stateOf(h))
	if !h.Ended.IsZero() {
		text += " in " + v.took(h)
	}
	strip.AddRun(h.Lease.Since, ended.Sub(h.Lease.Since), v.now, v.stateOf(h), shortened(text, 90), link)
}

// figures are the day in numbers.
func figures(slots []publish.Slot, changed int) []publish.Fact {
	var all publish.Slot
	for _, s := range slots {
		all.Sweeps += s.Sweeps
		all.Touched += s.Touched
		all.Failed += s.Failed
		all.Took += s.Took
		all.Longest, all.Waited = max(all.Longest, s.Longest), max(all.Waited, s.Waited)
	}
	if all.Sweeps == 0 {
		return nil
	}
	return []publish.Fact{
		{Name: "sweeps", Text: thousands(all.Sweeps)}, {Name: "asked for by a touch", Text: thousands(all.Touched)},
		{Name: "failed", Text: thousands(all.Failed), Alert: all.Failed > 0}, {Name: "changes made", Text: thousands(changed)},
		{Name: "average and longest sweep", Text: span(all.Took/time.Duration(all.Sweeps)) + " · " + span(all.Longest)},
		{Name: "longest wait in the gate", Text: span(all.Waited)},
	}
}
