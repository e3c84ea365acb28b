package role

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLint is what the linters say of the collection as it is published, and whether its README has the variables that
// the role takes, with the defaults that it has.
func TestLint(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../../ansible")
	if err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"ansible-lint", "--offline", "--nocolor", "-p", "-c", filepath.Join(source, ".ansible-lint")},
		{"yamllint", "--strict", "-c", filepath.Join(source, ".yamllint"), source},
		{filepath.Join(source, "readme"), "--check"},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = filepath.Join(collections, "ansible_collections/trueup/trueup")
		cmd.Env = append(os.Environ(), environment(t.TempDir())...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", argv, err, out)
		}
	}
}
