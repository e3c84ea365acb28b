package nspawn

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A Version is a major version of systemd, as the Debian release that has it
// provides.
type Version int

// The versions that trueup is tested on.
const (
	V247   Version = 247 // Debian 11, bullseye
	V252   Version = 252 // Debian 12, bookworm
	V257   Version = 257 // Debian 13, trixie
	Newest Version = 999 // Debian unstable; see Machine.Version for the number
)

var suites = map[Version]string{
	V247:   "bullseye",
	V252:   "bookworm",
	V257:   "trixie",
	Newest: "unstable",
}

// String returns the number, or "newest".
func (v Version) String() string {
	if v == Newest {
		return "newest"
	}
	return strconv.Itoa(int(v))
}

// Versions returns the versions to test, oldest first: all of them, or those
// named by $TRUEUP_SYSTEMD, such as "252,newest".
func Versions() ([]Version, error) {
	all := []Version{V247, V252, V257, Newest}
	env := os.Getenv("TRUEUP_SYSTEMD")
	if env == "" {
		return all, nil
	}
	var chosen []Version
	for name := range strings.SplitSeq(env, ",") {
		i := slices.IndexFunc(all, func(v Version) bool { return v.String() == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("reading TRUEUP_SYSTEMD: no such version %q of %v", name, all)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Each runs f once for every version, as parallel subtests, each with a fresh
// machine. A version that Debian's archive has dropped is left out aloud;
// anything else that is missing fails the test.
func Each(t *testing.T, f func(*testing.T, *Machine), opts ...Option) {
	t.Helper()
	versions, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	gone, err := EnsureRoots(versions...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if slices.Contains(gone, v) {
			t.Logf("systemd %v: LEFT OUT: Debian's archive no longer has it", v)
			continue
		}
		t.Run("systemd-"+v.String(), func(t *testing.T) {
			t.Parallel()
			f(t, Boot(t, v, opts...))
		})
	}
}
