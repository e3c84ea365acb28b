package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

const (
	exitHeld     = 3  // the breaker holds a part of the plan
	exitReserved = 75 // somebody else holds the target
)

func tickVerb(u *ui) *cobra.Command {
	var w which
	var asJSON, otherLedger bool
	c := &cobra.Command{
		Use:   "tick [flags] KIND:NAME",
		Short: "true up one target now",
		Long: `true up one target now, asked for or not

It exits 0 when what is wanted is so, 1 when the tick failed, 3 when a part of the plan waits for approval,
and 75 when somebody else holds the target; then it stays owed, and whoever gives it back looks for it.
It refuses with 69 where the installed service keeps the target in another ledger than the configuration.`,
		Example: "  trueup tick command:proxy",
		Args:    exactly(1, "one target"),
	}
	w.flags(c)
	otherLedgerFlag(c, &otherLedger)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := refuseWithinRun(c); err != nil {
			return err
		}
		s, err := w.act(c.Context(), holderName("tick"))
		if err != nil {
			return err
		}
		defer s.close()
		t, err := s.declared(args[0])
		if err != nil {
			return err
		}
		if err := w.sameLedger(c.Context(), s, t.Holds(), otherLedger); err != nil {
			return err
		}
		if err := s.join(c.Context(), "ticking "+string(t.Key)); err != nil {
			return err
		}
		return s.tick(c.Context(), u, t, asJSON)
	}
	return c
}

func (s *site) tick(ctx context.Context, u *ui, t reconcile.Target, asJSON bool) error {
	report, err := s.engine.Tick(ctx, t.Key, "asked by trueup tick")
	if reserved, ok := errors.AsType[*reconcile.ReservedError](err); ok {
		if asJSON {
			if err := sayJSON(u, tickJSON{1, t.Key, reconcile.Report{State: reconcile.Elsewhere, Note: reserved.Error()}}); err != nil {
				return err
			}
		}
		return fail(exitReserved, "it is owed, and ticked as soon as it is given back", "ticking %s: %w", t.Key, reserved)
	}
	if errors.Is(err, reconcile.ErrUnfit) {
		return fail(exitReserved, "trueup node list"+s.which.again()+" says which nodes may", "%w", err)
	}
	if err != nil {
		return s.shutOut("ticking "+string(t.Key), err)
	}
	if _, showErr := s.showTargets(ctx, nil, reconcile.Outcome{}); showErr != nil {
		return showErr
	}
	if asJSON {
		if err := sayJSON(u, tickJSON{1, t.Key, report}); err != nil {
			return err
		}
	} else if report.State == reconcile.OK || report.State == reconcile.Held {
		u.say("%s   %s", t.Key, reportLine(report))
	}
	if report.Held != "" { // who called has been told
		if err := s.told(ctx, t.Key); err != nil {
			return err
		}
	}
	switch report.State {
	case reconcile.OK:
		return nil
	case reconcile.Held:
		return &failure{code: exitHeld}
	}
	return fail(exitNeeds, showHint(report), "%s: %s: %s", t.Key, report.State, oneLineOf(report.Note))
}

// refuseWithinRun refuses to tick from within a tick: a command that asked for its own target would have it ticked for ever.
func refuseWithinRun(c *cobra.Command) error {
	if run := os.Getenv("TRUEUP_RUN"); run != "" {
		return usageError("a command says what is due and does it; the sweep that runs it does the rest",
			"%s: run %s is on, and this is a command of it", c.Name(), printable(run))
	}
	return nil
}

// tickJSON is what tick --json prints.
type tickJSON struct {
	Version int           `json:"version"`
	Target  reconcile.Key `json:"target"`
	reconcile.Report
}

// told notes that somebody knows what waits for approval: no sweep raises the alarm.
func (s *site) told(ctx context.Context, target reconcile.Key) error {
	holds, err := plan.Waiting(ctx, s.ledger, target)
	for _, h := range holds {
		err = errors.Join(err, h.Tell(ctx, s.ledger))
	}
	return err
}

func reportLine(r reconcile.Report) string {
	line := string(r.State)
	if r.Note != "" {
		line += " · " + oneLineOf(r.Note)
	}
	if r.Changes > 0 {
		line += " · " + counted(r.Changes, "change")
	}
	if r.Run != "" {
		line += "   trueup show " + string(r.Run)
	}
	if r.Held != "" {
		line += " · trueup approve " + string(r.Held)
	}
	return line
}

func showHint(r reconcile.Report) string {
	var do []string
	if r.Run != "" {
		do = append(do, "trueup show "+string(r.Run), "trueup logs "+string(r.Run))
	}
	if r.Held != "" {
		do = append(do, "trueup approve "+string(r.Held))
	}
	return strings.Join(do, "; ")
}
