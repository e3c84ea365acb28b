package reconcile_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLayoutPrograms: what exists for tests alone is linked into no program: the suites that stores and kinds have to pass, the
// fakes, and the ledger in memory, in which nothing would outlive the process. That one is in test files of reconcile/simtest,
// which nothing can import; what tests of several packages share imports package testing, or is named here.
func TestLayoutPrograms(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{len .GoFiles}}", "./cmd/...", "./reconcile/simtest")
	list.Dir = ".."
	var complaint strings.Builder
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		t.Fatalf("listing what the programs are linked from: %v\n%s", err, &complaint)
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		pkg, files, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg == module+"/reconcile/simtest" {
			if files != "1" { // doc.go
				t.Errorf("%s has %s files that are no tests; a program could import its ledger in memory", pkg, files)
			}
			continue
		}
		packages = append(packages, pkg)
	}
	for _, pkg := range testsAlone(packages) {
		t.Errorf("%s is linked into a program, and exists for tests", pkg)
	}
	if got := testsAlone([]string{"testing", "trueup/reconcile", "trueup/reconcile/ledgertest", "trueup/reconcile/postgres/pgtest/x"}); len(got) != 3 {
		t.Errorf("of four packages, three are for tests alone; got %v", got)
	}
}

// testsAlone are the packages that no program has a use for.
func testsAlone(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		ours, is := strings.CutPrefix(p, module+"/")
		support := slices.ContainsFunc([]string{"reconcile/ledgertest", "reconcile/kindtest", "reconcile/simtest", "reconcile/forgejo/fake",
			"reconcile/postgres/pgtest", "units/nspawn"}, func(s string) bool { return within(ours, []string{s}) })
		return p != "testing" && !(is && support)
	})
}
