package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/plan"
)

// An example is a target of docs/examples, with its own settings.
type example struct {
	config.Target
	Settings
}

// exampleOf reads the one target of an example, as it stands and as strictly as trueup does.
func exampleOf(t *testing.T, name string) example {
	t.Helper()
	defaults := config.Defaults("/var/lib/trueup", "trueup")
	defaults.Trigger.Floor, defaults.Trigger.Sweep, defaults.Trigger.RetryMax = 30*time.Second, 5*time.Minute, 5*time.Minute
	c, err := config.Load(filepath.Join(examples, name, "trueup.yaml"), config.Options{
		Kinds: config.Kinds{"command": func() any { return &Settings{} }}, Defaults: defaults})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Targets) != 1 {
		t.Fatalf("%s has %d targets", name, len(c.Targets))
	}
	return example{c.Targets[0], *c.Targets[0].Settings.(*Settings)}
}

const examples = "../../docs/examples"

// A scratch root has the folders of a small host. What runs in it sees this host's programs, and changes nothing of it.
type scratch string

func newScratch(t *testing.T, files map[string]string) scratch {
	t.Helper()
	root := scratch(t.TempDir())
	for _, dir := range []string{"dev", "proc", "usr", "home", "tmp", "etc/trueup", "etc/skel", "etc/ssh", "var/lib"} {
		if err := os.MkdirAll(root.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		root.write(t, name, text)
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, root.path(dir)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("cp", "-a", "/etc/alternatives", "/etc/ld.so.cache", "/etc/login.defs", root.path("etc")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return root
}

func (s scratch) path(name string) string { return filepath.Join(string(s), name) }

func (s scratch) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	executable(t, s.path(name), text)
}

// install copies a file of the examples to where its configuration has it.
func (s scratch) install(t *testing.T, from, to string) {
	t.Helper()
	s.write(t, to, readFile(t, filepath.Join(examples, from)))
}

// kind is the example's, whose commands run in the scratch root.
func (s scratch) kind(t *testing.T, e example) *Kind {
	t.Helper()
	wrapper, err := filepath.Abs("testdata/inroot")
	if err != nil {
		t.Fatal(err)
	}
	settings := e.Settings
	for _, c := range []*Command{&settings.Check, &settings.Plan, &settings.Apply} {
		if !c.IsZero() {
			*c = Command{Args: append([]string{wrapper, string(s)}, c.argv()...)}
		}
	}
	return New(settings)
}

// converge does what a tick does without its records: every change, also after one that failed.
func converge(t *testing.T, k *Kind, in plan.Input) (reconcile.Plan, error) {
	t.Helper()
	seen, err := k.Observe(t.Context(), in)
	if err != nil {
		t.Fatalf("observing: %v", err)
	}
	var failed []error
	for _, c := range reconcile.Plan(seen.Changes).Sorted() {
		if err := k.Apply(t.Context(), in, seen, c); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.ID, err))
		}
	}
	return seen.Changes, errors.Join(failed...)
}

// settled fails unless the outside is as it should be.
func settled(t *testing.T, k *Kind, in plan.Input) {
	t.Helper()
	if seen, err := k.Observe(t.Context(), in); err != nil || len(seen.Changes) > 0 {
		t.Fatalf("not settled: %v, %v", seen.Changes, err)
	}
}

// lines are changes as people read them, sorted.
func lines(p reconcile.Plan) (lines []string) {
	for _, c := range p {
		lines = append(lines, string(c.Op)+" "+c.Text)
	}
	slices.Sort(lines)
	return lines
}

func want(t *testing.T, p reconcile.Plan, wanted ...string) {
	t.Helper()
	slices.Sort(wanted)
	if got := lines(p); !slices.Equal(got, wanted) {
		t.Fatalf("planned\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(wanted, "\n  "))
	}
}
