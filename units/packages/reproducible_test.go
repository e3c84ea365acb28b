package packages_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// copied is the tree once more, in another place, with other times and modes.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "another", "place")
	script := `umask 077; mkdir -p "$1" && cd ../.. && git -c safe.directory='*' ls-files -z --cached --others --exclude-standard --deduplicate |
		while IFS= read -r -d '' f; do if [ -e "$f" ]; then printf '%s\0' "$f"; fi; done | tar --null -T - -c | tar -x -m --no-same-permissions -C "$1"`
	if out, err := exec.Command("bash", "-euo", "pipefail", "-c", script, "copy", dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the tree: %v\n%s", err, out)
	}
	return dir
}

// TestSameBytes builds the packages again: elsewhere, and under another umask, time zone, language and home. The long form
// does so for both processors: to compile the database for another one takes minutes.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	archs := "amd64"
	if os.Getenv("TRUEUP_PROVE") != "" {
		archs = "amd64 arm64"
		cmd := build("../..", built, older)
		cmd.Args[len(cmd.Args)-1] = "arm64"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building for arm64: %v\n%s", err, out)
		}
	}
	tree := copied(t)
	cmd := exec.Command("sh", "-c", `umask 077; exec make -s -C "$1" packages ARCHS="$2"`, "make", tree, archs)
	cmd.Env = append(build("", "", older).Env, "TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "HOSTNAME=elsewhere")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building once more: %v\n%s", err, out)
	}
	for _, arch := range strings.Fields(archs) {
		for _, format := range []string{"deb", "rpm"} {
			name := "trueup_" + older + "_" + arch + "." + format
			same(t, filepath.Join(built, name), filepath.Join(tree, "dist", name))
		}
	}
}

// same fails unless two files have the same bytes, and some.
func same(t *testing.T, one, other string) {
	t.Helper()
	first, err1 := os.ReadFile(one)
	second, err2 := os.ReadFile(other)
	if err := errors.Join(err1, err2); err != nil || len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("the two %s have %d and %d bytes, and differ (%v)", filepath.Base(one), len(first), len(second), err)
	}
}

// TestSourceArchive makes the archive of the sources, in the long form twice, and builds it without network, modules or git.
func TestSourceArchive(t *testing.T) {
	t.Parallel()
	name := "trueup-" + older
	archive := func(umask string) (into string) {
		into = t.TempDir()
		cmd := exec.Command("sh", "-c", `umask "$1"; exec ./archive "$2"`, "archive", umask, into)
		cmd.Env = build("", "", older).Env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("making the archive: %v\n%s", err, out)
		}
		return into
	}
	into := archive("077")
	if os.Getenv("TRUEUP_PROVE") != "" {
		same(t, filepath.Join(into, name+".tar.gz"), filepath.Join(archive("022"), name+".tar.gz"))
	}
	const script = `cd "$1" && tar -xf "$2.tar.gz" && cd "$2" && unset VERSION MAKEFLAGS &&
		GOPROXY=off GOFLAGS=-mod=vendor GOMODCACHE="$1/none" unshare -n make -s build && bin/trueup version && bin/trueup-gate --version`
	out, err := exec.Command("bash", "-euc", script, "build", into, name).CombinedOutput()
	if err != nil || strings.Count(string(out), "v"+older) != 2 {
		t.Errorf("building it without network: %v\n%s", err, out)
	}
}
