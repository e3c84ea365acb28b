package main

import (
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

func touchVerb(u *ui) *cobra.Command {
	var w where
	var wait bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "touch [flags] [NAME…]",
		Short: "ask for a run, and print the ticket",
		Long: `ask for a run: for everything, or for the named requests alone

It prints the ticket, EPOCH:N, which trueup wait takes. Commit what you want to see live before
you ask. With names --wait waits for those targets where trueup sweep shows each one's own number; else a
ticket is covered by a run for everything, so it may take until the next sweep.`,
		Example: "  trueup touch --unit web-reconciler.service --wait --timeout 1m",
	}
	w.unitFlags(c)
	w.spoolFlag(c)
	w.outboxFlag(c)
	c.Flags().BoolVar(&wait, "wait", false, "wait until the ticket is covered")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: give up after `D`, with exit code 75; 0 waits for ever")
	c.RunE = func(c *cobra.Command, names []string) error {
		if err := refuseNegative(c, timeout); err != nil {
			return err
		}
		p, err := w.one(c.Context(), c)
		if err != nil {
			return err
		}
		ticket, err := request(p.folders, names)
		if err != nil {
			return err
		}
		u.say("%s", ticket)
		if !wait {
			return nil
		}
		shown, err := await(c.Context(), p.folders.Outbox, ticket, names, timeout)
		if err == nil {
			u.note("%s", coveredLines(shown, names, time.Now()))
		}
		return err
	}
	return c
}

// request reads the ticket and touches.
func request(f trigger.Folders, names []string) (trigger.Ticket, error) {
	for _, name := range names {
		if !trigger.ValidRequest(name) {
			return trigger.Ticket{}, usageError("a name has 1 to 200 letters, digits or any of . _ : @ - and begins with a letter or digit",
				"touch: request %q", name)
		}
	}
	if f.Spool == "" {
		return trigger.Ticket{}, usageError("add --spool DIR, or set TRUEUP_SPOOL", "touch: the spool is not given")
	}
	if f.Outbox == "" {
		return trigger.Ticket{}, usageError("add --outbox DIR or set TRUEUP_OUTBOX; to ask without a ticket: touch "+quoted(f.Spool)+"/sentinel",
			"touch: the outbox is not given, and the ticket is read from there")
	}
	if _, err := readOutbox(f.Outbox); err != nil {
		return trigger.Ticket{}, err
	}
	ticket, err := trigger.Request(f, names...)
	if err == nil {
		return ticket, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ticket, fail(exitConfig, "is that the folder that the host watches? trueup adopt and trueup watch make it", "touch: %w", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return ticket, fail(exitPermission, "whoever touches must be able to write the spool: see --web-group of trueup adopt", "touch: %w", err)
	}
	return ticket, fail(exitState, "", "touch: %w", err)
}
