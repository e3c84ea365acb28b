package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"trueup/reconcile/trigger"
)

// lineWidth is where a finding's command goes to a line of its own.
const lineWidth = 100

// maxNames is how many requests a claim's line names.
const maxNames = 10

// statusText is the page of one trigger, or of several: what needs a person comes first, whichever it is about.
func statusText(reports []facts) (lines []string) {
	for _, f := range reports {
		for _, n := range f.needs() {
			if len(reports) > 1 {
				n.What = f.unit + ": " + n.What
			}
			lines = append(lines, findingLines(n)...)
		}
	}
	for _, f := range reports {
		if len(reports) > 1 {
			if len(lines) > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, f.unit)
		}
		lines = append(lines, f.page()...)
	}
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return lines
}

// page is the trigger, what is covered, and what is worth knowing.
func (f facts) page() (lines []string) {
	word, details := f.condition()
	lines = append(lines, strings.TrimRight("trigger  "+word+"   "+strings.Join(details, " · "), " "))
	if c := f.state.Claim; c != nil && c.N > 0 {
		lines = append(lines, fmt.Sprintf("claim    %d for %s, attempt %d, %s", c.N, wanted(*c), c.Attempt, ago(c.Claimed, f.now)))
	}
	lines = append(lines, coveredLine(f.published(), f.now))
	lines = append(lines, f.alarmLines()...)
	for _, note := range f.notes() {
		lines = append(lines, "note     "+note)
	}
	for _, warning := range f.warnings() {
		lines = append(lines, "warning: "+warning)
	}
	return append(lines, f.site.table(f.next(), f.now)...)
}

// wanted is what a claim is for.
func wanted(c trigger.Claim) string {
	if c.All {
		return "everything"
	}
	if more := len(c.Requests) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(c.Requests[:maxNames], ", "), more)
	}
	return strings.Join(c.Requests, ", ")
}

func findingLines(n finding) []string {
	const gap = "       "
	if n.Do == "" {
		return []string{n.What}
	}
	if utf8.RuneCountInString(n.What+gap+n.Do) <= lineWidth {
		return []string{n.What + gap + n.Do}
	}
	return []string{n.What, gap + n.Do}
}

// condition is the trigger in a word, and what there is to say about it.
func (f facts) condition() (word string, details []string) {
	word, details = f.runs()
	s := f.systemd
	if s == nil {
		switch f.watch {
		case watchOn:
			details = append([]string{"watch running"}, details...)
		case watchOff:
			return "stopped", details
		}
		if f.lockErr != nil {
			word = "unknown"
		}
		return word, details
	}
	switch path := s.path(); path {
	case "missing":
		return "gone", nil
	case "failed":
		word, details = "dead", []string{"path failed (" + s.Path.Result + ")"}
	case "disabled":
		word, details = "backed out", []string{"path disabled" + f.meanwhile()}
	case "stopped":
		word, details = "stopped", []string{"path stopped" + f.meanwhile()}
	case "unheard":
		word, details = "unheard", []string{"path watches another folder"}
	default:
		details = append([]string{"path " + path}, details...)
	}
	if next := s.nextSweep(); !next.IsZero() {
		details = append(details, "next sweep in "+span(next.Sub(f.now)))
	}
	return word, details
}

// meanwhile is what becomes of touches while the path does not watch.
func (f facts) meanwhile() string {
	if f.systemd.timer().Active == "active" {
		return ", touches wait for the timer"
	}
	return ", and no timer runs: touches wait"
}

// runs is what the runs are at.
func (f facts) runs() (word string, details []string) {
	switch f.phase() {
	case trigger.Running:
		return "running", nil
	case trigger.Failing:
		word = "failing"
		if left := f.backoffLeft(); left > 0 {
			details = append(details, "run again within "+span(left))
		}
		return word, append(details, f.lastSuccess())
	case trigger.Waiting:
		word = "waiting"
	default:
		word = "ready"
	}
	if f.policy.Floor > 0 {
		floor := "floor clear"
		if last := f.state.Settled.Finished; last.Boot == f.boot {
			if left := f.policy.Floor - (f.uptime - last.At); left > 0 {
				floor = "floor clears in " + span(left)
			}
		}
		details = append(details, floor)
	}
	return word, details
}

// backoffLeft is how long the gate still waits after a failure, at most.
func (f facts) backoffLeft() time.Duration {
	c := f.state.Claim
	if c == nil || f.policy.Floor == 0 || c.Boot != f.boot {
		return 0
	}
	return max(0, f.policy.Backoff(c.Attempt)-(f.uptime-c.At))
}

// next is when the next run begins that ticks what is owed, and the next one that ticks everything, if nothing is asked for
// meanwhile; zero where nobody knows.
func (f facts) next() (next schedule) {
	if f.systemd != nil {
		next.sweep = f.systemd.nextSweep()
	}
	next.run = next.sweep
	switch phase := f.phase(); {
	case phase == trigger.Running:
		next.run = f.now
	case phase == trigger.Waiting:
		next.run = f.now.Add(f.floorLeft())
	case phase == trigger.Failing && f.backoffLeft() > 0:
		next.run = f.now.Add(f.backoffLeft())
	}
	return next
}
