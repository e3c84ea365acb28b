package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

func approveVerb(u *ui) *cobra.Command {
	var w which
	var by, digest string
	var lasts time.Duration
	var asJSON, otherLedger bool
	c := &cobra.Command{
		Use:   "approve [flags] RUN",
		Short: "allow what a run held back, once",
		Long: `allow what a run held back: those very changes, each once

It asks for a sweep of the target, which does them. Other changes that come to wait need an approval of
their own. trueup show RUN shows what is approved.`,
		Example: "  trueup approve r-7f3k2",
		Args:    exactly(1, "one run"),
	}
	w.flags(c)
	c.Flags().StringVar(&by, "by", "", "`NAME` of who approves (the user who calls)")
	c.Flags().StringVar(&digest, "digest", "", "approve only if this is still the `DIGEST` of what waits, as show --json prints it")
	durationFlag(c, &lasts, "for", 24*time.Hour, "how long `D` the approval lasts")
	otherLedgerFlag(c, &otherLedger)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if lasts <= 0 {
			return usageError("as in --for 24h", "approve: --for %s: want a time above zero", lasts)
		}
		if err := oneLineFlag(c, "by", by); err != nil {
			return err
		}
		return judge(c.Context(), u, w, args[0], otherLedger, asJSON, "approved", func(s *site, run reconcile.RunID) (judgedJSON, error) {
			changes, err := plan.Approve(c.Context(), s.ledger, plan.Allowance{Run: run, By: caller(by), Digest: digest, For: lasts})
			return judgedJSON{Changes: changes}, err
		})
	}
	return c
}

func rejectVerb(u *ui) *cobra.Command {
	var w which
	var by, reason string
	var asJSON, otherLedger bool
	c := &cobra.Command{
		Use:   "reject [flags] RUN",
		Short: "say that what a run held back is not wanted",
		Long: `say that what a run held back is not wanted: it stays undone, and nobody is asked about those changes again

After trueup approve it takes the approval back. Where a part was done under it by then it says which, and the
rest is raised anew, by another run.`,
		Example: "  trueup reject r-7f3k2 --reason 'they are on leave'",
		Args:    exactly(1, "one run"),
	}
	w.flags(c)
	c.Flags().StringVar(&by, "by", "", "`NAME` of who rejects (the user who calls)")
	c.Flags().StringVar(&reason, "reason", "", "why, as a `TEXT` for those who read the run")
	otherLedgerFlag(c, &otherLedger)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := errors.Join(oneLineFlag(c, "by", by), oneLineFlag(c, "reason", reason)); err != nil {
			return err
		}
		return judge(c.Context(), u, w, args[0], otherLedger, asJSON, "rejected", func(s *site, run reconcile.RunID) (judgedJSON, error) {
			r, err := plan.Reject(c.Context(), s.ledger, run, caller(by), reason)
			return judgedJSON{Changes: r.Left, Done: r.Done, Running: r.Running}, err
		})
	}
	return c
}

// judgedJSON is what approve --json and reject --json print.
type judgedJSON struct {
	Version int             `json:"version"`
	Run     reconcile.RunID `json:"run"`
	Target  reconcile.Key   `json:"target"`
	Verdict string          `json:"verdict"`
	Changes reconcile.Plan  `json:"changes"`
	// Done was done under an approval that was taken back, and Running may still do the change that it is at.
	Done    reconcile.Plan  `json:"done,omitempty"`
	Running reconcile.RunID `json:"running,omitempty"`
}

// judge records a person's word, and asks for the target.
func judge(ctx context.Context, u *ui, w which, name string, otherLedger, asJSON bool, verdict string,
	word func(*site, reconcile.RunID) (judgedJSON, error)) error {
	s, err := w.act(ctx, holderName(verdict))
	if err != nil {
		return err
	}
	defer s.close()
	h, err := s.history(ctx, name)
	if err != nil {
		return err
	}
	if err := w.sameLedger(ctx, s, h.Lease.Scopes, otherLedger); err != nil {
		return err
	}
	d, err := word(s, h.Lease.Run)
	if _, refused := errors.AsType[*plan.RefusedError](err); refused {
		return fail(exitNeeds, "", "%w", err)
	}
	if err != nil {
		return err
	}
	d.Version, d.Run, d.Target, d.Verdict = 1, h.Lease.Run, h.Lease.Target, verdict
	if asJSON {
		err = sayJSON(u, d)
	} else {
		d.say(u)
	}
	if touchErr := s.engine.Trigger.Notify(ctx, h.Lease.Target); touchErr != nil {
		u.warning("no sweep could be asked for (%v); the next one heeds it, or trueup tick %s", touchErr, h.Lease.Target)
	}
	return err
}

func (d judgedJSON) say(u *ui) {
	u.say("%s   %s of %s: %s", d.Verdict, counted(len(d.Changes), "change"), d.Target, changesLine(d.Changes))
	if len(d.Done) > 0 {
		u.warning("%s done before: %s", wasText(len(d.Done)), changesLine(d.Done))
	}
	if d.Running != "" {
		u.warning("run %s is on; the change that it is at may be done all the same: trueup show %[1]s", d.Running)
	}
}

// wasText is a number of changes and what became of them.
func wasText(n int) string {
	if n == 1 {
		return "1 change was"
	}
	return counted(n, "change") + " were"
}

// oneLineFlag refuses text that would pass for more than one line of a run's story.
func oneLineFlag(c *cobra.Command, name, value string) error {
	if printable(value) != value {
		return usageError("say it in one line of plain text", "%s: --%s %s", c.Name(), name, printable(value))
	}
	return nil
}

// caller is who says so: as named, or the user behind sudo, or this one.
func caller(by string) string {
	if by != "" {
		return by
	}
	if sudo := os.Getenv("SUDO_USER"); sudo != "" {
		return sudo
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// history reads a run by its name on the command line.
func (s *site) history(ctx context.Context, name string) (reconcile.History, error) {
	events, err := s.ledger.Events(ctx, reconcile.RunID(name))
	if errors.Is(err, reconcile.ErrNoRun) {
		return reconcile.History{}, usageError("trueup history lists the runs", "%s: there is no such run", printable(name))
	}
	if err != nil {
		return reconcile.History{}, err
	}
	return reconcile.Fold(events)
}

// holds are what waits for an answer, by target; none while there is no ledger.
func (s *site) holds(ctx context.Context) (map[reconcile.Key]plan.Hold, error) {
	waiting, err := plan.Waiting(ctx, s.records(), "")
	holds := make(map[reconcile.Key]plan.Hold, len(waiting))
	for _, h := range waiting {
		holds[h.Target] = h
	}
	return holds, err
}
