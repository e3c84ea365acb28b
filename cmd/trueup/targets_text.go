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
func targetsText(standings []reconcile.Standing, leases []reconcile.Lease, now time.Time) []string {
	held := map[reconcile.Key]string{}
	for _, l := range leases {
		held[l.Target] = fmt.Sprintf("ticked now by %s until %s", l.Holder, clock(l.Until, now))
	}
	ordered := slices.Clone(standings)
	slices.SortStableFunc(ordered, func(a, b reconcile.Standing) int {
		if d := trouble(a) - trouble(b); d != 0 {
			return d
		}
		return strings.Compare(string(a.Target), string(b.Target))
	})
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TARGET\tSTATE\tSINCE\tLAST SUCCESS\tNOTE")
	for _, s := range ordered {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Target, stateWord(s), age(s.Since, now), lastSuccess(s, now), printable(cmp.Or(held[s.Target], noteOf(s, now))))
	}
	_ = table.Flush() // into memory
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// trouble ranks a target for the table.
func trouble(s reconcile.Standing) int {
	return slices.Index([]reconcile.State{reconcile.Held, reconcile.Failing, reconcile.Uncertain, reconcile.Limited,
		reconcile.Elsewhere, reconcile.Waiting, reconcile.OK}, stateWord(s))
}

// stateWord is the target's state; one that was asked for and never ticked waits.
func stateWord(s reconcile.Standing) reconcile.State {
	if s.Report.State == "" {
		return reconcile.Waiting
	}
	return s.Report.State
}

func noteOf(s reconcile.Standing, now time.Time) string {
	note := oneLineOf(s.Report.Note)
	if s.Failures > 1 {
		note += fmt.Sprintf(" (%d times)", s.Failures)
	}
	if !s.NotBefore.IsZero() {
		note += ", not before " + clock(s.NotBefore, now)
	}
	if s.Report.Run != "" && s.Report.State != reconcile.OK {
		note += "   trueup show " + string(s.Report.Run)
	}
	return strings.TrimSpace(note)
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
