package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

const exitPending = 2 // there are changes to do

func planVerb(u *ui) *cobra.Command {
	var w which
	var exitCode, asJSON bool
	c := &cobra.Command{
		Use:   "plan [flags] [KIND:NAME]",
		Short: "say what a sweep or tick would do, and do nothing",
		Long: `say what a sweep or tick would do, and do nothing

+ creates, ~ changes, - removes; a ! before the sign waits for approval; ? could not be read, so nothing
is removed. Removals come last and are never folded.`,
		Example: "  trueup plan command:accounts --exit-code",
		Args:    atMostOne("target"),
	}
	w.flags(c)
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 2 when there is something to do")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		target := ""
		if len(args) > 0 {
			target = args[0]
		}
		return plans(c.Context(), u, w, target, exitCode, asJSON)
	}
	return c
}

// planJSON is what plan --json prints of each target.
type planJSON struct {
	Target  reconcile.Key   `json:"target"`
	Changes reconcile.Plan  `json:"changes"`
	Waiting []string        `json:"waiting"` // ids of the changes that wait for approval
	Why     string          `json:"why,omitempty"`
	Run     reconcile.RunID `json:"run,omitempty"` // that holds them back already
	Error   string          `json:"error,omitempty"`
}

type plansJSON struct {
	Version int        `json:"version"`
	Targets []planJSON `json:"targets"`
}

// plans shows what would be done about one target, or all.
func plans(ctx context.Context, u *ui, w which, target string, exitCode, asJSON bool) error {
	s, err := w.look(ctx)
	if err != nil && (s == nil || !errors.Is(err, fs.ErrNotExist)) { // a plan needs no ledger
		return err
	}
	defer s.close()
	targets := s.engine.Targets
	if target != "" {
		one, err := s.declared(target)
		if err != nil {
			return err
		}
		targets = []reconcile.Target{one}
	}
	known, err := s.known(ctx)
	if err != nil {
		return err
	}
	document := plansJSON{Version: 1, Targets: []planJSON{}}
	pending, failed := 0, 0
	for _, t := range targets {
		o, err := s.engine.Tickers[t.Key].(plan.Preview).Preview(ctx, t, known[t.Key], s.records())
		if err != nil {
			failed++
			document.Targets = append(document.Targets, planJSON{Target: t.Key, Changes: reconcile.Plan{}, Waiting: []string{}, Error: err.Error()})
			if !asJSON {
				u.marked(red, "error: ", fmt.Sprintf("%s: %s", t.Key, oneLineOf(err.Error())))
			}
			continue
		}
		pending += len(o.Plan)
		d := planDocument(t.Key, o)
		document.Targets = append(document.Targets, d)
		if !asJSON && (len(o.Plan) > 0 || target != "") {
			u.say("%s", joinLines(planText(d)))
		}
	}
	switch {
	case asJSON:
		if err := sayJSON(u, document); err != nil {
			return err
		}
	case pending == 0 && failed == 0 && target == "":
		u.say("nothing to do for %s", counted(len(targets), "target"))
	}
	switch {
	case failed > 0:
		return &failure{code: exitNeeds}
	case exitCode && pending > 0:
		return &failure{code: exitPending}
	}
	return nil
}

func planDocument(key reconcile.Key, o plan.Outlook) planJSON {
	d := planJSON{Target: key, Changes: append(reconcile.Plan{}, o.Plan...), Waiting: []string{}, Why: o.Why, Run: o.Run}
	for _, c := range o.Wait {
		d.Waiting = append(d.Waiting, c.ID)
	}
	return d
}
