package nspawn

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// roots is the script that builds root file systems.
//
//go:embed roots
var roots string

// recipe is the digest of what stands between the script's two lines of
// dashes, which is what a root's stamp names.
var recipe = sync.OnceValue(func() string {
	_, after, _ := strings.Cut(roots, "\n#---")
	inside, end, _ := strings.Cut(after, "\n#---")
	last, _, _ := strings.Cut(end, "\n")
	text := "#---" + inside + "\n#---" + last + "\n"
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
})

// building serialises builds in this process; the script's locks do so
// between processes.
var building sync.Mutex

// Root returns the folder of the clean root file system for a version,
// building it when it is missing or its recipe has changed. It is never booted
// itself and must not be written to.
func Root(v Version) (string, error) {
	gone, err := EnsureRoots(v)
	if err != nil {
		return "", err
	}
	if len(gone) > 0 {
		return "", fmt.Errorf("finding a root for systemd %v: Debian's archive no longer has %s", v, suites[v])
	}
	return filepath.Join(home(), suites[v]), nil
}

// EnsureRoots builds what is missing of the roots for the given versions and
// returns those that cannot be had any more. Only [V247] may be among these; a
// root that is missing for any other reason is an error.
func EnsureRoots(versions ...Version) (gone []Version, err error) {
	building.Lock()
	defer building.Unlock()
	stale := slices.DeleteFunc(slices.Clone(versions), current)
	if _, err := exec.LookPath("systemd-nspawn"); err == nil && len(stale) == 0 {
		return nil, nil
	}
	if err := build(stale); err != nil {
		return nil, fmt.Errorf("building roots for systemd %v: %w", stale, err)
	}
	for _, v := range stale {
		switch {
		case current(v):
		case v == V247: // the script has said so aloud
			gone = append(gone, v)
		default:
			return nil, fmt.Errorf("building the root for systemd %v: it is still missing", v)
		}
	}
	return gone, nil
}

// current tells whether a version's root exists and is of this recipe.
func current(v Version) bool {
	stamp, err := os.ReadFile(filepath.Join(home(), suites[v], ".stamp"))
	return err == nil && strings.HasPrefix(string(stamp), recipe()+" ")
}

// build runs the script. It speaks on standard error: a first build takes
// minutes, and whoever waits should know why.
func build(versions []Version) error {
	script, err := os.CreateTemp("", "trueup-roots-*")
	if err != nil {
		return err
	}
	defer os.Remove(script.Name())
	if _, err := script.WriteString(roots); err != nil {
		return err
	}
	if err := script.Close(); err != nil {
		return err
	}
	cmd := exec.Command("bash", script.Name())
	for _, v := range versions {
		cmd.Args = append(cmd.Args, suites[v])
	}
	var said strings.Builder
	cmd.Stderr = &teeWriter{&said}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// home is where roots and machines live.
func home() string {
	if dir := os.Getenv("TRUEUP_ROOTS"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir() // $XDG_CACHE_HOME, or $HOME/.cache
	if err != nil {
		cache = filepath.Join(os.TempDir(), "cache")
	}
	return filepath.Join(cache, "trueup", "roots")
}

// teeWriter copies to standard error what it keeps.
type teeWriter struct{ kept *strings.Builder }

func (w *teeWriter) Write(p []byte) (int, error) {
	os.Stderr.Write(p)
	return w.kept.Write(p)
}
