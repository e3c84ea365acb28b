package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"trueup/reconcile"
)

// targetsText is the table of the targets, those that need a person or are in trouble first.
func (f *siteFacts) targetsText(next schedule, now time.Time) []string {
	held := map[reconcile.Key]string{}
	for _, l := range f.leases {
		held[l.Target] = fmt.Sprintf("ticked now by %s until %s", l.Holder, clock(l.Until, now))
	}
	ordered := f.ordered(now)
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TARGET\tSTATE\tSINCE\tLAST SUCCESS\tNEXT\tNOTE")
	for _, s := range ordered {
		due := next.of(s)
		if held[s.Target] != "" {
			due = now
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Target, stateWord(s), age(since(s), now), lastSuccess(s, now), inTime(due, now),
			printable(cmp.Or(held[s.Target], strings.TrimSpace(f.noteOf(s, now)+"   "+f.storyOf(s)))))
	}
	_ = table.Flush() // into memory
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// ordered are the targets as they are seen, those that need a person or are in trouble first.
func (f *siteFacts) ordered(now time.Time) []reconcile.Standing {
	seen := f.seen(now)
	slices.SortStableFunc(seen, func(a, b reconcile.Standing) int {
		return cmp.Or(trouble(a)-trouble(b), strings.Compare(string(a.Target), string(b.Target)))
	})
	return seen
}

// trouble ranks a target for the table.
func trouble(s reconcile.Standing) int {
	return slices.Index(states(), stateWord(s))
}

// states are those of targets, the ones that need a person or are in trouble first.
func states() []reconcile.State {
	return []reconcile.State{reconcile.Held, reconcile.Failing, reconcile.Uncertain, reconcile.Limited, reconcile.Elsewhere, reconcile.Waiting, reconcile.OK}
}

// stateWord is the target's state. One that was never ticked waits, and so does one that was asked for since all was well.
func stateWord(s reconcile.Standing) reconcile.State {
	if s.Report.State == "" || s.Report.State == reconcile.OK && s.Owed() {
		return reconcile.Waiting
	}
	return s.Report.State
}

// since is from when on the target is in the state that is shown.
func since(s reconcile.Standing) time.Time {
	if stateWord(s) == reconcile.Waiting {
		return s.AskedAt
	}
	return s.Since
}

// A schedule is when a run begins next that ticks what is owed, and one that ticks everything; zero where nobody knows.
type schedule struct{ run, sweep time.Time }

// of is when the target is ticked next; zero where nobody knows, or where it waits for somebody.
func (n schedule) of(s reconcile.Standing) time.Time {
	next := n.sweep
	if s.Owed() {
		next = n.run
	}
	switch state := stateWord(s); {
	case state == reconcile.Held, state == reconcile.Elsewhere, next.IsZero():
		return time.Time{}
	case s.NotBefore.After(next):
		return s.NotBefore
	}
	return next
}

// inTime is how long it is till an instant.
func inTime(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "–"
	case !t.After(now):
		return "now"
	}
	return span(t.Sub(now))
}

func (f *siteFacts) noteOf(s reconcile.Standing, now time.Time) string {
	if note := f.nodes.noteOf(s.Target); note != "" {
		return note
	}
	if stateWord(s) == reconcile.Waiting {
		return s.Reason
	}
	note := oneLineOf(s.Report.Note)
	if s.Failures > 1 {
		note += fmt.Sprintf(" (%d times)", s.Failures)
	}
	if !s.NotBefore.IsZero() {
		note += ", not before " + clock(s.NotBefore, now)
	}
	return strings.TrimSpace(note)
}

// storyOf is the command that tells why a target is as it is; empty where there is nothing to tell.
func (f *siteFacts) storyOf(s reconcile.Standing) string {
	if s.Report.Run == "" || stateWord(s) == reconcile.Waiting || s.Report.State == reconcile.OK {
		return ""
	}
	return "trueup show" + f.flags + " " + quoted(string(s.Report.Run))
}

func lastSuccess(s reconcile.Standing, now time.Time) string {
	if s.CoveredAt.IsZero() {
		return "never"
	}
	return ago(s.CoveredAt, now)
}

func age(t, now time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return span(now.Sub(t))
}
