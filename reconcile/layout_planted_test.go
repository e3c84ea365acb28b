package reconcile_test

import (
	"go/token"
	"strings"
	"testing"
)

// planted shows each rule a small source that breaks it, and the near misses that it must let pass.
var planted = []struct {
	rule, path, text string
	where            string // of the one finding; empty: there must be none
}{
	{"imports", "reconcile/trigger/x.go", `package trigger; import "trueup/units"`, "reconcile/trigger/x.go"},
	{"imports", "reconcile/x.go", `package reconcile; import "trueup/reconcile/trigger"`, "reconcile/x.go"},
	{"imports", "reconcile/trigger/x.go", `package trigger; import "github.com/spf13/cobra"`, "reconcile/trigger/x.go"},
	{"imports", "reconcile/trigger/x.go", `package trigger; import "golang.org/x/sysx"`, "reconcile/trigger/x.go"},
	{"imports", "reconcile/trigger/x.go", `package trigger; import "golang.org/x/sys/unix"`, ""},
	{"imports", "reconcile/trigger/x_test.go", `package trigger; import "pgregory.net/rapid"`, ""},
	{"imports", "cmd/trueup/x.go", `package main; import "trueup/units"`, ""},
	{"imports", "cmd/trueup/x.go", `package main; import "trueup/units/nspawn"`, "cmd/trueup/x.go"},
	{"imports", "cmd/trueup-gate/x.go", `package main; import "trueup/units"`, "cmd/trueup-gate/x.go"},
	{"imports", "reconcile/new/x.go", `package new`, "reconcile/new"},

	{"bounds", "units/x.go", "package units\n" + strings.Repeat("\n", maxFile-1), ""},
	{"bounds", "units/x.go", "package units\n" + strings.Repeat("\n", maxFile), "units/x.go"},
	{"bounds", "units/x_test.go", "package units\n" + strings.Repeat("\n", maxFile), ""},
	{"bounds", "units/x.go", "package units\nfunc f() {" + strings.Repeat("\n", maxFunction-1) + "}", ""},
	{"bounds", "units/x.go", "package units\nfunc (t *T) f() {" + strings.Repeat("\n", maxFunction) + "}", "units/x.go T.f"},

	{"documented", "units/x.go", "package units", "units"},
	{"documented", "units/x.go", "// Package units\npackage units\nfunc F() {}", "units/x.go F"},
	{"documented", "units/x.go", "// Package units\npackage units\nfunc (T[K]) F() {}", "units/x.go F"},
	{"documented", "units/x.go", "// Package units\npackage units\ntype T int", "units/x.go T"},
	{"documented", "units/x.go", "// Package units\npackage units\nvar a, B int", "units/x.go B"},
	{"documented", "units/x.go", "// Package units\npackage units\n// What they are:\nconst (\nA = 1\nB = 2\n)", ""},
	{"documented", "units/x.go", "// Package units\npackage units\nfunc (t) F() {}\nfunc (T) Error() {}\nfunc f() {}", ""},
	{"documented", "cmd/trueup/x.go", "package main\nfunc F() {}", ""},

	{"no init", "units/x.go", "package units; func init() {}", "units/x.go"},
	{"no init", "units/x.go", "package units; func (T) init() {}", ""},

	{"no package state", "units/x.go", "package units; var m = map[int]int{}; func f() { m[1] = 2 }", "units/x.go m"},
	{"no package state", "units/x.go", "package units; var v T; func f() { v.n++ }", "units/x.go v"},
	{"no package state", "units/x.go", "package units; var v bool; func f() { flag(&v) }", "units/x.go v"},
	{"no package state", "units/x.go", "package units; var mu sync.Mutex; func f() { mu.Lock() }", "units/x.go mu"},
	{"no package state", "units/x.go", "package units; var m = map[int]int{}; func f() { delete(m, 1) }", "units/x.go m"},
	{"no package state", "units/x.go", "package units; var m = map[int]int{1: 2}; func f() int { return m[1] }", ""},
	{"no package state", "units/x.go", "package units; var m = 1; func f() { m := 2; m = 3; g(m) }", ""},
	{"no package state", "units/x_test.go", "package units; var m = 1; func f() { m = 2 }", ""},

	{"no sleep", "units/x_test.go", "package units; func TestX() { time.Sleep" + "(1) }", "units/x_test.go TestX"},
	{"no sleep", "units/x.go", "package units; func f() { time.Sleep" + "(1) }", ""},

	{"no skip", "units/x_test.go", "package units; func TestX() { f(func() { tb.Skipf(`no root`) }) }", "units/x_test.go TestX"},
	{"no skip", "units/x_test.go", "package units; func TestX() { tb.Skipped() }", ""},

	{"no line numbers", "docs/x.md", "see line 12", "docs/x.md"},
	{"no line numbers", "units/x.go", "package units\n// see gate" + ".go:12\n", "units/x.go"},
	{"no line numbers", "units/x.go", "package units\nconst s = `line 12`", ""},
	{"no line numbers", "docs/x.md", "trueup.yaml:7: unknown key; one line, 12 words", ""},

	{"finished", "docs/x.md", "TO" + "DO: the rest", "docs/x.md"},
	{"finished", "units/x.go", "package units\n// Off, for" + " now.\n", "units/x.go"},
	{"finished", "docs/x.md", "for nowhere, mktemp /tmp/XX" + "XXXX", ""},

	{"tests named", "docs/cases.md", "held by `TestNothing`", "docs/cases.md TestNothing"},
	{"tests named", "README.md", "held by `TestNothing`", ""},

	{"cases explained", "units/x_test.go", "package units\n// It stays (PATH-99).\n", "units/x_test.go PATH-99"},
	{"cases explained", "units/x.go", "package units\n// It stays (F99).\n", "units/x.go F99"},
	{"cases explained", "units/x.go", "package units\n// It stays.\n", ""},

	{"links lead somewhere", "docs/x.md", "[more](nothing.md)", "docs/x.md nothing.md"},
	{"links lead somewhere", "README.md", "[more](docs/)", "README.md docs/"},
	{"links lead somewhere", "docs/x.md", "# One\n[one](#two)", "docs/x.md #two"},
	{"links lead somewhere", "docs/x.md", "# One `thing`, again\n[it](#one-thing-again), [same](../docs/x.md), [far](https://x.org/y)", ""},
	{"links lead somewhere", "docs/x.md", "`f[K](x)`\n```\nf[K](x)\n```\n", ""},

	{"top level", "util/x.go", "package util", "util"},
	{"top level", ".github/x.yml", "on: push", ""},
}

func TestLayoutRulesBite(t *testing.T) {
	bitten := map[string]bool{}
	for _, p := range planted {
		tree := &tree{fset: token.NewFileSet()}
		if err := tree.add(p.path, p.text); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(p.path, "/")
		tree.top = []string{first}
		for _, rule := range rules {
			if rule.name != p.rule {
				continue
			}
			found := rule.find(tree)
			bitten[rule.name] = bitten[rule.name] || len(found) > 0
			switch {
			case p.where == "" && len(found) > 0:
				t.Errorf("%s: %q: want nothing, got %v", p.rule, p.text, found)
			case p.where != "" && (len(found) != 1 || found[0].where != p.where):
				t.Errorf("%s: %q: want one finding at %q, got %v", p.rule, p.text, p.where, found)
			}
		}
	}
	for _, rule := range rules {
		if !bitten[rule.name] {
			t.Errorf("rule %q: no planted source breaks it", rule.name)
		}
	}
	if got := tooMuch([]string{"trueup/units/heal", fsnotify + "/internal", "trueup/units", "gopkg.in/yaml.v3"}); len(got) != 2 {
		t.Errorf("the gate's closure: want trueup/units and yaml refused, got %v", got)
	}
}
