package fleet

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// A host is a network namespace with a trueup watch, which a supervisor starts again whenever it ends.
type host struct {
	name, net string // the namespace
	gateway   string // the address of the database, as the host sees it
	link      string // the outer end of its wire
	folders   trigger.Folders
	config    string
	env       []string
	log       *os.File

	mu    sync.Mutex
	watch *exec.Cmd
	over  bool
	ended chan struct{}
}

// ip runs ip(8) with the given words.
func ip(t *testing.T, words string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", words, err, out)
	}
}

// newHost makes the n-th host of this process. The addresses are of 198.18.0.0/15, which is nobody's.
func newHost(t *testing.T, n int) *host {
	t.Helper()
	dir := t.TempDir()
	id := fmt.Sprintf("tf%d-%d", os.Getpid(), n)
	third, fourth := os.Getpid()%256, 4*n
	h := &host{name: fmt.Sprintf("host-%c", 'a'+n), net: id, link: id + "o",
		gateway: fmt.Sprintf("198.18.%d.%d", third, fourth+1), ended: make(chan struct{}),
		folders: trigger.Folders{Spool: dir + "/spool", State: dir + "/state", Outbox: dir + "/outbox"}, config: dir + "/trueup.yaml"}
	for _, folder := range []string{h.folders.Spool, h.folders.State, h.folders.Outbox} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.log, err = os.Create(dir + "/log"); err != nil {
		t.Fatal(err)
	}
	ip(t, "netns add "+id)
	t.Cleanup(func() { exec.Command("ip", "netns", "delete", id).Run() })
	ip(t, fmt.Sprintf("link add %s type veth peer name %si netns %s", h.link, id, id))
	ip(t, fmt.Sprintf("addr add %s/30 dev %s", h.gateway, h.link))
	ip(t, fmt.Sprintf("-n %s addr add 198.18.%d.%d/30 dev %si", id, third, fourth+2, id))
	ip(t, fmt.Sprintf("link set %s up", h.link))
	ip(t, fmt.Sprintf("-n %s link set %si up", id, id))
	return h
}

// command is a program as it runs on the host. It dies with this process.
func (h *host) command(args ...string) *exec.Cmd {
	c := exec.Command("ip", append([]string{"netns", "exec", h.net, "setpriv", "--pdeathsig", "KILL"}, args...)...)
	c.Env = append(os.Environ(), h.env...)
	return c
}

// trueup runs a verb on the host, with its configuration.
func (h *host) trueup(t *testing.T, args ...string) string {
	t.Helper()
	c := h.command(append([]string{program}, append(args, "-c", h.config)...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: trueup %s: %v\n%s", h.name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// supervise keeps the watch running, until end.
func (h *host) supervise() {
	defer close(h.ended)
	for {
		c := h.command(program, "watch", "--spool", h.folders.Spool, "--state", h.folders.State, "--outbox", h.folders.Outbox,
			"--floor", "300ms", "--retry-max", "3s", "--sweep", "8s", "--", program, "sweep", "-c", h.config)
		c.Stdout, c.Stderr = h.log, h.log
		h.mu.Lock()
		if h.over {
			h.mu.Unlock()
			return
		}
		err := c.Start()
		h.watch = c
		h.mu.Unlock()
		if err == nil {
			err = c.Wait()
		}
		fmt.Fprintf(h.log, "--- the watch ended: %v\n", err)
		<-time.After(100 * time.Millisecond)
	}
}

// end stops the host for good.
func (h *host) end() {
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	h.kill()
	<-h.ended
}

// processes are the watch and all that it has started, the watch first. Processes that are at work may be missed: who
// wants them all stops those that it has got and looks again.
func (h *host) processes() (pids []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watch == nil || h.watch.Process == nil {
		return nil
	}
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		after := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(after) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(after[1])
		parents[parent] = append(parents[parent], pid)
	}
	pids = []int{h.watch.Process.Pid}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, parents[pids[i]]...)
	}
	return pids
}

// stop makes the whole host stand still, and returns what makes it go on.
func (h *host) stop() (resume func()) {
	var stopped []int
	for {
		all := h.processes()
		fresh := slices.DeleteFunc(all, func(pid int) bool { return slices.Contains(stopped, pid) })
		if len(fresh) == 0 {
			break
		}
		for _, pid := range fresh {
			syscall.Kill(pid, syscall.SIGSTOP)
		}
		stopped = append(stopped, fresh...)
	}
	return func() {
		for _, pid := range slices.Backward(stopped) {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// kill is a power cut: nothing of the host goes on.
func (h *host) kill() {
	resume := h.stop()
	for _, pid := range h.processes() {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	resume()
}

// cut takes the wire from the host, and returns what gives it back.
func (h *host) cut(t *testing.T) (mend func()) {
	ip(t, "link set "+h.link+" down")
	return func() { ip(t, "link set "+h.link+" up") }
}
