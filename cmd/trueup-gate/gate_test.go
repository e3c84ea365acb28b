package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// gate is the binary as it ships.
func gate(t *testing.T) string { return built(t, ".") }

// built compiles a program static, stripped and without the race detector.
func built(t testing.TB, source string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", source, err, out)
	}
	return binary
}

// folders makes the three folders and returns the flags that name them.
func folders(t *testing.T) (root string, flags []string) {
	root = t.TempDir()
	for _, name := range []string{"spool", "state", "outbox"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--"+name, filepath.Join(root, name))
	}
	return root, flags
}

// The durable writes happen in the protocol's order, each made durable before the next begins: the claim is
// written, fsynced, renamed and its folder fsynced before anything is unlinked, then the number is published in
// the same way; a settled claim is on disk before the number is shown and before the claim goes (A1). Killing a
// process shows none of this, since the kernel's cache survives it.
func TestDurableOrder(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("strace is needed to see the order of durable writes: %v; make deps installs it", err)
	}
	binary := gate(t)
	root, flags := folders(t)
	trace := func(verb string, args ...string) []string {
		log := filepath.Join(root, verb+".trace")
		cmd := exec.Command("strace", append([]string{"-f", "-y", "-o", log,
			"-e", "trace=write,fsync,renameat,renameat2,unlinkat", binary, verb}, append(flags, args...)...)...)
		cmd.Env = append(os.Environ(), "INVOCATION_ID=one", "NOTIFY_SOCKET=", "JOURNAL_STREAM=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, out)
		}
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return steps(string(content), root)
	}
	trace("claim", "--check")
	for _, name := range []string{"sentinel", "requests/a"} {
		if err := os.WriteFile(filepath.Join(root, "spool", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, "claim", trace("claim"), []string{
		"write state/.claim.tmp", "fsync state/.claim.tmp", "rename state claim", "fsync state",
		"unlink spool sentinel", "unlink spool/requests a",
		"write outbox/.status.json.tmp", "fsync outbox/.status.json.tmp", "rename outbox status.json", "fsync outbox",
	})
	expect(t, "settle", trace("settle"), []string{
		"write state/.settled.tmp", "fsync state/.settled.tmp", "rename state settled", "fsync state",
		"write outbox/.status.json.tmp", "fsync outbox/.status.json.tmp", "rename outbox status.json", "fsync outbox",
		"unlink state claim", "fsync state",
	})
}

var syscalls = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`write\(\d+<([^>]*)>, .*= \d+$`), "write"},
	{regexp.MustCompile(`fsync\(\d+<([^>]*)>\) += 0`), "fsync"},
	{regexp.MustCompile(`rename(?:at2?)?\(\d+<([^>]*)>, "[^"]*", \d+<[^>]*>, "([^"]*)"(?:, 0)?\) += 0`), "rename"},
	{regexp.MustCompile(`unlinkat\(\d+<([^>]*)>, "([^"]*)", 0\) += 0`), "unlink"},
}

// steps reduces a trace to the calls that changed something below the root.
func steps(trace, root string) []string {
	var out []string
	for line := range strings.Lines(trace) {
		for _, call := range syscalls {
			m := call.pattern.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil || !strings.HasPrefix(m[1], root+"/") {
				continue
			}
			out = append(out, strings.Join(append([]string{call.name, strings.TrimPrefix(m[1], root+"/")}, m[2:]...), " "))
		}
	}
	return out
}

func expect(t *testing.T, verb string, got, want []string) {
	t.Helper()
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s does\n  %s\nwant\n  %s", verb, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// The binary that faces the web app stays small (A10).
func TestSize(t *testing.T) {
	info, err := os.Stat(gate(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 4_000_000 {
		t.Errorf("trueup-gate has %d bytes, more than 4 MB", info.Size())
	}
}

// Wrong words are said with what, where and what to do, and exit 64; a folder that is not there exits 74.
func TestUsage(t *testing.T) {
	t.Setenv("INVOCATION_ID", "") // under systemd a refused claim waits
	for _, test := range []struct {
		args string
		env  string
		code int
		says string
	}{
		{"", "", 64, "usage: trueup-gate claim|settle|heal"},
		{"--help", "", 0, "usage: trueup-gate claim|settle|heal"},
		{"--version", "", 0, "trueup-gate "},
		{"clam --spool /s --state /t", "", 64, "unknown verb: want claim, settle or heal"},
		{"claim", "", 64, "the spool folder is not given: use --spool DIR"},
		{"claim --spool s --state /t", "", 64, `the spool folder "s" is relative`},
		{"claim --spool /s --state /s", "", 64, "must be three folders"},
		{"claim --spool /s --state /s/deep/state", "", 64, "must be three folders, none in another"},
		{"claim --spool /s/../t/spool --state /t", "", 64, "none in another"},
		{"claim --check --spool /s --state /t --outbox /s/", "", 64, "none in another"},
		{"claim --spool /s --state /proc/none/s --outbox /proc/none/sub --check", "", 74, "/proc/none/s"},
		{"claim --spool /s --state /t --floor 30", "", 64, `invalid value "30" for flag -floor`},
		{"claim --spool /s --state /t --floor 0s", "", 64, "floor 0s is out of bounds"},
		{"claim --spool /s --state /t --floor 10m", "", 64, "retry-max 5m0s is out of bounds"},
		{"claim --spool /s --state /t extra", "", 64, `unexpected argument "extra"`},
		{"settle --spool /s --state /proc/none --sweep 5m", "TRUEUP_SWEEP=often", 74, "/proc/none"},
		{"settle --spool /s --state /proc/none", "TRUEUP_FLOOR=", 74, "/proc/none"},
		{"settle --spool /s --state /proc/none", "TRUEUP_CHECK=perhaps", 74, "/proc/none"},
		{"claim --spool /s --state /t", "TRUEUP_SWEEP=often", 64, `TRUEUP_SWEEP="often"`},
		{"claim --check --state /proc/none", "TRUEUP_SPOOL=/proc/nowhere", 74, "/proc/none"},
		{"settle --spool /s --state /proc/none", "", 74, "/proc/none"},
		{"heal", "", 64, "use --path UNIT.path"},
	} {
		t.Run(test.args, func(t *testing.T) {
			if name, value, found := strings.Cut(test.env, "="); found {
				t.Setenv(name, value)
			}
			var out bytes.Buffer
			code := run(strings.Fields(test.args), &out, &out)
			if code != test.code || !strings.Contains(out.String(), test.says) {
				t.Errorf("exit %d, %q; want %d and %q", code, out.String(), test.code, test.says)
			}
		})
	}
}
