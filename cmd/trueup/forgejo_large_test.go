package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/forgejo/fake"
)

// A sweep of a server with 2,000 accounts and 5,000 repositories on which nothing has changed takes a call for each page and one
// to know whose the token is, writes nothing, and needs no more than 64 MiB, as it is shipped (E4).
func TestLargeForgejo(t *testing.T) {
	t.Parallel()
	server, program, dir := fake.New(t), programs(t)+"/trueup", t.TempDir()
	var document strings.Builder
	document.WriteString("users:\n")
	for i := range 1999 {
		server.AddUser(fmt.Sprintf("user%d", i), fmt.Sprintf("user%d@example.org", i))
		fmt.Fprintf(&document, "- {login: user%d, email: user%d@example.org, state: active}\n", i, i)
	}
	server.AddOrg("acme", "bot")
	document.WriteString("repositories:\n")
	for i := range 5000 {
		server.AddRepo("acme", fmt.Sprintf("repo%d", i), nil)
		fmt.Fprintf(&document, "- {name: acme/repo%d, private: false}\n", i)
	}
	write(t, filepath.Join(dir, "main.yaml"), document.String())
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(fake.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"spool", "state", "outbox"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(dir, "trueup.yaml")
	write(t, conf, fmt.Sprintf(`version: 1
trigger: {spool: %[1]s/spool, state: %[1]s/state}
outbox: %[1]s/outbox
targets:
- {kind: forgejo, name: main, url: %[2]q, token: {file: %[1]s/token}, policy: {file: %[1]s/main.yaml}}
`, dir, server.URL))
	for range 2 { // at first it learns who is who
		before := server.Calls()
		said, peak, err := peakOf(exec.CommandContext(t.Context(), program, "sweep", "-c", conf))
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if calls := server.Calls() - before; calls != 1+2000/50+1+5000/50 || server.Writes() > 0 {
			t.Errorf("%d calls, %d of them writes", calls, server.Writes())
		}
		if t.Logf("it took %d KiB", peak); peak == 0 || peak > 64<<10 {
			t.Errorf("it took %d KiB", peak)
		}
	}
}

// peakOf runs a program, and tells the most memory that it had while it ran, in KiB. The kernel's account of a process that has
// ended would count in what the test had that started it.
func peakOf(c *exec.Cmd) (said string, peak int, err error) {
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		return "", 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return out.String(), peak, err
		case <-look.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid)) // it may have ended
			if _, most, found := strings.Cut(string(status), "VmHWM:"); found && strings.Contains(string(status), "Name:\ttrueup\n") {
				_, _ = fmt.Sscan(most, &peak)
			}
		}
	}
}
