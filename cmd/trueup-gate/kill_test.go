package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"trueup/reconcile/trigger"
)

// A stage is a trigger in folders of its own, with the shipped binary.
type stage struct {
	t       *testing.T
	binary  string
	flags   []string
	folders trigger.Folders
}

func newStage(t *testing.T, binary string) *stage {
	root, flags := folders(t)
	s := &stage{t: t, binary: binary, flags: append(flags, "--floor", "100ms"), folders: trigger.Folders{
		Spool: filepath.Join(root, "spool"), State: filepath.Join(root, "state"), Outbox: filepath.Join(root, "outbox")}}
	s.must(s.run(nil, "first", "claim", "--check"))
	return s
}

// run runs a verb under the invocation, behind a prefix such as strace.
func (s *stage) run(prefix []string, invocation string, args ...string) error {
	argv := append(append(prefix, s.binary), append(args, s.flags...)...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "INVOCATION_ID="+invocation, "NOTIFY_SOCKET=", "GOMAXPROCS=1")
	return cmd.Run()
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) covers(ticket trigger.Ticket) bool {
	s.t.Helper()
	shown, err := trigger.ReadStatus(s.folders.Outbox)
	s.must(err)
	return shown.Covers(ticket)
}

// owed tells whether the path unit would start a run.
func (s *stage) owed() bool {
	for _, path := range []string{s.folders.Spool + "/sentinel", s.folders.Spool + "/requests/one", s.folders.State + "/claim"} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// The calls by which the gate changes anything; a kill at any other is a kill before the next of these.
var killAt = []string{"openat", "write", "fchmod", "fsync", "renameat", "unlinkat", "exit_group"}

// kinds are what may be asked for when the kill comes.
var kinds = map[string][]string{"everything": nil, "one request": {"one"}}

// Killed at every system call of claim and of settle, the gate leaves the request in the spool or in a claim, covers
// nothing early, and what is owed is made good by the next activation (A1, I1; TRG-15).
func TestKilledAtEverySystemCall(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("strace is needed to kill at each system call: %v; make deps installs it", err)
	}
	binary := gate(t)
	for _, verb := range []string{"claim", "settle"} {
		for kind, requests := range kinds {
			t.Run(verb+" of "+kind, func(t *testing.T) {
				t.Parallel()
				kills := 0
				for _, call := range killAt {
					for n := 1; killedAt(t, binary, verb, call, n, requests); n++ {
						kills++
					}
				}
				t.Logf("%d kills", kills)
				if kills < 20 {
					t.Errorf("killed %d times: the calls are not reached", kills)
				}
			})
		}
	}
}

// killedAt kills the verb at its n-th such call, and tells whether it got that far.
func killedAt(t *testing.T, binary, verb, call string, n int, requests []string) bool {
	s := newStage(t, binary)
	s.must(s.run(nil, "before", "claim")) // so that a request by name is claimed by name
	s.must(s.run(nil, "before", "settle"))
	ticket, err := trigger.Request(s.folders, requests...)
	s.must(err)
	if verb == "settle" {
		s.must(s.run(nil, "killed", "claim"))
	}
	strace := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n)}
	if s.run(strace, "killed", verb) == nil {
		return false
	}
	where := fmt.Sprintf("killed at %s %d of %s", call, n, verb)
	covered := s.covers(ticket)
	if !s.owed() && (verb == "claim" || !covered && requests == nil) {
		t.Errorf("%s: neither asked for, nor owed, nor covered", where)
	}
	if covered && verb == "claim" {
		t.Errorf("%s: covered before any run has succeeded", where)
	}
	for range 2 { // a claim that was settled and not removed asks once more
		s.must(s.run(nil, "next", "claim"))
		s.must(s.run(nil, "next", "settle"))
	}
	if !s.covers(ticket) && requests == nil {
		t.Errorf("%s: not covered by the next run", where)
	}
	if s.owed() {
		t.Errorf("%s: still asked for after the next runs", where)
	}
	return true
}
