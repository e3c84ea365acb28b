package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile/config"
)

// TestIncludedFolderGoesAway: what was included and cannot be looked into is not taken for gone. Its targets would be
// forgotten, and the tickets of their askers be covered.
func TestIncludedFolderGoesAway(t *testing.T) {
	for name, c := range map[string]struct {
		blow func(dir string) error
		says string
	}{
		"removed": {func(dir string) error { return os.Rename(dir, dir+".away") }, "there is no folder"},
		"not mounted": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".away"), os.Mkdir(dir, 0o755))
		}, "no file is found by"},
		"a link that leads nowhere": {func(dir string) error {
			return os.Symlink("/nowhere", filepath.Join(dir, "b.yaml"))
		}, "b.yaml: cannot be read: no such file"},
		"a file that was emptied": {func(dir string) error {
			return os.Truncate(filepath.Join(dir, "a.yaml"), 0)
		}, "a.yaml: is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			file := files(t, map[string]string{
				"trueup.yaml":      "version: 1\ninclude: ['targets.d/*.yaml']\n",
				"targets.d/a.yaml": "targets:\n- {kind: other, name: a}\n",
			})
			if _, err := config.Load(file, options()); err != nil {
				t.Fatal(err)
			}
			if err := c.blow(filepath.Join(filepath.Dir(file), "targets.d")); err != nil {
				t.Fatal(err)
			}
			if _, err := config.Load(file, options()); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want a fault that says %q", err, c.says)
			}
		})
	}
}

// TestGlobPassesOverNothing: one of several folders that cannot be looked into is told, though the others are.
func TestGlobPassesOverNothing(t *testing.T) {
	file := files(t, map[string]string{
		"trueup.yaml":    "version: 1\ninclude: ['sites/*/*.yaml']\n",
		"sites/README":   "a folder for each",
		"sites/a/a.yaml": "targets:\n- {kind: other, name: a}\n",
	})
	if _, err := config.Load(file, options()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", filepath.Join(filepath.Dir(file), "sites/b")); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(file, options()); err == nil || !strings.Contains(err.Error(), "sites/b: no such file") {
		t.Errorf("%v, want a fault about the folder that is not there", err)
	}
}

// TestNoTargetsOnPurpose: who wants no target says so.
func TestNoTargetsOnPurpose(t *testing.T) {
	c, err := config.Load(files(t, map[string]string{
		"trueup.yaml":         "version: 1\ninclude: ['targets.d/*.yaml']\n",
		"targets.d/none.yaml": "targets: []\n",
	}), options())
	if err != nil || len(c.Targets) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
