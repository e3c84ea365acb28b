package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

const (
	exitHeld     = 3  // the breaker holds a part of the plan
	exitReserved = 75 // somebody else holds the target
)

func tickVerb(u *ui) *cobra.Command {
	var w which
	var asJSON bool
	c := &cobra.Command{
		Use:   "tick [flags] KIND:NAME",
		Short: "true up one target now",
		Long: `true up one target now, asked for or not

It exits 0 when what is wanted is so, 1 when the tick failed, 3 when a part of the plan waits for approval,
and 75 when somebody else holds the target; then it stays owed, and whoever gives it back looks for it.`,
		Example: "  trueup tick command:proxy",
		Args:    exactly(1, "one target"),
	}
	w.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := w.open(c.Context(), holderName("tick"))
		if err != nil {
			return err
		}
		defer s.close()
		return s.tick(c.Context(), u, args[0], asJSON)
	}
	return c
}

func (s *site) tick(ctx context.Context, u *ui, name string, asJSON bool) error {
	t, err := s.declared(name)
	if err != nil {
		return err
	}
	report, err := s.engine.Tick(ctx, t.Key, "asked by trueup tick")
	if reserved, ok := errors.AsType[*reconcile.ReservedError](err); ok {
		return fail(exitReserved, "it is owed, and ticked as soon as it is given back", "ticking %s: %w", t.Key, reserved)
	}
	if err != nil {
		return err
	}
	if showErr := s.showTargets(ctx, nil, reconcile.Outcome{}); showErr != nil {
		return showErr
	}
	if asJSON {
		if err := sayJSON(u, tickJSON{1, t.Key, report}); err != nil {
			return err
		}
	} else if report.State == reconcile.OK || report.State == reconcile.Held {
		u.say("%s   %s", t.Key, reportLine(report))
	}
	switch report.State {
	case reconcile.OK:
		return nil
	case reconcile.Held:
		return &failure{code: exitHeld}
	}
	return fail(exitNeeds, showHint(report.Run), "%s: %s: %s", t.Key, report.State, oneLineOf(report.Note))
}

// tickJSON is what tick --json prints.
type tickJSON struct {
	Version int           `json:"version"`
	Target  reconcile.Key `json:"target"`
	reconcile.Report
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
	return line
}

func showHint(run reconcile.RunID) string {
	if run == "" {
		return ""
	}
	return fmt.Sprintf("trueup show %s; trueup logs %s", run, run)
}
