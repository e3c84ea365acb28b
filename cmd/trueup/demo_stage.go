package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
)

// hostScript is the run: it reads what the web app wrote, takes its time, and copies it.
const hostScript = `set -e
echo $$ >pid.new; mv pid.new "pid.$TRUEUP_CLAIM"
number=$(cat app)
sleep 0.5
if [ -e fail ]; then rm fail; exit 1; fi
echo "$number" >host.new; mv host.new host
`

// A stage is the demo's world: a folder, a web app, a host, and the watch between them.
type stage struct {
	ui      *ui
	dir     string
	folders trigger.Folders
	began   time.Time
	watch   *exec.Cmd
	events  chan logged

	written   int // what the web app wrote last
	asked     []asked
	lastTouch time.Time
	runs      []demoRun
}

// asked is one touch, and what it wants to see live.
type asked struct {
	number  int
	ticket  trigger.Ticket
	covered bool
}

func newStage(u *ui) (*stage, error) {
	dir, err := os.MkdirTemp("", "trueup-demo-")
	if err != nil {
		return nil, fmt.Errorf("making the demo's folder: %w", err)
	}
	runtime.LockOSThread() // for the watch's Pdeathsig: should the demo be killed, the watch goes with it
	s := &stage{ui: u, dir: dir, began: time.Now(), folders: trigger.Folders{
		Spool: filepath.Join(dir, "spool"), State: filepath.Join(dir, "state"), Outbox: filepath.Join(dir, "outbox")}}
	return s, errors.Join(s.writeNumber("app", 0), s.writeNumber("host", 0))
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

// start starts trueup watch, this very program, and listens to its log.
func (s *stage) start() error {
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	s.watch = exec.Command("/proc/self/exe", "watch", "--json",
		"--spool", s.folders.Spool, "--state", s.folders.State, "--outbox", s.folders.Outbox,
		"--floor", demoFloor.String(), "--retry-max", demoSweep.String(), "--sweep", demoSweep.String(), "--", "sh", "-c", hostScript)
	s.watch.Args[0] = "trueup"
	s.watch.Dir, s.watch.Stderr = s.dir, in
	s.watch.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	s.line(time.Now(), "trueup watch starts")
	err = s.watch.Start()
	in.Close()
	s.events = make(chan logged, 64)
	go listen(out, s.events)
	return err
}

// listen passes on the watch's log until the watch is gone, and all that it started.
func listen(log *os.File, events chan<- logged) {
	defer close(events)
	defer log.Close()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var e logged
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			events <- e
		}
	}
}

// touch writes and touches n times, as a web app does: commit, read the ticket, touch.
func (s *stage) touch(n int) error {
	began := time.Now()
	for range n {
		s.written++
		if err := s.writeNumber("app", s.written); err != nil {
			return err
		}
		ticket, err := trigger.Request(s.folders)
		if err != nil {
			return err
		}
		s.asked = append(s.asked, asked{number: s.written, ticket: ticket})
	}
	s.lastTouch = time.Now()
	took := ""
	if n > 1 {
		took = ", within " + span(s.lastTouch.Sub(began))
	}
	s.line(began, "touch ×%s%s", thousands(n), took)
	return nil
}

// reach returns when a run is in the middle of its work.
func (s *stage) reach(ctx context.Context) error {
	if _, err := s.expect(ctx, trigger.MsgClaimed); err != nil {
		return err
	}
	return until(ctx, func() bool { return s.runPID() > 0 })
}

// runPID is the process of the latest run, once it works.
func (s *stage) runPID() int {
	text, err := os.ReadFile(s.path("pid." + s.runs[len(s.runs)-1].claim))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func (s *stage) killRun() error {
	s.line(time.Now(), "kill -9 %d, the run", s.runPID())
	return unix.Kill(s.runPID(), unix.SIGKILL)
}

// killWatch kills the watch and makes sure that its run has gone with it.
func (s *stage) killWatch(ctx context.Context) error {
	at := time.Now()
	if err := s.watch.Process.Kill(); err != nil {
		return err
	}
	s.line(at, "kill -9 %d, the watch; its run goes with it, the claim stands", s.watch.Process.Pid)
	_ = s.watch.Wait() // killed
	s.endRun(at, "killed")
	return until(ctx, func() bool { return dead(s.runPID()) })
}

// dead tells whether a process runs no more. Its remains may stay for ever where PID 1 reaps nobody.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// clear ends the watch and removes the folder.
func (s *stage) clear() error {
	if s.watch != nil && s.watch.Process != nil && s.watch.ProcessState == nil {
		_ = s.watch.Process.Signal(syscall.SIGTERM)
		gone := time.AfterFunc(killAfter, func() { _ = s.watch.Process.Kill() })
		_ = s.watch.Wait()
		gone.Stop()
	}
	return os.RemoveAll(s.dir)
}

func (s *stage) writeNumber(name string, n int) error {
	temp := s.path("." + name)
	if err := os.WriteFile(temp, []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, s.path(name))
}

func (s *stage) readNumber(name string) (int, error) {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
