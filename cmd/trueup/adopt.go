package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"trueup/units"
)

func adoptVerb(u *ui) *cobra.Command {
	var a units.Adoption
	var user, asJSON bool
	c := &cobra.Command{
		Use:   "adopt [flags] UNIT.service",
		Short: "give a oneshot service a prompt trigger",
		Long: `give a oneshot service that already exists a prompt, safe trigger

It adds a path unit, one drop-in, three folders, and a five-minute timer when nothing else triggers
the service; the service file and its timer stay as they are. Adopting again changes only what
differs: a flag that is left out keeps what was adopted before. trueup unadopt takes it all away again.`,
		Example: "  sudo trueup adopt web-reconciler.service --web-group web",
		Args:    exactly(1, "one UNIT.service"),
	}
	f := c.Flags()
	f.BoolVar(&user, "user", false, "a unit of your own systemd --user")
	f.StringVar(&a.Folders.Spool, "spool", "", "the spool `DIR`, which the web app writes (/var/lib/trueup/NAME/spool)")
	f.StringVar(&a.Folders.State, "state", "", "the state `DIR`, which is trueup's own (…/state)")
	f.StringVar(&a.Folders.Outbox, "outbox", "", "the outbox `DIR`, which the web app reads (…/outbox)")
	f.DurationVar(&a.Policy.Floor, "floor", 0, "least time `D` between a run and the next (30s)")
	f.DurationVar(&a.Policy.RetryMax, "retry-max", 0, "longest wait `D` after failures (5m)")
	f.StringVar(&a.WebGroup, "web-group", "", "the `GROUP` that may write the spool")
	f.BoolVar(&a.NoTimer, "no-timer", false, "add no timer, even if none triggers the unit; --no-timer=false takes that back")
	f.BoolVar(&a.Replace, "replace", false, "put a UNIT.path that is not trueup's aside; unadopt brings it back")
	f.BoolVar(&a.DryRun, "dry-run", false, "change nothing, only say what would change")
	f.BoolVar(&a.NoStart, "no-start", false, "write everything, enable and start nothing")
	f.BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		a.Unit = args[0]
		if err := nothingEmpty(c); err != nil {
			return err
		}
		a.AddTimer = c.Flags().Changed("no-timer") && !a.NoTimer
		for _, dir := range []*string{&a.Folders.Spool, &a.Folders.State, &a.Folders.Outbox} {
			if *dir != "" {
				*dir, _ = filepath.Abs(*dir)
			}
		}
		m, err := manager(c.Context(), user)
		if err != nil {
			return err
		}
		defer m.Close()
		changes, err := m.Adopt(c.Context(), a)
		if err == nil && asJSON {
			return sayJSON(u, installedDocument(changes, units.Installation{Adoption: a}))
		}
		if err != nil {
			if !changes.None() && !asJSON {
				sayDone(u, changes, a.DryRun) // what was done before it went wrong
			}
			return adoptError("adopting", err)
		}
		sayAdopted(u, changes, a)
		return nil
	}
	return c
}

// nothingEmpty refuses flags that were given and say nothing: left out, they keep what was adopted before.
func nothingEmpty(c *cobra.Command) error {
	for _, name := range []string{"spool", "state", "outbox", "floor", "retry-max", "web-group"} {
		if f := c.Flags().Lookup(name); f.Changed && (f.Value.String() == "" || f.Value.String() == "0s") {
			return usageError("leave it out to keep what was adopted before, or the default", "adopt: --%s is given, and empty", name)
		}
	}
	return nil
}

func sayAdopted(u *ui, c units.Changes, wish units.Adoption) {
	timer := "; its timer too"
	switch {
	case timerMade(c):
		timer = "; nothing else triggers it, so it gets a timer"
	case c.OwnTimer:
		timer = "; trueup's timer triggers it too"
	case len(c.Timers) == 0:
		timer = "; no timer"
	}
	u.say("%s   oneshot, unchanged%s", c.Adoption.Unit, timer)
	sayTrigger(u, c, wish)
}

// timerMade tells whether the unit had no timer so far.
func timerMade(c units.Changes) bool {
	return slices.ContainsFunc(c.Done, func(d units.Change) bool {
		return d.Op == units.Create && filepath.Base(d.What) == c.Adoption.Timer()
	})
}

// sayTrigger says what was done to the trigger, how to use it and how to do without.
func sayTrigger(u *ui, c units.Changes, wish units.Adoption) {
	sayDone(u, c, wish.DryRun)
	systemctl := "systemctl "
	if c.User {
		systemctl += "--user "
	}
	switch {
	case wish.DryRun:
	case wish.NoStart:
		u.say("not started: %senable --now %s", systemctl, quoted(c.Adoption.Path()))
	default:
		u.say("ready: touch %s   (mount spool/ into the container, outbox/ read-only)", quoted(c.Adoption.Folders.Spool+"/sentinel"))
		if c.Adoption.WebGroup == "" && !c.User {
			u.say("only root and the service's user may ask; --web-group GROUP lets the web app")
		}
	}
	u.say("back out: %s", c.BackOut())
	for _, w := range c.Warnings {
		u.warning("%s", w)
	}
}

// sayDone lists the changes, in the order in which they were made.
func sayDone(u *ui, c units.Changes, dry bool) {
	if c.None() {
		u.say("nothing to change")
	}
	for _, line := range doneLines(c) {
		if dry {
			line = "would " + line
		}
		u.say("%s", line)
	}
}

// doneLines folds the folders into one line, as a shell would write them.
func doneLines(c units.Changes) (lines []string) {
	folders := []string{c.Adoption.Folders.Spool, c.Adoption.Folders.State, c.Adoption.Folders.Outbox}
	folded := map[units.Op]bool{}
	for _, change := range c.Done {
		isFolder := slices.Contains(folders, change.What)
		switch {
		case change.What == folders[0]+"/requests": // part of the spool
		case isFolder && folded[change.Op]:
		case isFolder:
			folded[change.Op] = true
			for _, group := range foldedFolders(c, change.Op, folders) {
				lines = append(lines, marks(change.Op)+group)
			}
		default:
			lines = append(lines, marks(change.Op)+change.What)
		}
	}
	return lines
}

// foldedFolders writes those of the folders that the operation was done to, by their parents.
func foldedFolders(c units.Changes, op units.Op, folders []string) (groups []string) {
	names := map[string][]string{}
	var parents []string
	for _, f := range folders {
		if slices.Contains(c.Done, units.Change{Op: op, What: f}) {
			parent := filepath.Dir(f)
			if len(names[parent]) == 0 {
				parents = append(parents, parent)
			}
			names[parent] = append(names[parent], filepath.Base(f))
		}
	}
	for _, parent := range parents {
		group := filepath.Join(parent, strings.Join(names[parent], ","))
		if len(names[parent]) > 1 {
			group = filepath.Join(parent, "{"+strings.Join(names[parent], ",")+"}")
		}
		groups = append(groups, group)
	}
	return groups
}

// marks is how an operation looks: a sign for what lies on the disk, a word for the rest.
func marks(op units.Op) string {
	switch op {
	case units.Create, units.Restore:
		return "+ "
	case units.Update:
		return "~ "
	case units.Remove:
		return "- "
	}
	return op.String() + " "
}

// adoptError gives a refusal its exit code and its way out.
func adoptError(doing string, err error) error {
	if refusal, ok := errors.AsType[*units.Refusal](err); ok {
		return fail(exitUnadoptable, refusal.Hint, "%s %s: %s", doing, refusal.Unit, refusal.Reason)
	}
	if usage, ok := errors.AsType[*units.UsageError](err); ok {
		return fail(exitUsage, usage.Hint, "%s: %w", doing, err)
	}
	if folder, ok := errors.AsType[*units.FolderError](err); ok {
		return fail(exitState, folder.Hint, "%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}
