package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
)

// checker is a kind whose check is a script.
func checker(t *testing.T, text string) *Kind {
	t.Helper()
	return New(settings(t, fmt.Sprintf("{check: [%s], apply: ['true']}", script(t, text))))
}

// A tick that is stopped asks the whole group to end, and the group can clean up.
func TestCancelAsksTheGroup(t *testing.T) {
	ready, cleaned := fifo(t), filepath.Join(t.TempDir(), "cleaned")
	k := checker(t, fmt.Sprintf(`
trap 'wait; echo parent >>%[2]s; exit 3' TERM
(trap 'echo child >>%[2]s; exit' TERM; echo >%[1]s; while :; do sleep 0.05; done) &
wait
`, ready, cleaned))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("told to stop")
	go func() {
		hear(t, ready)
		cancel(stop)
	}()
	in, _ := input()
	_, err := k.Observe(ctx, in)
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause of the end", err)
	}
	if _, is := errors.AsType[*reconcile.UnknownError](err); is {
		t.Errorf("that the tick was stopped says nothing of the target: %v", err)
	}
	if got := readFile(t, cleaned); got != "child\nparent\n" {
		t.Errorf("cleaned up: %q", got)
	}
}

// What ignores the request is killed after the grace, and at once when nothing may go on: another may be writing soon.
func TestStubbornGroupIsKilled(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause error
		grace time.Duration
		ends  time.Duration // of the grace, in the context
		least time.Duration
	}{
		{"stopped", errors.New("told to stop"), 300 * time.Millisecond, time.Hour, 300 * time.Millisecond},
		{"lease lost", fmt.Errorf("renewing: %w", reconcile.ErrLeaseLost), time.Hour, 0, 0},
		{"lease lost after it was stopped", errors.New("told to stop"), time.Hour, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			ready := fifo(t)
			k := checker(t, fmt.Sprintf(`
trap '' TERM
sleep 1000 & echo $$ $! >%s
while :; do sleep 0.05; done
`, ready))
			k.grace = c.grace
			grace, over := context.WithCancel(t.Context())
			defer over()
			ctx, cancel := context.WithCancelCause(reconcile.WithGrace(t.Context(), grace))
			var pids []string
			var began time.Time
			go func() {
				pids = strings.Fields(hear(t, ready))
				began = time.Now()
				if c.ends == 0 {
					over()
				}
				cancel(c.cause)
				time.AfterFunc(c.ends, over)
			}()
			in, _ := input()
			_, err := k.Observe(ctx, in)
			if took := time.Since(began); took < c.least || took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if !errors.Is(err, c.cause) || len(pids) != 2 {
				t.Fatalf("got %v of %q", err, pids)
			}
			for _, pid := range pids {
				if alive(t, pid) {
					t.Errorf("process %s outlived its tick", pid)
				}
			}
		})
	}
}

// LCK-11: what a command leaves behind in its group is killed and named, and the tick does not wait for it although it
// holds the pipe.
func TestStrayIsKilledAndNamed(t *testing.T) {
	pid := fifo(t)
	k := checker(t, fmt.Sprintf("nohup sleep 1000 &\necho $! >%s\necho fine\n", pid))
	heard := make(chan string, 1)
	go func() { heard <- hear(t, pid) }()
	in, log := input()
	began := time.Now()
	seen, err := k.Observe(t.Context(), in)
	if err != nil || len(seen.Changes) > 0 || time.Since(began) > 10*time.Second {
		t.Errorf("got %+v, %v after %v", seen, err, time.Since(began))
	}
	stray := <-heard
	if alive(t, stray) {
		t.Errorf("process %s is left", stray)
	}
	if got := log.text["check"]; !strings.Contains(got, "fine\n") || !strings.Contains(got, "killed what check left behind: ") ||
		!strings.Contains(got, "("+stray+")") {
		t.Errorf("logged %q", got)
	}
}

// LCK-10: a process that leaves the group is out of reach. It neither holds the tick up nor keeps a lock of this process.
func TestDaemonHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := os.Create(path)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := fifo(t)
	k := checker(t, fmt.Sprintf("setsid sh -c 'echo $$ >%s; exec sleep 1000' &\nwait_for_it=$(cat %[1]s); echo $wait_for_it\n", pid))
	in, log := input()
	if _, err := k.Observe(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	daemon := strings.TrimSpace(log.text["check"])
	if !alive(t, daemon) {
		t.Fatalf("process %q is not there, so it shows nothing", daemon)
	}
	defer exec.Command("kill", "-9", daemon).Run()
	lock.Close()
	again, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := syscall.Flock(int(again.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("the daemon holds the lock: %v", err)
	}
}

func TestStartThatFails(t *testing.T) {
	in, _ := input()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o777); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"{check: [no-such-program-here], apply: ['true']}":      "no-such-program-here",
		"{check: [/dev/null], apply: ['true']}":                 "permission denied",
		"{check: [/tmp], apply: ['true']}":                      "permission denied",
		"{check: [" + fifo + "], apply: ['true']}":              "permission denied",
		"{check: ['true'], apply: ['true'], dir: " + fifo + "}": "not a directory",
		"{check: ['true'], apply: ['true'], dir: /no/where}":    "/no/where",
	} {
		_, err := New(settings(t, text)).Observe(t.Context(), in)
		unknown(t, err, want)
	}
	_, err := checker(t, "kill -SEGV $$").Observe(t.Context(), in)
	unknown(t, err, "running check: died of a signal: segmentation fault")
}
