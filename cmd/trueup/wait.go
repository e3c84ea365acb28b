package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

// lookEvery bounds how late a change is seen where nothing tells of it: a bind mount made anew, inotify exhausted.
const lookEvery = 2 * time.Second

func waitVerb(u *ui) *cobra.Command {
	var w where
	var targets []string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait [flags] TICKET",
		Short: "wait until a ticket is covered",
		Long: `wait until a ticket is covered: until a run has succeeded that read the world after the ticket
was taken

Behind trueup sweep each target has a number of its own: with --target only those have to cover the
ticket. It exits 75 when it gives up.`,
		Example: `  trueup wait --timeout 1m "$(trueup touch)"`,
		Args:    exactly(1, "one TICKET, as trueup touch prints it"),
	}
	w.unitFlags(c)
	w.outboxFlag(c)
	c.Flags().StringArrayVar(&targets, "target", nil, "wait for this `KIND:NAME` only; may be repeated")
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after `D`, with exit code 75; 0 waits for ever")
	c.RunE = func(c *cobra.Command, args []string) error {
		ticket, err := trigger.ParseTicket(args[0])
		if err != nil {
			return usageError("see trueup touch --help", "wait: %w", err)
		}
		if err := refuseNegative(c, timeout); err != nil {
			return err
		}
		p, err := w.one(c.Context(), c)
		if err != nil {
			return err
		}
		shown, err := await(c.Context(), p.folders.Outbox, ticket, targets, timeout)
		if err == nil {
			u.say("%s", coveredLines(shown, targets, time.Now()))
		}
		return err
	}
	return c
}

// covers tells whether a ticket is covered for these targets; for all where none are named, or not all of them are shown.
func covers(s trigger.Status, t trigger.Ticket, targets []string) bool {
	if s.Covers(t) {
		return true
	}
	for _, name := range targets {
		if !s.CoversTarget(name, t) {
			return false
		}
	}
	return len(targets) > 0
}

func coveredLines(s trigger.Status, targets []string, now time.Time) string {
	if len(targets) == 0 {
		return coveredLine(s, now)
	}
	return "covered  " + list(targets)
}

// refuseNegative refuses a --timeout that is over before it begins: a slip, which would be taken for none.
func refuseNegative(c *cobra.Command, timeout time.Duration) error {
	if timeout < 0 {
		return usageError("give a time such as 1m, or leave it out", "%s: --timeout %s is negative", c.Name(), timeout)
	}
	return nil
}

// await returns once the outbox shows the ticket as covered. An outbox that was there may be gone for a while.
func await(ctx context.Context, outbox string, t trigger.Ticket, targets []string, timeout time.Duration) (trigger.Status, error) {
	changed, stop := watchFolder(outbox)
	defer stop()
	shown, err := readOutbox(outbox)
	if err != nil {
		return shown, err
	}
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for err != nil || !covers(shown, t, targets) {
		select {
		case <-changed:
		case <-look.C:
		case <-late:
			return shown, timedOut(shown, err, t, targets, timeout)
		case <-ctx.Done():
			return shown, ctx.Err()
		}
		if now, readErr := readOutbox(outbox); readErr == nil {
			shown, err = now, nil
		} else {
			err = readErr
		}
	}
	if strange := strangers(shown, targets); len(strange) > 0 {
		return shown, usageError("trueup status, on the host, lists the targets", "waiting for %s: no such target is declared: %s", t, list(strange))
	}
	return shown, nil
}

// strangers are the names that no target has, where each target's own number is shown: a run for everything shows them all.
func strangers(s trigger.Status, names []string) (strange []string) {
	for _, name := range names {
		if _, known := s.Targets[name]; !known && len(s.Targets) > 0 {
			strange = append(strange, name)
		}
	}
	return strange
}

func timedOut(s trigger.Status, err error, t trigger.Ticket, targets []string, timeout time.Duration) error {
	why := fmt.Sprintf("settled is %d and the trigger is %s", s.Settled, s.State)
	if strange := strangers(s, targets); len(strange) > 0 {
		why += ", and no target is shown as " + list(strange)
	}
	if err != nil {
		why = err.Error()
	}
	return fail(exitTimeout, "the request stands: trueup status, on the host, says what holds it up",
		"waiting for %s: not covered after %s; %s", t, span(timeout), why)
}

// readOutbox reads the status and says what it means when there is none.
func readOutbox(outbox string) (trigger.Status, error) {
	if outbox == "" {
		return trigger.Status{}, usageError("add --outbox DIR, or set TRUEUP_OUTBOX", "the outbox is not given")
	}
	s, err := trigger.ReadStatus(outbox)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, fs.ErrNotExist):
		return s, fail(exitConfig, "is it the host's outbox, mounted read-only? trueup adopt and trueup watch make it and its status.json",
			"reading the outbox %s: %w", outbox, err)
	case errors.Is(err, fs.ErrPermission):
		return s, fail(exitPermission, "whoever waits must be able to read the outbox", "reading the outbox %s: %w", outbox, err)
	}
	return s, fail(exitState, "", "reading the outbox %s: %w", outbox, err)
}

// watchFolder tells of changes in a folder, as far as it can be watched.
func watchFolder(path string) (<-chan fsnotify.Event, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	if err := w.Add(path); err != nil {
		w.Close()
		return nil, func() {}
	}
	return w.Events, func() { w.Close() }
}

func coveredLine(s trigger.Status, now time.Time) string {
	if s.CoveredUntil == nil {
		return "covered  nothing yet: no run for everything has succeeded"
	}
	return fmt.Sprintf("covered  everything written before %s (%s)", clock(*s.CoveredUntil, now), ago(*s.CoveredUntil, now))
}
