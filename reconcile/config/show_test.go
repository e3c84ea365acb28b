package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trueup/reconcile/config"
)

const full = `version: 1
trigger:
  floor: 1m
breaker: {removals: 0, fraction: 0}
include: [more.yaml]
targets:
- name: web
  kind: command
  check: [/bin/sleep, 10, "no", "0123", "a: b", " x", "# y"]
  env:
    B: "1"
    A: two
    "NO": x
  scopes:
  - host
  policy: {command: [/bin/cat, /x]}
  note: |
    two
    lines
  token:
    file: /etc/secret
  nested: {inner: [{level: 2}]}
`

// Each value says where it comes from (CFG-08).
func TestShowOrigin(t *testing.T) {
	path := files(t, map[string]string{"trueup.yaml": full, "more.yaml": "targets:\n- kind: other\n  name: x\n  timeout: 5s\n"})
	c, err := config.Load(path, options())
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Show(true)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(string(text), filepath.Dir(path)+"/", "")
	want, err := os.ReadFile("testdata/origin.yaml")
	if err != nil || got != string(want) {
		t.Errorf("testdata/origin.yaml, %v: got\n%s", err, got)
	}
}

// What is shown can be read again, and holds the same.
func TestShowReadsBack(t *testing.T) {
	load := func(text string) (*config.Config, string) {
		c, err := config.Load(files(t, map[string]string{"trueup.yaml": text, "more.yaml": "targets: [{kind: other, name: x}]"}), options())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		shown, err := c.Show(false)
		if err != nil {
			t.Fatal(err)
		}
		return c, string(shown)
	}
	first, shown := load(full)
	second, again := load(shown)
	if shown != again {
		t.Errorf("shown\n%s\nand read again\n%s", shown, again)
	}
	for i, target := range first.Targets {
		if target.Fingerprint != second.Targets[i].Fingerprint {
			t.Errorf("%s: another fingerprint after reading back", target.Key())
		}
	}
}

// TestShowReadsBackAnyText puts any text into the places where text may stand.
func TestShowReadsBackAnyText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trueup.yaml")
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[-+.0-9a-z:~#'"& ]{0,8}`), rapid.SampledFrom([]string{"no", "~", "12:30", "a\n", "\nb", "1e3", "- x", "\u0085", "a\u2028b"}))
		note, arg, variable := word.Draw(t, "note"), word.Draw(t, "arg"), word.Draw(t, "variable")
		text, _ := json.Marshal(map[string]any{"version": 1, "targets": []any{map[string]any{
			"kind": "command", "name": "web", "check": []string{arg}, "note": note, "env": map[string]string{"A" + variable: arg}}}})
		load := func(text []byte) (*config.Config, error) {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return config.Load(path, options())
		}
		c, err := load(text)
		if err != nil {
			return // a zero byte, a password: told elsewhere
		}
		shown, err := c.Show(true)
		if err != nil {
			t.Fatal(err)
		}
		back, err := load(shown)
		if err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
		own, was := back.Targets[0].Settings.(*settings), c.Targets[0].Settings.(*settings)
		if own.Note != was.Note || own.Check[0] != arg || own.Env["A"+variable] != arg {
			t.Fatalf("read back %+v\n%s", own, shown)
		}
	})
}

// The order of keys, of comments and of Go's maps means nothing; another value, another source do (CFG-08).
func TestFingerprint(t *testing.T) {
	prints := func(text string) string {
		c, err := config.Load(files(t, map[string]string{"trueup.yaml": text}), options())
		if err != nil {
			t.Fatal(err)
		}
		return c.Targets[0].Fingerprint
	}
	web := target("  env: {A: x, B: z, C: z, D: z}\n  every: 60s\n  policy: {file: /x}\n")
	want := prints(web)
	for range 100 {
		if got := prints(web); got != want {
			t.Fatalf("the same text, another fingerprint: %s, %s", want, got)
		}
	}
	for change, same := range map[string]bool{
		"version: 1\ntargets:\n- policy:\n    file: /x # here\n  every: 1m\n  env: {D: z, C: z, B: z, A: 'x'}\n  check:\n  - /bin/true\n  max: 7\n  name: web\n  kind: command\n": true,
		web + "  timeout: 3m\n":                                  true,
		strings.Replace(web, "web", "wob", 1):                    true,
		strings.Replace(web, "A: x", "A: xx", 1):                 false,
		strings.Replace(web, "/x}", "/y}", 1):                    false,
		strings.Replace(web, "{file: /x}", "{command: [/x]}", 1): false,
		strings.Replace(web, "60s", "61s", 1):                    false,
		strings.Replace(web, "true]", "true, x]", 1):             false,
		web + "  max: 8\n":                                       false,
		web + "  some: 1\n":                                      false,
		web + "  token: {file: /x}\n":                            false,
		web + "  nested: {level: 1}\n":                           false,
	} {
		if got := prints(change); (got == want) != same {
			t.Errorf("want the same: %t\n%s", same, change)
		}
	}
}

// FuzzLoad wants faults or a configuration that can be shown and read again; never a panic.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{full, target(""), "", "a: &a [*a]", "? {a: b}\n: c", "version: 1\ntargets: [[], {}, {kind: command, name: {}}]", "%YAML 1.1\n---\n", "{version: 1, include: ['*']}", "- - - -", "version: 1\nlease: {ttl: !!str 1}"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "trueup.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path, options())
		if err != nil {
			_ = err.Error()
			return
		}
		shown, err := c.Show(true)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, shown, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(path, options()); err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
	})
}
