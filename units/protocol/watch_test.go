package protocol

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"trueup/units/nspawn"
)

// watchPlace is this machine, with trueup watch.
type watchPlace struct{}

// String names it as a subtest.
func (watchPlace) String() string { return "watch" }

func (watchPlace) adopt(t *testing.T, o options) *host {
	t.Helper()
	if err := shop.build(); err != nil {
		t.Fatal(err)
	}
	o = o.complete()
	base := t.TempDir()
	h := &host{options: o, folders: folders(base), dir: filepath.Join(base, "counter")}
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h.commit(t, 0)
	b := &watchBackend{log: filepath.Join(base, "log"), args: []string{"watch",
		"--spool", h.folders.Spool, "--state", h.folders.State, "--outbox", h.folders.Outbox,
		"--floor", o.policy.Floor.String(), "--retry-max", o.policy.RetryMax.String(), "--sweep", o.policy.Sweep.String(),
		"--timeout", o.timeout.String(), "--", shop.program("counter"), h.dir, h.folders.State}}
	h.backend = b
	go b.supervise()
	t.Cleanup(b.end)
	// A watch begins with a run for everything. The cases do not count it, and begin when its window is over.
	h.eventually(t, patience, "the first run is over", func() bool {
		_, err := os.Stat(h.folders.Outbox + "/status.json")
		return err == nil && h.quiet(t) && len(h.attempts(t)) == 1
	})
	clear := uptime() + o.policy.Floor
	h.eventually(t, o.policy.Floor+patience, "its window is over", func() bool { return uptime() > clear })
	h.tell(t, "runs", "")
	return h
}

// A watchBackend starts a watch and, as a supervisor would, starts it again when it ends.
type watchBackend struct {
	args []string
	log  string

	mu      sync.Mutex
	over    bool
	cmd     *exec.Cmd
	failure error
	done    chan struct{}
}

func (b *watchBackend) supervise() {
	for b.launch() {
		b.cmd.Wait()
		close(b.done)
	}
}

func (b *watchBackend) launch() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return false
	}
	log, err := os.OpenFile(b.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		defer log.Close()
		b.cmd = exec.Command(shop.program("trueup"), b.args...)
		b.cmd.Stdout, b.cmd.Stderr = log, log
		b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		b.done = make(chan struct{})
		err = b.cmd.Start()
	}
	b.failure = err
	return err == nil
}

// end stops the watch for good, in order.
func (b *watchBackend) end() {
	b.mu.Lock()
	b.over = true
	done := b.done
	if b.cmd != nil && b.cmd.Process != nil {
		b.cmd.Process.Signal(syscall.SIGTERM)
	}
	b.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (b *watchBackend) manager() *nspawn.Manager { return nil }

func (b *watchBackend) watch() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil || b.cmd.Process == nil {
		return 0
	}
	return b.cmd.Process.Pid
}

// pids are the watch and everything below it.
func (b *watchBackend) pids() (pids []int) {
	pid := b.watch()
	if pid == 0 {
		return nil
	}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		pids = append(pids, next[0])
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", next[0]))
		for _, task := range tasks {
			list, _ := os.ReadFile(task)
			for _, field := range strings.Fields(string(list)) {
				if child, err := strconv.Atoi(field); err == nil {
					next = append(next, child)
				}
			}
		}
	}
	return pids
}

func (b *watchBackend) alive(*testing.T) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.done:
		return errors.Join(errors.New("the watch has ended"), b.failure)
	default:
		return b.failure
	}
}

// start has nothing to do: nobody can ask a watch but by a touch.
func (b *watchBackend) start(*testing.T) {}

// powerCut kills the watch, and with it its run.
func (b *watchBackend) powerCut(t *testing.T) {
	t.Helper()
	b.restart(t, func(pid int) { gate.kill(pid) })
}

// reboot tells the watch to stop.
func (b *watchBackend) reboot(t *testing.T) {
	t.Helper()
	b.restart(t, func(pid int) { syscall.Kill(pid, syscall.SIGTERM) })
}

func (b *watchBackend) restart(t *testing.T, end func(pid int)) {
	t.Helper()
	before := b.watch()
	end(before)
	nspawn.Eventually(t, patience, "the watch is back", func() bool { return b.watch() != before })
}

func (b *watchBackend) journal(*testing.T) string {
	text, err := os.ReadFile(b.log)
	return fmt.Sprint(string(text), err)
}
