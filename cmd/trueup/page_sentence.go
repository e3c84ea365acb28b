package main

import (
	"fmt"
	"strings"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

// sentence says how everything is, and in what mood: well, wait where it mends itself, needs where it needs a person.
func (v *view) sentence() (mood, text string) {
	if needs := v.needs(); len(needs) > 0 {
		text = needed(needs)
		return "needs", strings.ToUpper(text[:1]) + text[1:]
	}
	until := v.published().CoveredUntil
	switch {
	case v.phase() == trigger.Failing:
		return "wait", "The last run failed; it is run again by itself"
	case until == nil:
		return "wait", "Nothing has been asked for yet"
	}
	return "well", fmt.Sprintf("All well; everything written before %s is live", clock(*until, v.now))
}

// needed counts what a person has to deal with: "1 plan is held, 2 targets are failing".
func needed(needs []finding) string {
	kinds := []struct{ one, many string }{{"1 plan is held", "%d plans are held"}, {"1 target is failing", "%d targets are failing"},
		{"1 work item waits for a decision", "%d work items wait for a decision"}, {"1 thing needs you", "%d things need you"}}
	counts := make([]int, len(kinds))
	for _, n := range needs {
		word, about, _ := strings.Cut(n.What, ": ")
		target, _, _ := strings.Cut(about, ": ")
		_, notOne := reconcile.ParseKey(target)
		switch {
		case word == "held":
			counts[0]++
		case (word == "failing" || word == "unknown") && notOne == nil:
			counts[1]++
		case word == "blocked" || word == "review" || word == "unreadable":
			counts[2]++
		default:
			counts[3]++
		}
	}
	if len(needs) == 1 && counts[3] == 1 {
		return needs[0].What
	}
	var parts []string
	for i, n := range counts {
		switch {
		case n == 1:
			parts = append(parts, kinds[i].one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(kinds[i].many, n))
		}
	}
	return strings.Join(parts, ", ")
}

// beside is what the first glance should give beside the sentence.
func (v *view) beside() string {
	var parts []string
	if until := v.published().CoveredUntil; until != nil && (len(v.needs()) > 0 || v.phase() == trigger.Failing) {
		parts = append(parts, "everything written before "+clock(*until, v.now)+" is live")
	}
	if v.site != nil && len(v.site.standings) > 0 {
		counts := map[reconcile.State]int{}
		for _, s := range v.site.seen(v.now) {
			counts[stateWord(s)]++
		}
		var each []string
		for _, state := range states() {
			if counts[state] > 0 {
				each = append(each, thousands(counts[state])+" "+string(state))
			}
		}
		parts = append(parts, counted(len(v.site.standings), "target")+": "+list(each))
	}
	return strings.Join(parts, " · ")
}
