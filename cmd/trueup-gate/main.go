// Command trueup-gate is what a triggered unit runs around its work: claim before it, settle after its success,
// heal beside it. It faces the spool that a hostile web app may write, so it is small, has no configuration but
// its flags, and starts in about the time of an empty program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"trueup/reconcile/trigger"
)

// version is set by the linker.
var version = "devel"

// Exit codes, from sysexits.h (systemd prints their names).
const (
	exitUsage = 64
	exitState = 74
)

const usage = `usage: trueup-gate claim|settle|heal --spool DIR --state DIR [--outbox DIR]
                   [--floor 30s] [--retry-max 5m] [--sweep 5m] [--path UNIT.path]
                   [--boot ID] [--user]
       trueup-gate --version

claim    ExecStartPre=, first: wait out the floor, then take over what the spool asks for
         --check proves that the folders can be used, and claims nothing
settle   ExecStartPost=, last: the run has succeeded
heal     ExecStopPost=-+: revive the path unit if it is enabled and failed

--boot   identifies this boot to claim and settle, where a sandbox hides it
--user   heal's path unit is a user manager's

The flags of the first two lines are also read from the environment: TRUEUP_SPOOL, TRUEUP_RETRY_MAX and so on.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-version") {
		fmt.Fprintln(stdout, "trueup-gate", version)
		return 0
	}
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	if args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprint(stdout, usage)
		return 0
	}
	verb := args[0]
	o, err := parse(verb, args[1:])
	if err != nil {
		fmt.Fprintf(stderr, "error: %s: %v\nhint: trueup-gate --help\n", verb, err)
		if verb == "claim" && !slices.Contains(args, "--check") {
			holdBack(err)
		}
		return exitUsage
	}
	switch verb {
	case "claim":
		err = claim(o)
	case "settle":
		err = o.gate.Settle(context.Background())
	case "heal":
		err = healPath(o)
	}
	if err != nil {
		fmt.Fprintf(stderr, "error: %s: %v\n", verb, err)
		return exitState
	}
	return 0
}

type options struct {
	gate  trigger.Gate
	path  string
	user  bool
	check bool
}

func parse(verb string, args []string) (options, error) {
	if verb != "claim" && verb != "settle" && verb != "heal" {
		return options{}, errors.New("unknown verb: want claim, settle or heal")
	}
	o := options{gate: trigger.Gate{
		Policy:     trigger.DefaultPolicy(),
		Invocation: os.Getenv("INVOCATION_ID"),
		Tell:       tell,
	}}
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.gate.Folders.Spool, "spool", "", "")
	flags.StringVar(&o.gate.Folders.State, "state", "", "")
	flags.StringVar(&o.gate.Folders.Outbox, "outbox", "", "")
	flags.DurationVar(&o.gate.Policy.Floor, "floor", o.gate.Policy.Floor, "")
	flags.DurationVar(&o.gate.Policy.RetryMax, "retry-max", o.gate.Policy.RetryMax, "")
	flags.DurationVar(&o.gate.Policy.Sweep, "sweep", o.gate.Policy.Sweep, "")
	flags.StringVar(&o.path, "path", "", "")
	flags.BoolVar(&o.check, "check", false, "")
	flags.BoolVar(&o.user, "user", false, "")
	var boot string
	flags.StringVar(&boot, "boot", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if verb != "heal" { // which may run as root, in a unit whose environment is its user's
		if err := fromEnvironment(flags); err != nil {
			return o, err
		}
	}
	o.gate.Clock = trigger.SystemClock{BootID: boot}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if unit, found := strings.CutSuffix(o.path, ".path"); found {
		o.gate.Unit = unit + ".service"
	}
	o.gate.Log = logOf(o.gate.Unit)
	if verb == "heal" && o.path == "" {
		return o, errors.New("the path unit is not given: use --path UNIT.path")
	}
	if verb == "heal" {
		return o, nil
	}
	return o, errors.Join(o.gate.Folders.Validate(), o.gate.Policy.Validate())
}

// settings are the flags that the environment may set: what a trigger is, not what is done this once.
var settings = []string{"spool", "state", "outbox", "floor", "retry-max", "sweep", "path"}

// fromEnvironment sets each setting that the command line leaves out and whose TRUEUP_ variable is there.
func fromEnvironment(flags *flag.FlagSet) (err error) {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		if given[f.Name] || !slices.Contains(settings, f.Name) {
			return
		}
		name := "TRUEUP_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := os.Getenv(name); value != "" {
			if setErr := f.Value.Set(value); setErr != nil {
				err = errors.Join(err, fmt.Errorf("%s=%q: %w", name, value, setErr))
			}
		}
	})
	return err
}

// claim exits well when the state folder refuses a claim: the run is to go on, and is asked for again. A stop ends it by the
// signal itself: at each step a kill leaves either the requests or the claim, and to catch signals takes Go half a
// millisecond of every touch.
func claim(o options) error {
	if o.check {
		return errors.Join(o.gate.Check(context.Background()), reachManager())
	}
	if _, err := o.gate.Claim(context.Background()); !errors.Is(err, trigger.ErrUnrecorded) {
		return err
	}
	return nil
}
