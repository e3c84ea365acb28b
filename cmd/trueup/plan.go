package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"

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
is removed; a · before the sign is left undone. Removals come last and are never folded. What somebody has
rejected does not count for --exit-code.`,
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
	Target   reconcile.Key   `json:"target"`
	Changes  reconcile.Plan  `json:"changes"`
	Waiting  []string        `json:"waiting"` // ids of the changes that wait for approval, or were rejected
	Later    []string        `json:"later"`   // ids of the changes that are left alone until everything can be read
	Why      string          `json:"why,omitempty"`
	Run      reconcile.RunID `json:"run,omitempty"`      // that holds them back already
	Rejected string          `json:"rejected,omitempty"` // who does not want what waits
	Error    string          `json:"error,omitempty"`

	stack []byte // of a panic
}

type plansJSON struct {
	Version int        `json:"version"`
	Targets []planJSON `json:"targets"`
}

// plans shows what would be done about one target, or all, each as soon as those before it are shown.
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
	pending, failed, shown := 0, 0, 0
	for d := range s.previews(ctx, targets, known) {
		document.Targets = append(document.Targets, d)
		pending += d.pending()
		if d.Error != "" {
			failed++
		}
		if !asJSON && (d.Error != "" || len(d.Changes) > 0 || target != "") {
			shown++
			d.show(u)
		}
		if d.stack != nil {
			for line := range strings.Lines(string(d.stack)) {
				u.note("%s", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	switch {
	case asJSON:
		if err := sayJSON(u, document); err != nil {
			return err
		}
	case shown == 0:
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

// previews finds out what would be done about targets, as many at once as a sweep ticks, and gives it in their order.
func (s *site) previews(ctx context.Context, targets []reconcile.Target, known map[reconcile.Key]reconcile.Standing) iter.Seq[planJSON] {
	turn := make(chan struct{}, max(1, s.Parallel))
	found := make([]chan planJSON, len(targets))
	for i := range found {
		found[i] = make(chan planJSON, 1)
	}
	go func() {
		for i, t := range targets {
			turn <- struct{}{}
			go func() {
				defer func() { <-turn }()
				o, err := s.engine.Tickers[t.Key].(plan.Preview).Preview(ctx, t, known[t.Key], s.records())
				found[i] <- planDocument(t.Key, o, err)
			}()
		}
	}()
	return func(yield func(planJSON) bool) {
		for _, f := range found {
			if !yield(<-f) {
				return
			}
		}
	}
}

func planDocument(key reconcile.Key, o plan.Outlook, err error) planJSON {
	if err != nil {
		d := planJSON{Target: key, Changes: reconcile.Plan{}, Waiting: []string{}, Later: []string{}, Error: err.Error()}
		if p, panicked := errors.AsType[*reconcile.PanicError](err); panicked {
			d.stack = p.Stack
		}
		return d
	}
	return planJSON{Target: key, Changes: append(reconcile.Plan{}, o.Plan...), Waiting: idsOf(o.Wait), Later: idsOf(o.Later),
		Why: o.Why, Run: o.Run, Rejected: o.Rejected}
}

func idsOf(p reconcile.Plan) []string {
	ids := make([]string, len(p))
	for i, c := range p {
		ids[i] = c.ID
	}
	return ids
}

// pending is how many changes somebody still wants.
func (d planJSON) pending() int {
	if d.Rejected != "" {
		return len(d.Changes) - len(d.Waiting)
	}
	return len(d.Changes)
}
