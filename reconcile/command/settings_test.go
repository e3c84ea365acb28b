package command

import (
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestCommandIsReadAsWritten(t *testing.T) {
	for text, want := range map[string][]string{
		"[install, -m, 0640, on, no, 1e3, '*', '$HOME; rm x']": {"install", "-m", "0640", "on", "no", "1e3", "*", "$HOME; rm x"},
		"\n- a\n- ''\n":         {"a", ""},
		"{shell: 'a | b'}":      {"/bin/sh", "-c", "a | b"},
		"{shell: \"a\\nb\"}":    {"/bin/sh", "-c", "a\nb"},
		"[&x a, *x]":            nil,
		"[/usr/bin/true, null]": nil,
		"[]":                    nil,
		"['']":                  nil,
		"make all":              nil,
		"{shell: ''}":           nil,
		"{shell: [a]}":          nil,
		"{shel: a}":             nil,
		"{shell: a, dir: b}":    nil,
		"[[a]]":                 nil,
		"[{shell: a}]":          nil,
		`["a\0b"]`:              nil,
		"7":                     nil,
	} {
		s, err := decode("check: " + text)
		if got := s.Check.argv(); want != nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%s: got %q, %v; want %q", text, got, err, want)
		}
		if want == nil && err == nil {
			t.Errorf("%s: got %q; want an error", text, s.Check.argv())
		}
		if want != nil {
			written, err := yaml.Marshal(s)
			again, err2 := decode(string(written))
			if err != nil || err2 != nil || !slices.Equal(again.Check.argv(), want) {
				t.Errorf("%s: written as %s and read as %q (%v, %v)", text, written, again.Check.argv(), err, err2)
			}
		}
	}
}

// A fault says where it is, in the form of yaml.v3's own.
func TestCommandFaultNamesItsLine(t *testing.T) {
	_, err := decode("apply: [a]\nplan:\n  make plan\ncheck:\n  - a\n  - null\n")
	if err == nil || !strings.Contains(err.Error(), "line 3: a command is a list") || !strings.Contains(err.Error(), `{shell: "make plan"}`) ||
		!strings.Contains(err.Error(), "line 6: every word") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	for text, want := range map[string]string{
		"{check: [a], apply: [b]}":                                 "",
		"{plan: [a], apply: {shell: b}}":                           "",
		"{check: [./a], apply: [b/c], dir: /srv}":                  "",
		"{apply: [a]}":                                             "check or plan is missing",
		"{check: [a]}":                                             "apply is missing",
		"{check: [a], plan: [a], apply: [a]}":                      "plan stands beside check",
		"{check: [a], apply: [a], dir: srv}":                       `dir "srv" is not an absolute path`,
		"{check: [./a], apply: [a]}":                               `check runs "./a", a path relative to no dir`,
		"{check: [a], apply: [a], env: {TRUEUP_FENCE: '9'}}":       `env sets "TRUEUP_FENCE"`,
		"{check: [a], apply: [a], env: {'A=B': c}}":                `env sets "A=B"`,
		"{check: [a], apply: [a], redact: [hunter2-is-my-secret]}": "redact lists what is no name",
	} {
		s, err := decode(text)
		if err != nil {
			t.Fatal(err)
		}
		switch err := s.Validate(); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
