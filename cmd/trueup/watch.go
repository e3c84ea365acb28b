package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

type watchOptions struct {
	where
	policy  trigger.Policy
	timeout time.Duration
	json    bool
}

func watchVerb(u *ui) *cobra.Command {
	o := &watchOptions{policy: trigger.DefaultPolicy()}
	c := &cobra.Command{
		Use:   "watch [flags] -- COMMAND [ARG…]",
		Short: "run a command when it is asked for, without systemd",
		Long: `run a command when it is asked for: the same trigger without systemd, for containers, for
development, for hosts that have none

The command finds what it was asked for in TRUEUP_CLAIM, TRUEUP_ATTEMPT, TRUEUP_ALL and
TRUEUP_REQUESTS. Exit 0 is a success; after anything else it is run again, with a backoff.
What it leaves behind in its process group is killed. Every flag that names a folder or a policy is
also read from the environment: TRUEUP_SPOOL, TRUEUP_RETRY_MAX and so on.`,
		Example: "  trueup watch --spool spool --state state --outbox outbox -- ./reconcile",
	}
	o.spoolFlag(c)
	o.stateFlag(c)
	o.outboxFlag(c)
	durationFlag(c, &o.policy.Floor, "floor", o.policy.Floor, "least time `D` between a run and the next")
	durationFlag(c, &o.policy.RetryMax, "retry-max", o.policy.RetryMax, "longest wait `D` after failures")
	durationFlag(c, &o.policy.Sweep, "sweep", o.policy.Sweep, "run at least every `D`, asked or not")
	c.Flags().DurationVar(&o.timeout, "timeout", 0, "kill a run after `D`, which then has failed; 0 lets it run")
	c.Flags().BoolVar(&o.json, "json", false, "log one JSON object a line")
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 || c.ArgsLenAtDash() != 0 {
			return usageError("trueup watch [flags] -- COMMAND [ARG…]", "watch: want a command after --")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, command []string) error { return watch(u, c, o, command) }
	return c
}

func watch(u *ui, c *cobra.Command, o *watchOptions, command []string) error {
	if err := fromEnvironment(c, "floor", "retry-max", "sweep"); err != nil {
		return err
	}
	if err := refuseNegative(c, o.timeout); err != nil {
		return err
	}
	if _, err := o.byFolders(c); err != nil {
		return err
	}
	folders := trigger.Folders{Spool: o.spool, State: o.state, Outbox: o.outbox}
	if err := errors.Join(folders.Validate(), o.policy.Validate()); err != nil {
		return usageError("see trueup watch --help", "%w", err)
	}
	if err := lookUp("watch", command[0]); err != nil {
		return err
	}
	if err := errors.Join(makeFolders(u, folders), refuseNested(folders)); err != nil {
		return err
	}
	log := func(e trigger.Event) {
		e.Message = printable(e.Message) // a claim's names come from a file
		trigger.Journal(e)
	}
	if o.json {
		log = logJSON(json.NewEncoder(u.err))
	}
	runner := runner{command: command, timeout: o.timeout, log: log}
	watcher := trigger.Watcher{
		Gate: trigger.Gate{Folders: folders, Policy: o.policy, Clock: trigger.SystemClock{}, Log: log,
			Tell: func(string, time.Duration) {}},
		Run: runner.run,
	}
	return watcher.Watch(c.Context())
}

// makeFolders makes what is missing, and says so.
func makeFolders(u *ui, f trigger.Folders) error {
	for _, dir := range []struct {
		path string
		mode os.FileMode
	}{{f.Spool, 0o755}, {f.State, 0o700}, {f.Outbox, 0o755}} {
		if _, err := os.Stat(dir.path); dir.path == "" || err == nil {
			continue
		}
		err := os.MkdirAll(dir.path, 0o755)
		if err == nil {
			err = os.Chmod(dir.path, dir.mode) // whatever the umask
		}
		if err != nil {
			return fmt.Errorf("making the folder: %w", err)
		}
		u.note("made %s", dir.path)
	}
	return nil
}

// refuseNested refuses a folder that leads into another one through links or bind mounts, which its name does not show.
func refuseNested(f trigger.Folders) error {
	dirs := slices.DeleteFunc([]string{f.Spool, f.State, f.Outbox}, func(dir string) bool { return dir == "" })
	for _, a := range dirs {
		for _, b := range dirs {
			if a != b && inside(a, b) {
				return usageError("give three folders side by side", "watch: %s lies in %s", a, b)
			}
		}
	}
	return nil
}

// inside tells whether a folder is the other or lies in it.
func inside(path, dir string) bool {
	want, err := os.Stat(dir)
	path, linkErr := filepath.EvalSymlinks(path)
	if err != nil || linkErr != nil {
		return false // the watch says what is missing
	}
	for ; ; path = filepath.Dir(path) {
		if is, err := os.Stat(path); err == nil && os.SameFile(is, want) {
			return true
		}
		if path == "/" {
			return false
		}
	}
}

// logJSON logs events for programs: version 1, one object a line.
func logJSON(to *json.Encoder) func(trigger.Event) {
	return func(e trigger.Event) {
		_ = to.Encode(logged{1, time.Now(), e.ID, int(e.Priority), e.Message, e.Fields}) // nobody to tell
	}
}

// logged is one line of watch --json.
type logged struct {
	Version  int               `json:"version"`
	Time     time.Time         `json:"time"`
	ID       string            `json:"message_id"`
	Priority int               `json:"priority"`
	Message  string            `json:"message"`
	Fields   map[string]string `json:"fields,omitempty"`
}

func runFailed(claim trigger.Claim, err error) trigger.Event {
	what := fmt.Sprintf("the run of claim %d failed: %v", claim.N, err)
	if claim.N == 0 {
		what = fmt.Sprintf("the run failed: %v", err)
	}
	return trigger.Event{ID: trigger.MsgFailed, Priority: journal.PriWarning, Message: what + "; it is run again", Fields: claimFields(claim)}
}

// stopping tells a run that was told to stop from one that failed by itself.
func stopping(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

func (f facts) needsOfWatch(need need) {
	switch {
	case f.systemd != nil:
	case f.watch == watchOff:
		need(f.watchAgain(), "stopped: no trueup watch runs on %s", f.folders.State)
	case f.lockErr != nil:
		need("rm "+quoted(f.folders.State+"/watch.lock"), "damaged: %s, so nobody can tell whether trueup watch runs", oneLine(f.lockErr))
	}
}

// watchAgain is the command that watches the folders again, as far as they are known.
func (f facts) watchAgain() string {
	outbox := ""
	if f.folders.Outbox != "" {
		outbox = " --outbox " + quoted(f.folders.Outbox)
	}
	spool := "DIR"
	if f.folders.Spool != "" {
		spool = quoted(f.folders.Spool)
	}
	return "trueup watch --spool " + spool + " --state " + quoted(f.folders.State) + outbox + " -- COMMAND"
}
