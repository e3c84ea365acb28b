package main

import (
	"fmt"
	"slices"
	"strings"

	"trueup/reconcile"
)

// planText shows what a tick would do, removals last and all of them.
func planText(d planJSON) (lines []string) {
	lines = append(lines, string(d.Target))
	counts := map[reconcile.Op]int{}
	for _, c := range d.Changes {
		mark := " " + string(c.Op)
		if slices.Contains(d.Waiting, c.ID) {
			mark = "!" + string(c.Op)
		}
		lines = append(lines, fmt.Sprintf("  %s %s", mark, oneLineOf(c.Text)))
		counts[c.Op]++
	}
	if d.Why != "" {
		why := "  !  waits for approval: " + d.Why
		if d.Run != "" {
			why += "   trueup approve " + string(d.Run)
		}
		lines = append(lines, why)
	}
	sum := fmt.Sprintf("  %d to create, %d to change, %d to remove", counts[reconcile.Create], counts[reconcile.Update], counts[reconcile.Remove])
	if n := counts[reconcile.Unknown]; n > 0 {
		sum += fmt.Sprintf(", %d unknown", n)
	}
	return append(lines, sum)
}

func joinLines(lines []string) string { return strings.Join(lines, "\n") }
