package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// The exit codes of a check. Every other one means that it could not tell.
const (
	inSync = 0
	drift  = 2
)

// grace is how long a program has to end after it was asked to.
const grace = 10 * time.Second

// Kind keeps targets true by programs.
type Kind struct {
	settings Settings
	grace    time.Duration
}

// New gives the kind for one target, whose settings are valid.
func New(s Settings) *Kind { return &Kind{settings: s, grace: grace} }

// Seen is what the programs said.
type Seen struct {
	Changes reconcile.Plan
	// Size is how many things the target has now, where the plan tells: the breaker takes its fraction of it.
	Size int
}

// Observe runs check or plan. Whatever keeps them from telling is a *reconcile.UnknownError, but the end of the context.
func (k *Kind) Observe(ctx context.Context, in plan.Input) (Seen, error) {
	ask := k.check
	if !k.settings.Plan.IsZero() {
		ask = k.propose
	}
	seen, err := ask(ctx, in)
	if err != nil && ctx.Err() == nil {
		return Seen{}, &reconcile.UnknownError{Err: err}
	}
	return seen, err
}

func (k *Kind) check(ctx context.Context, in plan.Input) (Seen, error) {
	out, err := k.run(ctx, in, call{name: "check", command: k.settings.Check})
	switch {
	case err != nil:
		return Seen{}, err
	case out.exit == inSync:
		return Seen{}, nil
	case out.exit == drift:
		return Seen{Changes: reconcile.Plan{{ID: "apply", Op: reconcile.Update, Text: "drift" + out.last()}}}, nil
	}
	return Seen{}, out.failure("check")
}

func (k *Kind) propose(ctx context.Context, in plan.Input) (Seen, error) {
	out, err := k.run(ctx, in, call{name: "plan", command: k.settings.Plan, keep: true})
	if err != nil {
		return Seen{}, err
	}
	if out.exit != 0 {
		return Seen{}, out.failure("plan")
	}
	seen, err := parse(out.stdout, out.secrets)
	if err != nil {
		return Seen{}, fmt.Errorf("reading what plan printed: %w", err)
	}
	return seen, nil
}

// Plan is what the programs said.
func (k *Kind) Plan(_ plan.Input, seen Seen) (reconcile.Plan, error) { return seen.Changes, nil }

// Happened tells whether a change that may have been done was done: plan no longer asks for it.
func (k *Kind) Happened(_ context.Context, _ plan.Input, seen Seen, c reconcile.Change) (bool, error) {
	for _, due := range seen.Changes {
		switch {
		case due.ID == c.ID && due.Op == reconcile.Unknown:
			return false, fmt.Errorf("plan cannot tell: %s", due.Text)
		case due.ID == c.ID:
			return false, nil
		}
	}
	return true, nil
}

// Apply runs apply. That it took is seen by whoever observes again.
func (k *Kind) Apply(ctx context.Context, in plan.Input, _ Seen, c reconcile.Change) error {
	call := call{name: "apply", command: k.settings.Apply, change: c.ID}
	if !k.settings.Plan.IsZero() {
		call.name += " " + c.ID
		encoded, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("encoding change %q: %w", c.ID, err)
		}
		call.stdin = append(encoded, '\n')
	}
	out, err := k.run(ctx, in, call)
	if err != nil {
		return err
	}
	if out.exit != 0 {
		return out.failure("apply")
	}
	return nil
}
