package main

import (
	"fmt"
	"slices"

	"trueup/reconcile"
)

func (d planJSON) show(u *ui) {
	if d.Error != "" {
		u.marked(red, "error: ", fmt.Sprintf("%s: %s", d.Target, oneLineOf(d.Error)))
		return
	}
	u.page(planText(d))
}

// planText shows what a tick would do, removals last and all of them.
func planText(d planJSON) (lines []string) {
	lines = append(lines, string(d.Target))
	counts := map[reconcile.Op]int{}
	left := 0
	for _, c := range d.Changes {
		mark, waits := " ", slices.Contains(d.Waiting, c.ID)
		switch {
		case waits && d.Rejected != "", slices.Contains(d.Later, c.ID):
			mark = "·"
			left++
		case waits:
			mark = "!"
			counts[c.Op]++
		default:
			counts[c.Op]++
		}
		lines = append(lines, fmt.Sprintf("  %s%s %s", mark, c.Op, oneLineOf(c.Text)))
	}
	switch {
	case d.Rejected != "":
		lines = append(lines, fmt.Sprintf("  ·  left undone, as %s wants it: %s", d.Rejected, oneLineOf(d.Why)))
	case d.Why != "":
		why := "  !  waits for approval: " + oneLineOf(d.Why)
		if d.Run != "" {
			why += "   trueup approve " + string(d.Run)
		}
		lines = append(lines, why)
	case len(d.Later) > 0:
		lines = append(lines, "  ·  left alone until everything can be read")
	}
	sum := fmt.Sprintf("  %d to create, %d to change, %d to remove", counts[reconcile.Create], counts[reconcile.Update], counts[reconcile.Remove])
	if n := counts[reconcile.Unknown]; n > 0 {
		sum += fmt.Sprintf(", %d unknown", n)
	}
	if left > 0 {
		sum += fmt.Sprintf(", %d left undone", left)
	}
	return append(lines, sum)
}
