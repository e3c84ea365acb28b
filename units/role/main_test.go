package role

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What TestMain makes for all tests: two builds of the programs, v1 and v2, and a folder with the collection in it.
var built, collections string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withCollection(m))
}

func withCollection(m *testing.M) int {
	dir, err := os.MkdirTemp("", "trueup-role-")
	if err == nil {
		defer os.RemoveAll(dir)
		built, collections = filepath.Join(dir, "built"), filepath.Join(dir, "collections")
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare builds the programs, and the collection as it would be published.
func prepare(dir string) error {
	for _, version := range []string{"v1", "v2"} {
		err := run([]string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version,
			"-o", filepath.Join(built, version)+"/", "../../cmd/trueup", "../../cmd/trueup-gate")
		if err != nil {
			return err
		}
	}
	if err := run(environment(dir), "ansible-galaxy", "collection", "build", "../../ansible", "--output-path", dir); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(dir, "trueup-trueup-*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("building the collection made %q: %w", archives, err)
	}
	return run(environment(dir), "ansible-galaxy", "collection", "install", "--offline", archives[0], "-p", collections)
}

func run(env []string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %q: %w\n%s", argv, err, out)
	}
	return nil
}
