package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubborn is a target whose command goes on, with a child that does, when it is asked to end: it writes lines of its fence.
const stubborn = `version: 1
trigger: {spool: DIR/spool, state: DIR/state}
outbox: DIR/outbox
lease: {ttl: 10s}
targets:
- kind: command
  name: a
  dir: DIR
  check: {shell: 'test -e enough || exit 2'}
  apply: {shell: 'trap "" TERM; (while test -e trueup.yaml && ! test -e enough; do echo $TRUEUP_FENCE >>written; sleep 0.05; done) & wait'}
`

// stubbornSweep is a sweep whose command is under way.
func stubbornSweep(t *testing.T) (dir string, sweep *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir+"/trueup.yaml", strings.ReplaceAll(stubborn, "DIR", dir))
	for _, folder := range []string{"spool", "state", "outbox"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sweep = exec.Command("trueup", "sweep", "-c", dir+"/trueup.yaml")
	if err := sweep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sweep.Process.Kill() // it may have ended
		_ = sweep.Wait()
	})
	soon(t, "its command is under way", func() bool { return len(written(dir)) > 0 })
	return dir, sweep
}

func written(dir string) []string {
	text, _ := os.ReadFile(dir + "/written") // before the first write there is none
	return strings.Fields(string(text))
}

// another tells whether another holder than the first has written.
func another(dir string) bool {
	lines := written(dir)
	return lines[len(lines)-1] != lines[0]
}

// A sweep that is told to stop keeps its leases while its commands take their time to end, longer than the lease is: who
// comes meanwhile finds them held, and who gets them finds nothing of the sweep's commands going on (LCK-25).
func TestStoppedSweepHoldsWhatItsCommandsDo(t *testing.T) {
	t.Parallel()
	dir, sweep := stubbornSweep(t)
	<-time.After(2500 * time.Millisecond) // well into the lease, and before its first renewal
	if err := sweep.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !another(dir) && t.Context().Err() == nil {
			runs(t.Context(), "trueup", "tick", "command:a", "-c", dir+"/trueup.yaml")
		}
	}()
	soon(t, "another holder writes", func() bool { return another(dir) })
	<-time.After(time.Second)
	write(t, dir+"/enough", "")
	<-ended
	lines := written(dir)
	for i := 1; i < len(lines); i++ {
		if lines[i] == lines[0] && lines[i-1] != lines[0] {
			t.Fatalf("fence %s writes after fence %s: line %d of %d", lines[i], lines[i-1], i, len(lines))
		}
	}
}

// Told again, it waits no longer: its commands are killed, with all that they have started.
func TestSweepToldTwice(t *testing.T) {
	t.Parallel()
	dir, sweep := stubbornSweep(t)
	ended := make(chan error, 1)
	go func() { ended <- sweep.Wait() }()
	began := time.Now()
	again := time.NewTicker(1200 * time.Millisecond)
	defer again.Stop()
	for told := 0; ; told++ {
		if told < 2 {
			if err := sweep.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-ended:
			if took := time.Since(began); told < 1 || took > 9*time.Second {
				t.Errorf("told %d times, it took %s", told+1, took)
			}
			lines := len(written(dir))
			<-time.After(300 * time.Millisecond)
			if more := len(written(dir)); more > lines {
				t.Errorf("something of it goes on: %d lines, then %d", lines, more)
			}
			if code, said := runs(t.Context(), "trueup", "history", "-c", dir+"/trueup.yaml"); code != 0 || !strings.Contains(said, "failed") {
				t.Errorf("history: exit %d: %s", code, said)
			}
			return
		case <-again.C:
		}
	}
}
