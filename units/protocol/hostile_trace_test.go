package protocol

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever is planted, no system call of the gate names anything but its own three folders, by their whole paths, and
// single entries of them, relative to a descriptor and without following a link (I5; SEC-01, SEC-03, SEC-05).
func TestGateOpensNothingElse(t *testing.T) {
	t.Parallel()
	if err := shop.build(); err != nil {
		t.Fatal(err)
	}
	for _, p := range allPlants() {
		t.Run(p.name, func(t *testing.T) {
			base := t.TempDir()
			v := &victim{host: &host{folders: folders(base), backend: &watchBackend{}}, bait: base + "/bait", canary: base + "/bait"}
			for _, dir := range []string{v.folders.Spool + "/requests", v.folders.State, v.folders.Outbox, v.bait + "/folder"} {
				check(t, os.MkdirAll(dir, 0o755))
			}
			check(t, os.WriteFile(v.bait+"/file", nil, 0o600))
			if p.only != nil && !p.only(v) {
				return
			}
			t.Cleanup(func() {
				if p.mend != nil {
					p.mend(t, v)
				}
			})
			p.put(t, v)
			log := filepath.Join(base, "trace")
			traced := exec.Command("strace", "-f", "-qq", "-y", "-s", "300", "-e", "trace=%file", "-o", log, shop.program("trueup-gate"), "claim",
				"--spool", v.folders.Spool, "--state", v.folders.State, "--outbox", v.folders.Outbox, "--floor", "100ms", "--retry-max", "1s")
			if out, err := traced.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			staysInside(t, log, v)
		})
	}
}

// A call of strace -y: the descriptor's path and the name that is looked up in it, or a path from the root.
var (
	relative = regexp.MustCompile(`(?:at|at2)\(\d+<([^>]*)>, "((?:[^"\\]|\\.)*)"`)
	absolute = regexp.MustCompile(`\((?:AT_FDCWD(?:<[^>]*>)?, )?"(/(?:[^"\\]|\\.)*)"`)
	renamed  = regexp.MustCompile(`renameat\(\d+<([^>]*)>, "[^"]*", \d+<([^>]*)>, "([^"]*)"`)
)

// outside is what a Go program itself looks at, and what the gate reads of the kernel.
var outside = []string{"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "/proc/sys/kernel/random/boot_id", "/proc/1/stat",
	"/run/systemd/journal/socket", "/etc/localtime", "/usr/share/zoneinfo/", "/usr/lib/locale/TZ/", "/etc/zoneinfo", "/proc/self/fd/",
	"/usr/local/go/", "/sys/fs/cgroup", "/proc/self/"}

func staysInside(t *testing.T, log string, v *victim) {
	t.Helper()
	f, err := os.Open(log)
	check(t, err)
	defer f.Close()
	calls := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.Contains(line, "execve("), strings.Contains(line, "resumed>"):
		case renamed.MatchString(line):
			m := renamed.FindStringSubmatch(line)
			if m[1] != m[2] || strings.Contains(m[3], "/") {
				t.Errorf("renames into another folder: %s", line)
			}
		case relative.MatchString(line):
			calls++
			m := relative.FindStringSubmatch(line)
			if m[2] == ".." || strings.Contains(m[2], "/") || !v.owns(m[1]) {
				t.Errorf("leaves its folders: %s", line)
			}
			if strings.Contains(line, "openat(") && !strings.Contains(line, "O_NOFOLLOW") && !strings.Contains(line, "O_EXCL") {
				t.Errorf("follows links: %s", line)
			}
			if strings.Contains(line, "fstatat") && !strings.Contains(line, "AT_SYMLINK_NOFOLLOW") {
				t.Errorf("follows links: %s", line)
			}
		case absolute.MatchString(line):
			if path := absolute.FindStringSubmatch(line)[1]; !v.names(path) {
				t.Errorf("looks outside its folders: %s", line)
			}
		}
	}
	if calls < 5 {
		t.Errorf("only %d calls were seen: the trace is not understood", calls)
	}
}

// owns tells whether a folder is one of the gate's or below its spool; a link that it followed would show here.
func (v *victim) owns(dir string) bool {
	return dir == v.folders.State || dir == v.folders.Outbox || dir == v.folders.Spool || strings.HasPrefix(dir, v.folders.Spool+"/")
}

// names tells whether the gate may give a path from the root: its folders, the lock, and what every program looks at.
func (v *victim) names(path string) bool {
	if path == v.folders.State || path == v.folders.Outbox || path == v.folders.Spool || path == v.folders.State+"/lock" {
		return true
	}
	for _, prefix := range outside {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
