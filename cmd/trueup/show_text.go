package main

import (
	"fmt"
	"strings"
	"time"

	"trueup/reconcile"
)

const clockTime = "15:04:05.000"

// storyText tells a run: a line for its lease, and one for each thing that happened in it.
func storyText(h reconcile.History, waits bool, now time.Time) (lines []string) {
	l := h.Lease
	head := fmt.Sprintf("run %s  %s   %s", l.Run, l.Target, l.Reason)
	if !l.Asked.IsZero() {
		head += fmt.Sprintf(" at %s, leased %s later", l.Asked.Local().Format(clockTime), span(l.Since.Sub(l.Asked)))
	}
	head += fmt.Sprintf(" by %s, fence %d", l.Holder, l.Fence)
	if day := l.Since.Local().Format(time.DateOnly); day != now.Local().Format(time.DateOnly) {
		head += ", on " + day
	}
	lines = append(lines, head)
	for _, e := range h.Events {
		word, said := tell(h, waits, e.Fact)
		at := e.At
		if opening, ok := e.Fact.(reconcile.Leased); ok {
			at = opening.Since // it is recorded with the first thing worth telling
		}
		var further []string
		if hold, ok := e.Fact.(reconcile.HeldBack); ok {
			all := heldLines(h, hold)
			said, further = all[0], all[1:]
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %s  %-10s  %s", at.Local().Format(clockTime), word, said), " "))
		for _, line := range further {
			lines = append(lines, strings.Repeat(" ", 28)+line)
		}
	}
	switch {
	case h.Phase == reconcile.Running:
		lines = append(lines, "  it has not ended")
	case waits:
		lines = append(lines, fmt.Sprintf("  %s for approval: trueup approve %s", waitsText(len(h.Waiting())), l.Run))
	case h.Hold != nil && h.Approval == nil && h.Verdict == nil:
		lines = append(lines, "  what it held back waits no more")
	}
	return lines
}

// heldLines name what is to be approved, a line each: nothing of it is folded.
func heldLines(h reconcile.History, hold reconcile.HeldBack) (lines []string) {
	for _, c := range h.Waiting() {
		lines = append(lines, string(c.Op)+" "+oneLineOf(c.Text))
	}
	if lines == nil {
		lines = []string{""}
	}
	lines[len(lines)-1] += ": " + hold.Why
	return lines
}

// tell says what happened in a word and a line.
func tell(h reconcile.History, waits bool, fact reconcile.Fact) (word, said string) {
	switch f := fact.(type) {
	case reconcile.Leased:
		return "leased", fmt.Sprintf("%s until %s", joined(f.Scopes), f.Until.Local().Format(time.TimeOnly))
	case reconcile.Planned:
		return "planned", changesLine(f.Changes)
	case reconcile.HeldBack:
		return "held", "" // storyText names each
	case reconcile.Intended:
		return "begun", changeText(h, f.Change)
	case reconcile.Applied:
		said = fmt.Sprintf("%-40s  %s", changeText(h, f.Change), span(f.Took))
		if f.Approved != "" {
			said += ", as approved in " + string(f.Approved)
		}
		return "applied", said
	case reconcile.ChangeFailed:
		return "not done", changeText(h, f.Change) + ": " + oneLineOf(f.Error)
	case reconcile.Recovered:
		happened := "had not happened"
		if f.Happened {
			happened = "had happened"
		}
		return "recovered", fmt.Sprintf("%s, begun in %s, %s", f.Change, f.Run, happened)
	case reconcile.Succeeded:
		return "succeeded", counted(f.Changes, "change") + "; " + restText(h, waits)
	case reconcile.Failed:
		said = oneLineOf(f.Error)
		if f.NotBefore != nil {
			said += ", not before " + f.NotBefore.Local().Format(time.TimeOnly)
		}
		return "failed", said
	case reconcile.LeaseExpired:
		return "expired", f.Why
	case reconcile.Approved:
		return "approved", fmt.Sprintf("by %s, until %s", f.By, f.Until.Local().Format(time.DateTime))
	case reconcile.Rejected:
		said = strings.TrimSuffix("by "+f.By+": "+f.Reason, ": ")
		if f.Done > 0 {
			said += fmt.Sprintf("   after %s done", wasText(f.Done))
		}
		return "rejected", said
	}
	return fmt.Sprintf("%T", fact), ""
}

// restText is what a success comes to: what was held back, then or by an earlier run, may be what an asker waits for.
func restText(h reconcile.History, waits bool) string {
	switch {
	case h.Approval != nil:
		return "the rest was approved by " + h.Approval.By
	case h.Verdict != nil:
		return "the rest was rejected by " + h.Verdict.By
	case h.Hold != nil && waits:
		return "the rest waits for approval"
	case h.Hold != nil:
		return "the rest waited for approval"
	case h.Waits != "":
		return "the rest waited for approval in run " + string(h.Waits)
	}
	return fmt.Sprintf("every write before %s is live", h.Lease.Since.Local().Format(clockTime))
}

// changesLine names a few changes in one line.
func changesLine(p reconcile.Plan) string {
	const most = 6
	var texts []string
	for i, c := range p {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(p)-most))
			break
		}
		texts = append(texts, string(c.Op)+" "+c.Text)
	}
	return strings.Join(texts, " · ")
}

func changeText(h reconcile.History, id string) string {
	if c, ok := h.Change(id); ok {
		return string(c.Op) + " " + c.Text
	}
	return id
}

func joined(scopes []reconcile.Scope) string {
	texts := make([]string, len(scopes))
	for i, s := range scopes {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// counted is a number of things: "1 change", "3 changes".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%s %ss", thousands(n), thing)
}

// oneLineOf is the first line of a text, and whether there is more.
func oneLineOf(text string) string {
	first, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.TrimSpace(more) != "" {
		return first + " […]"
	}
	return first
}

// waitsText is a number of changes and what they do.
func waitsText(n int) string {
	if n == 1 {
		return "1 change waits"
	}
	return counted(n, "change") + " wait"
}
