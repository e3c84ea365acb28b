package policy

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode"

	"trueup/reconcile/secret"
)

// readCommand gives what a program prints, if it exits with 0. It leads a process group of its own, which is killed when
// the context ends or the output grows too large. The errors tell how it complained, without the secrets that are known and
// those in the named variables.
func readCommand(ctx context.Context, argv, redact []string) ([]byte, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var complaint tail
	out := &output{full: func() { stop(errTooLarge) }}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environment()
	cmd.Stdout, cmd.Stderr = out, &complaint
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a descendant that left the group may keep the pipes open
	hidden, err := secret.Known(cmd.Env, redact)
	if err != nil {
		return nil, err
	}
	err = run(cmd)
	switch complained := complaint.text(hidden); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, errors.New("what it started still holds its output: it may not be whole")
	case err != nil && complained != "":
		return nil, fmt.Errorf("%w: %s", err, complained)
	case err != nil:
		return nil, bare(err)
	}
	return out.kept, nil
}

// run runs the program from start to end on one thread: the kernel tells it of its parent's death when the thread that
// started it ends.
func run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

// environment is the service's own, without what lets a program speak to systemd in the service's name, or open its ledger.
func environment() []string {
	var env []string
	for _, set := range secret.Environ() {
		name, _, _ := strings.Cut(set, "=")
		switch name {
		case "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES":
		default:
			env = append(env, set)
		}
	}
	return env
}

// output keeps what a program prints, as far as a document may be large.
type output struct {
	kept []byte
	full func()
}

func (o *output) Write(p []byte) (int, error) {
	if len(o.kept)+len(p) > Largest {
		o.full()
		return len(p), nil
	}
	o.kept = append(o.kept, p...)
	return len(p), nil
}

// tail keeps the end of what a program complains: more than is shown, so that no secret is cut in two before it is hidden.
type tail struct{ end []byte }

const (
	kept  = 64 << 10
	shown = 500
)

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if len(t.end) > 2*kept { // not each time: moving costs
		t.end = append(t.end[:0], t.end[len(t.end)-kept:]...)
	}
	return len(p), nil
}

// text is the end of the complaint on one line, without secrets and what terminals would obey.
func (t *tail) text(s secret.Texts) string {
	text := s.Hide(string(t.end[max(0, len(t.end)-kept):]))
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	return strings.ToValidUTF8(text[max(0, len(text)-shown):], "")
}
