package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

// The playbook is Ansible's own, run in check mode and for real on a folder that stands for the host's root.
func TestAnsible(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"etc/security/limits.d", "home"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	e := exampleOf(t, "ansible")
	dir, err := filepath.Abs(filepath.Join(examples, "ansible"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Command{&e.Check, &e.Apply} {
		c.Args[0] = filepath.Join(dir, filepath.Base(c.Args[0]))
	}
	e.Env = map[string]string{"HOME": filepath.Join(root, "home")}
	k := New(e.Settings)
	in, log := input()
	vars := readFile(t, filepath.Join(examples, "ansible/vars.yaml"))
	in.Policy = policy.Document{Data: []byte(vars + "root: " + root + "\n"), Digest: "digest"}

	seen, err := k.Observe(t.Context(), in)
	if err != nil || len(seen.Changes) != 1 || seen.Changes[0].Op != reconcile.Update || !strings.Contains(log.text["check"], "+* soft nofile 65536") {
		t.Fatalf("%+v, %v\n%s", seen, err, log.text["check"])
	}
	if _, err := os.Stat(filepath.Join(root, "etc/motd")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the check wrote: %v", err)
	}
	if err := k.Apply(t.Context(), in, seen, seen.Changes[0]); err != nil {
		t.Fatal(err)
	}
	settled(t, k, in)
	if got := readFile(t, filepath.Join(root, "etc/motd")); !strings.HasPrefix(got, "Kept true") {
		t.Errorf("the message is %q", got)
	}

	// A host that failed, here since a variable is missing, exits with 2 in ansible-playbook, which is no drift.
	in.Policy.Data = []byte("root: " + root + "\nopen_files: 1024\n")
	_, err = k.Observe(t.Context(), in)
	unknown(t, err, "check exited with 1")
	if err := k.Apply(t.Context(), in, seen, seen.Changes[0]); err == nil || !strings.Contains(err.Error(), "apply exited with 1") {
		t.Errorf("got %v", err)
	}
}
