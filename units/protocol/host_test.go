package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// A place is where a service can be given a trigger.
type place interface {
	String() string

	// adopt installs a counter and gives it a trigger. It ends with the test.
	adopt(t *testing.T, o options) *host
}

// options say how a counter is adopted. What is left out gets what trueup adopt gives by default, except that
// there is no timer unless one is asked for: it would disturb every count.
type options struct {
	name    string         // of the unit, without .service; every host of a place needs its own
	policy  trigger.Policy // floor 500ms and retry-max 2s where left out; the sweep is for trueup watch alone
	timer   bool           // let adopt add its timer
	service string         // more lines for [Service]
	timeout time.Duration  // bounds one run; a minute where left out
}

func (o options) complete() options {
	if o.policy.Floor == 0 {
		o.policy.Floor = 500 * time.Millisecond
	}
	if o.policy.RetryMax == 0 {
		o.policy.RetryMax = max(2*time.Second, o.policy.Floor)
	}
	if o.policy.Sweep == 0 {
		o.policy.Sweep = time.Hour
	}
	if o.timeout == 0 {
		o.timeout = time.Minute
	}
	return o
}

// A host is a counter with a trigger.
type host struct {
	backend
	options
	folders trigger.Folders // as this process reaches them, also while the power is off
	dir     string          // the counter's own folder, likewise
}

// A backend is what differs between systemd and trueup watch.
type backend interface {
	pids() []int              // the processes of gate, run and settle, as this process counts
	alive(t *testing.T) error // nil when a touch would be heard
	start(t *testing.T)       // ask for a run by hand, without a touch, and do not wait for it
	powerCut(t *testing.T)    // everything of the host is dead at once, and then boots again
	reboot(t *testing.T)      // the same in order
	journal(t *testing.T) string

	// manager is systemd's, or nil on trueup watch; only cases about systemd itself ask for it.
	manager() *nspawn.Manager
}

// A role is a process that a case can kill.
type role string

const (
	gate   role = "trueup-gate claim" // on trueup watch these two are the watch itself
	settle role = "trueup-gate settle"
	run    role = "counter"
)

// plays tells whether a process has the role.
func (r role) plays(pid int) bool {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.ReplaceAll(string(cmdline), "\x00", " ")
	if strings.Contains(words, "/trueup watch ") {
		return r != run
	}
	return strings.Contains(words, "/"+string(r)+" ") && !strings.Contains(words, "keep-run")
}

// kill kills a process if it has the role. The descriptor makes sure that what is killed is what was looked at.
func (r role) kill(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return r.plays(pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// commit writes the number durably enough for whoever reads it after a touch.
func (h *host) commit(t *testing.T, number int) {
	t.Helper()
	temp := filepath.Join(h.dir, ".number")
	if err := os.WriteFile(temp, []byte(strconv.Itoa(number)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(h.dir, "number")); err != nil {
		t.Fatal(err)
	}
}

// touch reads the ticket and touches: the whole, or the named requests.
func (h *host) touch(t *testing.T, requests ...string) trigger.Ticket {
	t.Helper()
	ticket, err := trigger.Request(h.folders, requests...)
	if err != nil {
		t.Fatalf("touching %s: %v", h.name, err)
	}
	return ticket
}

// write commits a number and asks for a run, in the protocol's order.
func (h *host) write(t *testing.T, number int, requests ...string) trigger.Ticket {
	t.Helper()
	h.commit(t, number)
	return h.touch(t, requests...)
}

// copied is the number that the last good run has copied.
func (h *host) copied() int {
	text, err := os.ReadFile(filepath.Join(h.dir, "copy"))
	if err != nil {
		return 0
	}
	number, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return number
}

// status reads status.json.
func (h *host) status(t *testing.T) trigger.Status {
	t.Helper()
	status, err := trigger.ReadStatus(h.folders.Outbox)
	if err != nil {
		t.Fatalf("reading the status of %s: %v", h.name, err)
	}
	return status
}

// claim is the claim that stands, or nil.
func (h *host) claim(t *testing.T) *trigger.Claim {
	t.Helper()
	state, err := trigger.ReadState(h.folders.State)
	if err != nil {
		t.Fatalf("reading the state of %s: %v", h.name, err)
	}
	return state.Claim
}

// quiet tells whether nothing is asked for, owed or running. The claim goes last of all that settle does.
func (h *host) quiet(t *testing.T) bool {
	t.Helper()
	names, err := os.ReadDir(filepath.Join(h.folders.Spool, "requests"))
	return err == nil && len(names) == 0 && gone(filepath.Join(h.folders.Spool, "sentinel")) &&
		gone(filepath.Join(h.folders.State, "claim")) && h.resting()
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return os.IsNotExist(err)
}

// resting tells whether no process of the service is there, but for a watch that waits.
func (h *host) resting() bool {
	pids := h.pids()
	if h.manager() != nil {
		return len(pids) == 0
	}
	return !slices.ContainsFunc(pids, run.plays)
}

// awaitQuiet waits until nothing is asked for, owed or running.
func (h *host) awaitQuiet(t *testing.T, within time.Duration) {
	t.Helper()
	h.eventually(t, within, "nothing is owed any more", func() bool { return h.quiet(t) })
}

// awaitCopied waits until a good run has copied the number.
func (h *host) awaitCopied(t *testing.T, number int, within time.Duration) {
	t.Helper()
	h.eventually(t, within, fmt.Sprintf("%d is copied", number), func() bool { return h.copied() >= number })
}

// eventually is nspawn's, and shows the host's journal when it fails.
func (h *host) eventually(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	defer h.explain(t)
	nspawn.Eventually(t, within, h.name+": "+what, cond)
}

// explain shows what happened here, if the test has failed.
func (h *host) explain(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	state, _ := trigger.ReadState(h.folders.State)
	status, _ := os.ReadFile(filepath.Join(h.folders.Outbox, "status.json"))
	log, _ := os.ReadFile(filepath.Join(h.dir, "runs"))
	t.Logf("%s: copied %d, claim %+v, status %s, alive %v\nlast runs:\n%s\njournal:\n%s", h.name, h.copied(), state.Claim,
		status, h.alive(t), tail(string(log), 20), tail(h.journal(t), 60))
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// kill sends SIGKILL to a process with the role as soon as one is there, and tells whether one was.
func (h *host) kill(r role, within time.Duration) bool { return h.killAfter(r, 0, within) }

// killAfter is kill at a later moment of the process's life.
func (h *host) killAfter(r role, age, within time.Duration) bool {
	tick := time.NewTicker(300 * time.Microsecond) // settle lasts a few milliseconds
	defer tick.Stop()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); <-tick.C {
		for _, pid := range h.pids() {
			if !r.plays(pid) {
				continue
			}
			if age > 0 {
				<-time.After(age)
			}
			if r.kill(pid) {
				return true
			}
		}
	}
	return false
}
