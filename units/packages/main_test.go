package packages_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"trueup/units/nspawn"
)

// soon is long enough for anything that takes a moment, also on a busy host.
const soon = 60 * time.Second

// The two versions that TestMain builds, for this processor.
const (
	older = "1.0.0"
	newer = "1.1.0"
)

// epoch is the instant that all of them are dated with.
const epoch = "1764417600"

var built string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withPackages(m))
}

func withPackages(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trueup-packages-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = dir
	for _, version := range []string{older, newer} {
		if out, err := build("../..", dir, version).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the packages: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// build is the command that builds the packages of a tree, as make packages does.
func build(tree, into, version string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(tree, "units/packages/build"), into, "amd64")
	cmd.Env = append(os.Environ(), "VERSION=v"+version, "SOURCE_DATE_EPOCH="+epoch, "MAINTAINER=Nobody <nobody@example.org>")
	return cmd
}

// file is a package that TestMain has built.
func file(version, format string) string {
	return filepath.Join(built, "trueup_"+version+"_amd64."+format)
}

// boot boots a machine in which the packages lie, as /root/VERSION.deb.
func boot(t *testing.T, v nspawn.Version, options ...nspawn.Option) *nspawn.Machine {
	t.Helper()
	t.Parallel()
	m := nspawn.Boot(t, v, options...)
	for _, version := range []string{older, newer} {
		m.CopyIn(t, file(version, "deb"), "/root/"+version+".deb", 0o644)
	}
	return m
}

// service writes a oneshot service whose every run adds a line to /var/lib/NAME.ran.
func service(t *testing.T, g *nspawn.Manager, name, more string) {
	t.Helper()
	g.WriteUnit(t, name+".service", fmt.Sprintf("[Service]\nType=oneshot\nTimeoutStartSec=60\n%s\nExecStart=/bin/sh -c 'echo ran >>%s'\n", more, ran(g, name)))
}

func ran(g *nspawn.Manager, name string) string { return g.Home() + "/" + name + ".ran" }

// awaitRuns waits until a service has run so many times.
func awaitRuns(t *testing.T, g *nspawn.Manager, name string, want int) {
	t.Helper()
	nspawn.Eventually(t, soon, fmt.Sprintf("%s has run %d times", name, want), func() bool {
		text, err := os.ReadFile(g.Machine().Path(ran(g, name)))
		return err == nil && len(text)/len("ran\n") >= want
	})
}

// awaitState waits until a unit is in a state, as in active/waiting.
func awaitState(t *testing.T, g *nspawn.Manager, unit, want string) {
	t.Helper()
	nspawn.Eventually(t, soon, unit+" is "+want, func() bool {
		s := g.Show(t, unit, "ActiveState", "SubState")
		return s["ActiveState"]+"/"+s["SubState"] == want
	})
}

// gone fails where a file is still there.
func gone(t *testing.T, m *nspawn.Machine, files ...string) {
	t.Helper()
	for _, file := range files {
		if _, err := os.Lstat(m.Path(file)); err == nil {
			t.Errorf("%s is still there", file)
		}
	}
}
