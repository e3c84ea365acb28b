package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/config"
)

// conf is a configuration with targets of these names.
func conf(t *testing.T, ledger string, names ...string) *config.Config {
	t.Helper()
	text := "version: 1\nstate: sqlite://" + ledger + "\ntargets:\n"
	for _, name := range names {
		text += fmt.Sprintf("- {kind: command, name: %s, scopes: [host:%[1]s], check: ['true'], apply: ['true']}\n", name)
	}
	file := filepath.Join(t.TempDir(), "trueup.yaml")
	write(t, file, text)
	c, err := loadConfig(file, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Leases of one ledger keep nobody out who asks another.
func TestOtherLedgerIsUnsafe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	ours := conf(t, dir+"/ours.db", "a")
	for name, c := range map[string]struct {
		theirs *config.Config
		unsafe bool
	}{
		"the same":            {conf(t, dir+"/ours.db", "a"), false},
		"the same by a link":  {conf(t, dir+"/link/ours.db", "a"), false},
		"another":             {conf(t, dir+"/theirs.db", "b", "a"), true},
		"another, of no such": {conf(t, dir+"/theirs.db", "b"), false},
	} {
		err := keptElsewhere(ours, c.theirs, "/etc/trueup/trueup.yaml", []reconcile.Scope{"host:a"})
		if (err != nil) != c.unsafe {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			if code := newUI(io.Discard, io.Discard).exit(t.Context(), err); code != exitUnsafe {
				t.Errorf("%s: exit %d, want %d", name, code, exitUnsafe)
			}
		}
	}
}

// An ordinary user who may read the configuration and not write the ledger is told that it is a matter of permission. It
// needs root, to become somebody else.
func TestPermissionIsTold(t *testing.T) {
	dir, err := os.MkdirTemp("", "trueup")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, folder := range []string{"", "spool", "state", "outbox"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, folder), 0o755), os.Chmod(filepath.Join(dir, folder), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "trueup.yaml")
	write(t, file, fmt.Sprintf(`version: 1
trigger: {spool: %[1]s/spool, state: %[1]s/state}
outbox: %[1]s/outbox
targets: [{kind: command, name: a, check: ['true'], apply: ['true']}]
`, dir))
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := trueup(t.Context(), "sweep", "-c", file); code != 0 {
		t.Fatalf("sweep: exit %d: %s", code, said)
	}
	program := filepath.Join(dir, "trueup")
	if own, err := os.ReadFile("/proc/self/exe"); err != nil || os.WriteFile(program, own, 0o755) != nil {
		t.Fatal("copying the program", err)
	}
	for _, args := range [][]string{{"tick", "-c", file, "command:a"}, {"approve", "-c", file, "r-00000"}} {
		c := exec.Command(program)
		c.Args = append([]string{"trueup"}, args...)
		c.Dir = dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		said, err := c.CombinedOutput()
		exit, _ := errors.AsType[*exec.ExitError](err)
		if exit == nil || exit.ExitCode() != exitPermission || !strings.Contains(string(said), "hint: run it as root") {
			t.Errorf("%v: %v, want exit status %d: %s", args, err, exitPermission, said)
		}
	}
}
