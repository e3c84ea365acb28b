package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"trueup/reconcile/plan"
	"trueup/reconcile/secret"
)

// A call is one use of one of the commands.
type call struct {
	name    string // of the stream in the ledger: "check", "apply user:ada"
	command Command
	change  string // the id of the change that is applied
	stdin   []byte
	keep    bool // stdout is an answer, not a log
}

// An outcome is how a call went that ended by itself.
type outcome struct {
	exit    int
	printed string // for people: bounded, readable, without secrets
	stdout  []byte // where it was kept
	secrets secret.Texts
}

// run runs a command and logs what it printed, however it ended.
func (k *Kind) run(ctx context.Context, in plan.Input, c call) (outcome, error) {
	env, forget, err := k.environment(in, c)
	if err != nil {
		return outcome{}, fmt.Errorf("preparing %s: %w", c.name, err)
	}
	defer forget()
	hidden, err := secret.Known(env, k.settings.Redact)
	if err != nil {
		return outcome{}, fmt.Errorf("preparing %s: %w", c.name, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	log, stdout := &capture{}, &whole{limit: maxPlan, over: func() { stop(errTooMuch) }}
	p := program{argv: c.command.argv(), dir: k.settings.Dir, env: env, stdin: c.stdin, grace: k.grace}
	exit, strays, err := p.listen(ctx, log, stdout, c.keep)
	out := outcome{exit: exit, printed: log.text(hidden), stdout: stdout.data, secrets: hidden}
	if len(strays) > 0 {
		out.printed += "trueup: killed what " + c.name + " left behind: " + strings.Join(strays, ", ") + "\n"
	}
	if out.printed != "" {
		in.Log(c.name, out.printed)
	}
	if err != nil {
		return out, fmt.Errorf("running %s: %w%s", c.name, err, out.last())
	}
	return out, nil
}

// listen runs the program and reads what it prints. Its log takes both streams in the order of their coming, unless
// stdout is kept apart.
func (p program) listen(ctx context.Context, log, stdout io.Writer, apart bool) (exit int, strays []string, err error) {
	var readers []*reader
	open := func(to io.Writer) (*os.File, error) {
		r, w, err := os.Pipe()
		if err == nil {
			readers = append(readers, read(r, to))
		}
		return w, err
	}
	if p.stderr, err = open(log); err != nil {
		return 0, nil, err
	}
	p.stdout = p.stderr
	if apart {
		p.stdout, err = open(stdout)
	}
	if err == nil {
		exit, strays, err = p.supervise(ctx)
	}
	p.stderr.Close()
	p.stdout.Close()
	for _, r := range readers {
		r.finish()
	}
	return exit, strays, err
}

// A reader copies a pipe until its last writer has closed it.
type reader struct {
	from *os.File
	done chan struct{}
}

func read(from *os.File, to io.Writer) *reader {
	r := &reader{from: from, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		_, _ = io.Copy(to, from) // the writers take everything, and the end of the pipe is no error
	}()
	return r
}

// finish waits for the rest. A process that has left the group may hold the pipe for ever: it is not waited for.
func (r *reader) finish() {
	_ = r.from.SetReadDeadline(time.Now().Add(time.Second))
	<-r.done
	r.from.Close()
}

// environment is the service's own, without what speaks of the service itself or opens its ledger, and with what a command may want to know
// of the run. The policy lies in a private file, until it is forgotten.
func (k *Kind) environment(in plan.Input, c call) (env []string, forget func(), err error) {
	env = slices.DeleteFunc(secret.Environ(), func(set string) bool {
		name, _, _ := strings.Cut(set, "=")
		return strings.HasPrefix(name, "TRUEUP_") ||
			slices.Contains([]string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}, name)
	})
	for name, value := range k.settings.Env {
		env = append(env, name+"="+value)
	}
	env = append(env, "TRUEUP_TARGET="+string(in.Target.Key))
	if in.Run != "" { // empty in a preview
		env = append(env, "TRUEUP_RUN="+string(in.Run), "TRUEUP_FENCE="+strconv.FormatUint(uint64(in.Fence), 10))
	}
	if c.change != "" {
		env = append(env, "TRUEUP_CHANGE="+c.change)
	}
	if in.Policy.Digest == "" {
		return env, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "trueup-policy-")
	if err != nil {
		return nil, nil, fmt.Errorf("making a folder for the policy: %w", err)
	}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, in.Policy.Data, 0o600); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("writing the policy for the command: %w", err), os.RemoveAll(dir))
	}
	return append(env, "TRUEUP_POLICY="+file, "TRUEUP_POLICY_DIGEST="+in.Policy.Digest), func() { _ = os.RemoveAll(dir) }, nil
}
