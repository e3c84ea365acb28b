package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A seat is a terminal with a program on it.
type seat struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd
	ended  chan error

	mu   sync.Mutex
	said strings.Builder
}

// sit starts trueup on a terminal of its own.
func sit(t *testing.T, env []string, args ...string) *seat {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, master: master, slave: slave, ended: make(chan error, 1)}
	s.resize(100, 24)
	s.cmd = exec.Command("trueup", args...)
	s.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "TZ=UTC"), env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for part := make([]byte, 1<<14); ; {
			n, err := master.Read(part)
			s.mu.Lock()
			s.said.Write(part[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		master.Close()
		slave.Close()
	})
	return s
}

func (s *seat) resize(width, height uint16) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		s.t.Fatal(err)
	}
}

// far is how much was said so far.
func (s *seat) far() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Len()
}

// all is what was said from somewhere on.
func (s *seat) all(from int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()[from:]
}

// until waits until something was said, from somewhere on.
func (s *seat) until(from int, text string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		if strings.Contains(s.all(from), text) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("no %q in %q", text, s.all(from))
		}
		<-time.After(10 * time.Millisecond)
	}
}

func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// end waits for the program's end, and gives its exit code.
func (s *seat) end() int {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		s.t.Fatalf("it goes on: %q", s.all(0))
		return 0
	}
}

// modes are those that a program may leave behind.
func (s *seat) modes() unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return *modes
}
