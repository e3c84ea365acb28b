package main

import (
	"fmt"
	"strings"
)

// groups are doctor's parts, in the order in which it prints them.
func groups() []string { return []string{"systemd", "trigger", "folders", "ledger", "targets"} }

// doctorJSON is what doctor --json prints.
type doctorJSON struct {
	Version int             `json:"version"`
	Wrong   int             `json:"wrong"` // how many checks are
	Units   []diagnosisJSON `json:"units"`
}

type diagnosisJSON struct {
	Unit   string  `json:"unit"` // empty for trueup watch
	Checks []check `json:"checks"`
}

// sayDiagnoses prints what was found. Anything wrong ends the program with exit code 1.
func sayDiagnoses(u *ui, found []diagnosis, asJSON bool) error {
	document := doctorJSON{Version: 1, Units: []diagnosisJSON{}}
	for _, d := range found {
		document.Wrong += howMany(d.checks, isWrong)
		document.Units = append(document.Units, diagnosisJSON{d.unit, append([]check{}, d.checks...)})
	}
	if asJSON {
		if err := sayJSON(u, document); err != nil {
			return err
		}
	} else {
		u.page(doctorText(found))
	}
	if document.Wrong > 0 {
		return &failure{code: exitNeeds}
	}
	return nil
}

func howMany(checks []check, w word) (n int) {
	for _, c := range checks {
		if c.Word == w {
			n++
		}
	}
	return n
}

// doctorText is the summary, what is wrong first, and then every check in its group.
func doctorText(found []diagnosis) (lines []string) {
	var all []check
	for _, d := range found {
		for _, c := range d.checks {
			if c.Word == isWrong {
				what := c.What
				if len(found) > 1 {
					what = d.unit + ": " + what
				}
				lines = append(lines, findingLines(finding{"wrong: " + what, c.Do})...)
			}
		}
		all = append(all, d.checks...)
	}
	lines = append(lines, tally(all))
	for _, d := range found {
		if len(found) > 1 {
			lines = append(lines, "", d.unit)
		}
		for _, group := range groups() {
			lines = append(lines, groupText(group, d.checks)...)
		}
	}
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return lines
}

// tally counts the checks by what they come to, the worst first.
func tally(all []check) string {
	var parts []string
	if n := howMany(all, isWrong); n > 0 {
		parts = append(parts, fmt.Sprintf("%d wrong", n))
	} else {
		parts = append(parts, "nothing is wrong")
	}
	for _, w := range []word{isWarning, isNote} {
		if n := howMany(all, w); n > 0 {
			parts = append(parts, counted(n, string(w)))
		}
	}
	return list(append(parts, fmt.Sprintf("%d ok", howMany(all, isOK))))
}

func groupText(group string, checks []check) (lines []string) {
	const gap = "             "
	for _, c := range checks {
		if !strings.HasPrefix(c.ID, group+".") {
			continue
		}
		if len(lines) == 0 {
			lines = append(lines, "", group)
		}
		lines = append(lines, fmt.Sprintf("  %-8s %s", c.Word, c.What))
		if c.Do != "" {
			lines = append(lines, gap+c.Do)
		}
	}
	return lines
}
