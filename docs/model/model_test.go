// Package model holds the trigger protocol as a Promela model; see README.md.
package model

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// caseLine is one line of the report: verdict, kind, what it is, figures.
var caseLine = regexp.MustCompile(`^(ok|FAIL) +(proved|refuted|reached|lost) +(.*?) +\((.*)\)$`)

// TestModel has spin prove the protocol and refute every mistake. A missing
// spin is a failure: a protocol that nobody has checked is not one that holds.
func TestModel(t *testing.T) {
	// Reading them here makes them inputs of the test: go test may then answer
	// from its cache for as long as neither has changed.
	for _, name := range []string{"trigger.pml", "check"} {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatalf("reading the model: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./check")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it tidies up
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()

	seen := map[string]int{}
	for line := range strings.Lines(string(out)) {
		m := caseLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		verdict, kind, what, figures := m[1], m[2], m[3], m[4]
		seen[kind]++
		t.Run(kind+"/"+what, func(t *testing.T) {
			t.Log(figures)
			if verdict != "ok" {
				t.Errorf("%s: %s", what, figures)
			}
		})
	}
	if err != nil {
		t.Fatalf("checking the model: %v\n%s", err, out)
	}
	if seen["proved"] != 1 || seen["refuted"] < 11 || seen["reached"] == 0 {
		t.Errorf("the report is not whole: %v\n%s", seen, out)
	}
}
