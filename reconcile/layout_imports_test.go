package reconcile_test

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "trueup"
	systemd  = "github.com/coreos/go-systemd/v22"
	dbus     = "github.com/godbus/dbus/v5"
	fsnotify = "github.com/fsnotify/fsnotify"
	sys      = "golang.org/x/sys"
	cobra    = "github.com/spf13/cobra"
	yaml     = "gopkg.in/yaml.v3"
	modernc  = "modernc.org/sqlite"
	pgx      = "github.com/jackc/pgx/v5"
	gitea    = "code.gitea.io/sdk/gitea"
	progress = "github.com/schollz/progressbar/v3"
	tea      = "charm.land/bubbletea/v2"
)

// A row says what a package may import beside the standard library.
type row struct{ ours, others []string }

// table has a row for every package. The direction it keeps: cmd wires units and reconcile together; units may use the
// trigger; reconcile knows neither; the trigger knows nothing of ours, and the gate little more than the trigger, so that
// what faces the web app stays small. Kinds and stores never import each other.
var table = map[string]row{
	"cmd/trueup": {ours: []string{"reconcile", "reconcile/command", "reconcile/config", "reconcile/export", "reconcile/forgejo", "reconcile/node", "reconcile/plan", "reconcile/policy",
		"reconcile/postgres", "reconcile/publish", "reconcile/sqlite", "reconcile/trigger", "units", "units/heal"}, others: []string{cobra, systemd, fsnotify, sys, progress, tea}},
	"cmd/trueup-gate":           {ours: []string{"reconcile/trigger", "units/heal"}, others: []string{systemd}},
	"docs/examples/kind":        {ours: []string{"reconcile", "reconcile/config", "reconcile/httpapi", "reconcile/plan"}},
	"docs/examples/signup":      {ours: []string{"docs/examples/web"}},
	"docs/examples/web":         {},
	"docs/model":                {},
	"reconcile":                 {},
	"reconcile/command":         {ours: []string{"reconcile", "reconcile/plan", "reconcile/secret"}, others: []string{yaml, sys}},
	"reconcile/config":          {ours: []string{"reconcile", "reconcile/policy"}, others: []string{yaml}},
	"reconcile/export":          {ours: []string{"reconcile"}},
	"reconcile/forgejo":         {ours: []string{"reconcile", "reconcile/config", "reconcile/httpapi", "reconcile/plan"}, others: []string{gitea, yaml}},
	"reconcile/forgejo/fake":    {},
	"reconcile/httpapi":         {ours: []string{"reconcile", "reconcile/secret"}},
	"reconcile/kindtest":        {ours: []string{"reconcile", "reconcile/plan", "reconcile/policy", "reconcile/sqlite"}},
	"reconcile/node":            {ours: []string{"reconcile"}, others: []string{sys}},
	"reconcile/registry":        {ours: []string{"reconcile"}},
	"reconcile/plan":            {ours: []string{"reconcile", "reconcile/policy"}},
	"reconcile/ledgertest":      {ours: []string{"reconcile"}},
	"reconcile/policy":          {ours: []string{"reconcile", "reconcile/secret"}, others: []string{yaml, modernc, pgx}},
	"reconcile/postgres":        {ours: []string{"reconcile", "reconcile/export"}, others: []string{pgx}},
	"reconcile/postgres/pgtest": {others: []string{pgx}},
	"reconcile/publish":         {ours: []string{"reconcile/secret"}, others: []string{sys}},
	"reconcile/secret":          {},
	"reconcile/simtest":         {},
	"reconcile/sqlite":          {ours: []string{"reconcile", "reconcile/export"}, others: []string{modernc, sys}},
	"reconcile/trigger":         {others: []string{systemd, fsnotify, sys}},
	"units":                     {ours: []string{"reconcile/trigger", "units/heal"}, others: []string{systemd, dbus, sys}},
	"units/heal":                {ours: []string{"reconcile/trigger"}, others: []string{systemd, dbus}},
	"units/fleet":               {others: []string{pgx}},
	"units/nspawn":              {others: []string{sys}},
	"units/packages":            {},
	"units/protocol":            {},
	"units/role":                {},
	"units/runbook":             {},
	"units/signup":              {},
}

// testsOnly is what test files may import on top of their package's row, with every package of ours.
var testsOnly = []string{"pgregory.net/rapid", "github.com/rogpeppe/go-internal", sys}

// gateClosure is everything from outside that may be linked into the gate, by whatever way it comes.
var gateClosure = []string{systemd, dbus, fsnotify, sys}

func forbiddenImports(t *tree) (found []finding) {
	missing := map[string]bool{}
	for _, s := range t.goFiles(anyFile) {
		allowed, ok := table[s.pkg()]
		if !ok && !missing[s.pkg()] {
			missing[s.pkg()] = true
			found = append(found, finding{s.pkg(), "is not in the import table; add a row that says what it may import"})
		}
		for _, spec := range s.file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if why := refuse(s, allowed, imported); ok && why != "" {
				found = append(found, finding{s.path, "imports " + imported + "; " + why})
			}
		}
	}
	return found
}

// refuse says why the file may not import the path, or nothing.
func refuse(s source, allowed row, imported string) string {
	first, _, _ := strings.Cut(imported, "/")
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case isOurs && s.isTest():
		return ""
	case isOurs && strings.HasPrefix(s.pkg(), "reconcile") && !strings.HasPrefix(ours, "reconcile"):
		return "reconcile never depends on units or cmd: turn the dependency round, with an interface where it is used"
	case isOurs && slices.Contains(allowed.ours, ours):
		return ""
	case isOurs:
		return "its row of the import table does not allow it: let cmd wire the two, or argue for the row"
	case !strings.Contains(first, "."), // the standard library
		within(imported, allowed.others),
		s.isTest() && within(imported, testsOnly):
		return ""
	}
	return "its row of the import table does not allow that module: do without, or argue for the row"
}

// within tells whether the package belongs to one of the modules.
func within(imported string, modules []string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return imported == m || strings.HasPrefix(imported, m+"/") })
}

// TestLayoutGateClosure asks the go command, since a permitted import may bring others along.
func TestLayoutGateClosure(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./cmd/trueup-gate")
	list.Dir = ".."
	var complaint strings.Builder
	list.Stderr = &complaint
	out, err := list.Output()
	if err != nil {
		t.Fatalf("listing what the gate is linked from: %v\n%s", err, &complaint)
	}
	for _, pkg := range tooMuch(strings.Fields(string(out))) {
		t.Errorf("%s is linked into trueup-gate, which faces the web app; only the standard library, the trigger and %s may be",
			pkg, strings.Join(gateClosure, ", "))
	}
}

// tooMuch is what has no place in the gate.
func tooMuch(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool {
		ours, isOurs := strings.CutPrefix(p, module+"/")
		return isOurs && (ours == "cmd/trueup-gate" || slices.Contains(table["cmd/trueup-gate"].ours, ours)) ||
			within(p, gateClosure)
	})
}
