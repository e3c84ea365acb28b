package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
)

// Two sweeps and a tick at once, from three processes, over and over (B4): none meets a locked database, no change is
// applied twice, and who finds the target taken says by whom, and leaves it to the holder (LCK-06, LCK-07, SQL-01).
func TestThreeProcesses(t *testing.T) {
	t.Parallel()
	program := programs(t) + "/trueup"
	dir := t.TempDir()
	conf := filepath.Join(dir, "trueup.yaml")
	write(t, conf, fmt.Sprintf(`version: 1
trigger: {spool: %[1]s/spool, state: %[1]s/state}
outbox: %[1]s/outbox
targets:
- {kind: command, name: a, dir: %[1]s, check: {shell: 'cmp -s wanted a || exit 2'}, apply: {shell: 'cp wanted a; echo x >>applied'}}
- {kind: command, name: b, dir: %[1]s, check: {shell: 'cmp -s wanted b || exit 2'}, apply: {shell: 'cp wanted b; echo x >>applied'}}
`, dir))
	for _, folder := range []string{"spool", "state", "outbox"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "wanted"), "at first")
	if code, said := runs(t.Context(), program, "sweep", "-c", conf); code != 0 { // makes the ledger
		t.Fatalf("sweep: exit %d: %s", code, said)
	}
	if err := os.Remove(filepath.Join(dir, "applied")); err != nil {
		t.Fatal(err)
	}
	rounds := 200
	reserved := 0
	for round := range rounds {
		write(t, filepath.Join(dir, "wanted"), fmt.Sprint(round))
		var all sync.WaitGroup
		var mu sync.Mutex
		for _, args := range [][]string{{"sweep"}, {"sweep"}, {"tick", "command:a"}} {
			all.Go(func() {
				code, said := runs(t.Context(), program, append(args, "-c", conf)...)
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(said, "scope reserved by r-") {
					reserved++
				}
				if code != 0 && code != exitReserved || strings.Contains(said, "database is locked") {
					t.Errorf("round %d: %v: exit %d: %s", round, args, code, said)
				}
			})
		}
		all.Wait()
		for _, name := range []string{"a", "b"} {
			if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != fmt.Sprint(round) {
				t.Fatalf("round %d: %s is at %q", round, name, got)
			}
		}
		if t.Failed() {
			return
		}
	}
	if applied, _ := os.ReadFile(filepath.Join(dir, "applied")); len(applied) != 2*2*rounds {
		t.Errorf("applied %d times in %d rounds of 2 targets", len(applied)/2, rounds)
	}
	if reserved == 0 {
		t.Error("no process has ever met another's lease: nothing was shown")
	}
	ledger, err := sqlite.Open(t.Context(), filepath.Join(dir, "state/ledger.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	standings, err := ledger.Standings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range standings {
		if s.Owed() || s.Report.State != reconcile.OK {
			t.Errorf("left behind: %+v", s)
		}
	}
}

// trueup runs the program, and gives its exit code and what it printed.
func trueup(ctx context.Context, args ...string) (code int, said string) {
	return runs(ctx, "trueup", args...)
}

func runs(ctx context.Context, program string, args ...string) (code int, said string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), "NO_COLOR=1")
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		return -1, err.Error()
	}
	return c.ProcessState.ExitCode(), string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
