package reconcile_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
)

// TestFamiliesAreDocumented compares the families of records with the page that promises them.
func TestFamiliesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Records\n")
	section, _, _ = strings.Cut(section, "\n#")
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(section, -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	known := reconcile.Families()
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("docs/ledger.md has the families %q, and the ledger is checked for %q", documented, known)
	}
}
