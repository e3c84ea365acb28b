package nspawn

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandTime bounds a command of the Must methods.
const commandTime = 2 * time.Minute

// A Session runs commands in a machine as one user, with that user's home and
// run-time folder and bus address, so that systemctl --user works in it, and
// with nothing else of this process's environment.
type Session struct {
	m    *Machine
	user string
	env  []string
}

// As returns a session of another user, such as "op", "web" or "nobody".
func (m *Machine) As(user string) Session { return Session{m: m, user: user} }

// With returns the session with more environment, each as KEY=VALUE.
func (s Session) With(env ...string) Session {
	s.env = append(s.env[:len(s.env):len(s.env)], env...)
	return s
}

// Command returns a command that is ready to run in the machine. When ctx ends
// the command itself is killed, not only what runs it from outside. Its
// working folder is the machine's root; setting Dir has no effect.
func (s Session) Command(ctx context.Context, argv ...string) *exec.Cmd {
	args := []string{"-t", strconv.Itoa(s.m.Leader()), "-m", "-u", "-i", "-n", "-p", "-C", "--"}
	env, err := s.environ()
	if s.user != "root" {
		args = append(args, "setpriv", "--reuid="+s.user, "--regid="+s.gid(), "--init-groups", "--")
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(args, argv...)...)
	cmd.Env = append(env, s.env...)
	cmd.Cancel = func() error { return signalInside(cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	switch {
	case err != nil:
		cmd.Err = err
	case !s.m.Running():
		cmd.Err = fmt.Errorf("%s is off", s.m.Name)
	}
	return cmd
}

// Exec runs a command and returns its standard output. The error of one that
// fails is an [*exec.ExitError], wrapped with the command and what it said on
// standard error.
func (s Session) Exec(ctx context.Context, argv ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := s.Command(ctx, argv...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("running %q as %s in %s: %w: %s",
			argv, s.user, s.m.Name, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// MustExec is Exec that fails the test now when the command fails, or takes
// more than two minutes.
func (s Session) MustExec(t testing.TB, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	out, err := s.Exec(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Sh runs a script with bash -eu and returns its standard output; it fails the
// test now when the script fails.
func (s Session) Sh(t testing.TB, script string) string {
	t.Helper()
	return s.MustExec(t, "bash", "-euc", script)
}

// account returns the user's line in the machine's /etc/passwd, in fields.
func (s Session) account() ([]string, error) {
	passwd, err := os.ReadFile(filepath.Join(s.m.Dir, "etc/passwd"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(passwd)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) == 7 && fields[0] == s.user {
			return fields, nil
		}
	}
	return nil, fmt.Errorf("%s has no user %s", s.m.Name, s.user)
}

func (s Session) gid() string {
	if fields, err := s.account(); err == nil {
		return fields[3]
	}
	return ""
}

func (s Session) environ() ([]string, error) {
	fields, err := s.account()
	if err != nil {
		return nil, err
	}
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8", "TERM=dumb", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0",
		"USER=" + s.user, "LOGNAME=" + s.user, "HOME=" + fields[5], "SHELL=/bin/bash",
	}
	if s.user != "root" {
		run := "/run/user/" + fields[2]
		env = append(env, "XDG_RUNTIME_DIR="+run, "DBUS_SESSION_BUS_ADDRESS=unix:path="+run+"/bus")
	}
	return env, nil
}
