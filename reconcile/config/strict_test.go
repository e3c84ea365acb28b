package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile/config"
)

func TestWhatIsNoDocument(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "trueup.yaml: is empty",
		"# nothing\n":                   "trueup.yaml: is empty",
		"---\n...\n":                    "trueup.yaml: is empty",
		"null\n":                        "trueup.yaml: is empty",
		"- a\n":                         "trueup.yaml:1: want a mapping, as in {key: value}",
		"version: 1\n---\nversion: 1\n": "trueup.yaml:2: a second document begins here → write one file for each",
		"version: 1\n# \xff\n":          "trueup.yaml:2: is not UTF-8 text → save it as UTF-8",
		"version: 1\nx: \"\x00\"\n":     "trueup.yaml:2: is not UTF-8 text → save it as UTF-8",
		"version: 1\nx: [a\n":           "trueup.yaml:2: is not YAML: did not find expected ',' or ']'",
		"version: 1\nlease:\n  ttl: 1m\n sweep: 2\n": "trueup.yaml:4: is not YAML: did not find expected key",
		"version: 1\noutbox: a: b\n":                 "trueup.yaml:2: is not YAML: mapping values are not allowed in this context",
		"lease: {ttl: 1m}\n":                         "trueup.yaml:1: version is missing → write version: 1",
		"version: 2\n":                               "trueup.yaml:1: version: 2 is more than 1",
		"version: 1\n? [a]\n: b\n":                   "trueup.yaml:2: a key has to be text",
		"version: 1\nlease:\n":                       "trueup.yaml:2: lease: has no value → give one, or remove the key",
		"version: 1\ntargets:\n":                     "trueup.yaml:2: targets: want a list → begin each target with a dash: - kind: command",
		"version: 1\ninclude: x.yaml\n":              "trueup.yaml:2: include: want a list → write [x.yaml]",
	} {
		if got := told(t, map[string]string{"trueup.yaml": text}, options()); len(got) == 0 || got[0] != want {
			t.Errorf("%q: want %s, got %q", text, want, got)
		}
	}
}

func TestTabs(t *testing.T) {
	wants(t, "version: 1\nlease:\n\tttl: 1m\n\t# x\ntrigger:\n \tfloor: 1s\n",
		"trueup.yaml:3: a tab indents the line → indent with spaces",
		"trueup.yaml:4: a tab indents the line → indent with spaces",
		"trueup.yaml:6: a tab indents the line → indent with spaces")
	wants(t, target("  note: |\n    all:\n    \tmake it\n"))
}

// Text is never turned into something else, also where nobody sees it.
func TestHiddenLineEnds(t *testing.T) {
	wants(t, "version: 1\noutbox: \"/a\u0085b\"\n",
		"trueup.yaml:2: a line end that most editors do not show; YAML makes a space of it → in double quotes it is written \\N, \\L or \\P")
}

func TestAnchorsTagsMergeKeys(t *testing.T) {
	wants(t, "version: 1\nlease: &a {ttl: 1m}\nbreaker: *a\n",
		"trueup.yaml:2: the anchor &a; anchors and aliases are not read → write it out where it is used",
		"trueup.yaml:3: the alias *a; anchors and aliases are not read → write it out")
	wants(t, "version: 1\nlease:\n  <<: {ttl: 1m}\n", "trueup.yaml:3: the merge key <<; merge keys are not read → write the keys out")
	wants(t, "version: !!int \"1\"\noutbox: !secret /x\n",
		"trueup.yaml:1: the tag !!int; tags are not read → leave the tag out; text goes in quotes",
		"trueup.yaml:2: the tag !secret; tags are not read → leave the tag out; text goes in quotes")
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open.yaml")
	if err := errors.Join(os.WriteFile(open, []byte("version: 1\n"), 0o600), os.Chmod(open, 0o666)); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{
		filepath.Join(dir, "gone"): "cannot be read: no such file or directory",
		dir:                        "is no regular file",
		"/dev/zero":                "is no regular file",
		open:                       "anyone may write it, and its commands run with this service's rights",
	}
	if os.Geteuid() == 0 {
		others := filepath.Join(dir, "others.yaml")
		if err := errors.Join(os.WriteFile(others, []byte("version: 1\n"), 0o600), os.Chown(others, 1234, 0)); err != nil {
			t.Fatal(err)
		}
		wanted[others] = "belongs to another user, and root would run its commands"
	}
	for path, want := range wanted {
		_, err := config.Load(path, options())
		if err == nil || err.Error() != path+": "+want {
			t.Errorf("want %s: %s, got %v", path, want, err)
		}
	}
}

// A small file must not become a large one, nor a large or deep one be read at length (CFG-11).
func TestBombs(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yaml")
	if err := errors.Join(os.WriteFile(huge, []byte("version: 1\n"), 0o600), os.Truncate(huge, 100<<20)); err != nil {
		t.Fatal(err)
	}
	const deep = 10000
	for name, c := range map[string]struct{ path, want string }{
		"laughs":        {files(t, map[string]string{"trueup.yaml": laughs}), "aliases are not read"},
		"huge":          {huge, "more than 4 MiB"},
		"deep lists":    {files(t, map[string]string{"trueup.yaml": "x: " + strings.Repeat("[", deep) + strings.Repeat("]", deep)}), "deep"},
		"deep mappings": {files(t, map[string]string{"trueup.yaml": strings.Repeat("{a: ", deep-1) + strings.Repeat("}", deep-1)}), "deep"},
		"deep dashes":   {files(t, map[string]string{"trueup.yaml": strings.Repeat("- ", deep) + "x"}), "deep"},
		"unclosed":      {files(t, map[string]string{"trueup.yaml": strings.Repeat("[", 1<<20)}), "max depth"},
	} {
		quickest, most := time.Hour, uint64(0)
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := worked(t)
			_, err := config.Load(c.path, options())
			quickest = min(quickest, worked(t)-begun)
			runtime.ReadMemStats(&after)
			most = max(most, after.TotalAlloc-before.TotalAlloc)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: want %q, got %v", name, c.want, err)
			}
		}
		if quickest > slower*100*time.Millisecond || most > 50<<20 {
			t.Errorf("%s: took %s and %d MiB, want less than 100ms and 50 MiB", name, quickest, most>>20)
		}
	}
}

// worked is the processor time that the process has had: the machine may be busy with others.
func worked(t *testing.T) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func TestFaultsAreBounded(t *testing.T) {
	got := told(t, map[string]string{"trueup.yaml": "version: 1\n" + many(5000)}, options())
	if len(got) != 101 || got[100] != "trueup.yaml: and 4900 faults more" {
		t.Errorf("want 100 faults and a count, got %d, the last %s", len(got), got[len(got)-1])
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "unknown%d: 1\n", i)
	}
	return b.String()
}

func TestIncludes(t *testing.T) {
	c, err := config.Load(files(t, map[string]string{
		"trueup.yaml":      "version: 1\ninclude: ['targets.d/*.yaml', 'targets.d/a*', '*.yaml']\ntargets:\n- {kind: other, name: main}\n",
		"targets.d/b.yaml": "targets:\n- {kind: other, name: b}\n",
		"targets.d/a.yaml": "targets:\n- {kind: other, name: a}\n- {kind: other, name: z}\n",
		"targets.d/c.bak":  "nonsense",
	}), options())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range c.Targets {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "main a z b" {
		t.Errorf("want the file's own targets, then those of each included file once, by name; got %s", got)
	}
	got := told(t, map[string]string{
		"trueup.yaml": "version: 1\ninclude: [t/*, gone.yaml, '[', none/*.yaml, t/*.yml, '*/*.yml']\n",
		"t/1.yaml":    "targets: []\nlease: {ttl: 1s}\ntragets: []\n",
		"t/2.yaml":    "",
		"t/3.yaml":    "- kind: other\n",
		"t/4.yaml":    "targets:\n- kind: other\n  nmae: x\n  name: w\n",
	}, options())
	want := []string{
		`trueup.yaml:2: include: there is no file gone.yaml`,
		`trueup.yaml:2: include: "[" is no glob`,
		`trueup.yaml:2: include: there is no folder none → mount what belongs there; who wants no target has a file there that says targets: []`,
		`trueup.yaml:2: include: no file is found by t/*.yml → mount what belongs there; who wants no target has a file there that says targets: []`,
		`trueup.yaml:2: include: no file is found by */*.yml → mount what belongs there; who wants no target has a file there that says targets: []`,
		`t/1.yaml:2: unknown key "lease"; an included file holds targets only → write it in the file that includes this one`,
		`t/1.yaml:3: unknown key "tragets"; an included file holds targets only → did you mean "targets"?`,
		`t/2.yaml: is empty`,
		`t/3.yaml:1: want a mapping with targets → begin it with targets:`,
		`t/4.yaml:3: unknown key "nmae" in target other:w → did you mean "name"?`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("want\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
}

func TestFaultsCarryNoControls(t *testing.T) {
	for _, line := range told(t, map[string]string{"trueup.yaml": "version: 1\n\"a\\e[31m\\nb\": 1\n"}, options()) {
		if strings.ContainsAny(line, "\x1b\n") {
			t.Errorf("a fault with control characters: %q", line)
		}
	}
}
