package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// browserTests is where the tests of the page are that a browser runs, with what they need from npm.
const browserTests = "testdata/browser"

// TestPageInBrowser looks at the samples in Chromium: valid, accessible, by keyboard, on a phone, in the dark, without script.
// TRUEUP_SHOTS=DIR keeps pictures of them.
func TestPageInBrowser(t *testing.T) {
	t.Setenv("TZ", "UTC")
	chromium := programOf(t, "chromium")
	modules := nodeModules(t)
	pages, work := t.TempDir(), t.TempDir()
	for name, v := range samples(t) {
		text, err := v.page().HTML()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pages, name+".html"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.CopyFS(work, os.DirFS(browserTests)), os.Symlink(modules, filepath.Join(work, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	tests := exec.Command("node", "node_modules/@playwright/test/cli.js", "test")
	tests.Dir = work
	tests.Env = append(os.Environ(), "CHROMIUM="+chromium, "PAGES="+pages, "SHOTS="+os.Getenv("TRUEUP_SHOTS"), "CI=1")
	if out, err := tests.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// programOf finds a program that the tests need.
func programOf(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: the page is looked at in a browser, which wants chromium, nodejs and npm; .ci/deps unit installs them", err)
	}
	return path
}

// nodeModules are the packages of the lock file, installed once and kept.
func nodeModules(t *testing.T) string {
	t.Helper()
	npm, _ := programOf(t, "npm"), programOf(t, "node")
	lock, err := os.ReadFile(filepath.Join(browserTests, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	kept := filepath.Join(cache, "trueup", "browser-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(kept); err == nil {
		return filepath.Join(kept, "node_modules")
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(kept), "browser-new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(browserTests, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	install.Dir = fresh
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing what the browser tests need: %v\n%s", err, out)
	}
	if err := os.Rename(fresh, kept); err != nil && !errors.Is(err, fs.ErrExist) { // somebody else was quicker
		t.Fatal(err)
	}
	return filepath.Join(kept, "node_modules")
}
