package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"trueup/reconcile/secret"
)

// A Command is the operator's way to be told: a mail, a message, a webhook. It gets a notice on its standard input, as one
// JSON document, with what it is about in its environment as well, and is done when it exits 0.
type Command struct {
	Args    []string
	Timeout time.Duration // after it the command is killed with all that it has started; what it leaves behind before is left
}

// A document is what a command reads.
type document struct {
	Version int `json:"version"` // 1
	Alarm
	State string    `json:"state"` // raised or cleared
	At    time.Time `json:"at"`
	Since time.Time `json:"since"`
	Host  string    `json:"host"`
}

// Give runs the command for one notice. An error says how it ended, with the end of what it printed.
func (c Command) Give(ctx context.Context, n Notice) error {
	host, _ := os.Hostname() // who reads it knows the host without its name
	text, err := json.Marshal(document{1, n.Alarm, n.State(), n.At, n.Since, host})
	if err != nil {
		return fmt.Errorf("telling of alarm %s: %w", n.Name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("not done within %s", c.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Env = append(secret.Environ(), "TRUEUP_ALARM="+n.Name, "TRUEUP_UNIT="+n.Unit, "TRUEUP_TARGET="+n.Target, "TRUEUP_STATE="+n.State())
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // it is not reaped yet
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it exited well: it did not want to read, or left its output to a child
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("telling of alarm %s by %s: %w%s", n.Name, c.Args[0], err, said)
}

// A tail keeps the end of what was printed.
type tail struct{ text []byte }

const longestTail = 1 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if more := len(t.text) - longestTail; more > 0 {
		t.text = t.text[more:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	said := strings.Join(strings.Fields(strings.ToValidUTF8(string(t.text), "?")), " ")
	if said == "" {
		return ""
	}
	return ": " + said
}
