package role

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/units/nspawn"
)

// patience bounds one play on a busy host.
const patience = 5 * time.Minute

// secret is what no play may show.
const secret = "s3cr3t"

// A controller plays the collection against one machine.
type controller struct {
	m     *nspawn.Machine
	dir   string // the inventory, the programs
	hosts string // more variables of the inventory, as YAML
}

// A recap is what Ansible counted for the machine, and all that it said.
type recap struct {
	ok, changed, failed int
	said                string
}

// arguments are those of the role, by name.
type arguments map[string]any

func newController(t *testing.T, m *nspawn.Machine, hosts string) *controller {
	t.Helper()
	return &controller{m: m, dir: t.TempDir(), hosts: hosts}
}

// with is the arguments with more, which win.
func (a arguments) with(more arguments) arguments {
	both := arguments{}
	for _, some := range []arguments{a, more} {
		for name, value := range some {
			both[name] = value
		}
	}
	return both
}

// programs are the arguments that install one of the two builds.
func (c *controller) programs(t *testing.T, version string) arguments {
	t.Helper()
	dir := filepath.Join(built, version)
	return arguments{"trueup_binaries_dir": dir, "trueup_sha256": checksum(t, filepath.Join(dir, "trueup")),
		"trueup_gate_sha256": checksum(t, filepath.Join(dir, "trueup-gate"))}
}

func checksum(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// play runs a playbook of the collection, or one of ours (NAME.yml), which has to go well.
func (c *controller) play(t *testing.T, playbook string, a arguments, flags ...string) recap {
	t.Helper()
	r, err := c.try(t, playbook, a, flags...)
	if err != nil || r.failed > 0 {
		t.Fatalf("%s: %v\n%s", playbook, err, r.said)
	}
	return r
}

// try runs a playbook and tells what became of it.
func (c *controller) try(t *testing.T, playbook string, a arguments, flags ...string) (recap, error) {
	t.Helper()
	vars, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "vars.json", string(vars))
	c.write(t, "hosts.yml", fmt.Sprintf("all: {hosts: {machine: {ansible_host: '%d', ansible_python_interpreter: /usr/bin/python3,"+
		" ansible_ssh_executable: %s, ansible_ssh_transfer_method: piped, ansible_pipelining: true%s}}}\n", c.m.Leader(), ssh(t), c.hosts))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if filepath.Ext(playbook) == "" {
		playbook = "trueup.trueup." + playbook
	}
	cmd := exec.CommandContext(ctx, "ansible-playbook",
		append([]string{"-i", filepath.Join(c.dir, "hosts.yml"), "-e", "@" + filepath.Join(c.dir, "vars.json"), playbook}, flags...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), environment(c.dir)...)
	out, err := cmd.CombinedOutput()
	r := count(string(out))
	if strings.Contains(r.said, secret) {
		t.Errorf("%s shows a secret:\n%s", playbook, r.said)
	}
	t.Logf("%s %s: ok %d, changed %d, %v", playbook, strings.Join(flags, " "), r.ok, r.changed, time.Since(began).Round(100*time.Millisecond))
	return r, err
}

// environment keeps Ansible to the collection under test, and its own files to dir.
func environment(dir string) []string {
	return []string{"ANSIBLE_COLLECTIONS_PATH=" + collections, "ANSIBLE_COLLECTIONS_PATHS=" + collections, "ANSIBLE_LOCAL_TEMP=" + filepath.Join(dir, "tmp"),
		"ANSIBLE_HOME=" + filepath.Join(dir, "home"), "ANSIBLE_SSH_ARGS=-o ControlMaster=no", "ANSIBLE_NOCOLOR=1",
		"ANSIBLE_DEPRECATION_WARNINGS=0", "LC_ALL=C.UTF-8"}
}

func (c *controller) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ssh(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/ssh")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// count reads the recap.
func count(said string) recap {
	r := recap{said: said}
	for name, to := range map[string]*int{"ok": &r.ok, "changed": &r.changed, "failed": &r.failed} {
		if m := regexp.MustCompile(`(?m)^machine +:.*\b` + name + `=(\d+)`).FindStringSubmatch(said); m != nil {
			*to, _ = strconv.Atoi(m[1])
		}
	}
	return r
}
