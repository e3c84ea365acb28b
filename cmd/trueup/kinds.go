package main

import (
	"fmt"

	"trueup/reconcile"
	"trueup/reconcile/command"
	"trueup/reconcile/config"
	"trueup/reconcile/forgejo"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// kinds makes the settings of each kind.
func kinds() config.Kinds {
	return config.Kinds{
		"command": func() any { return new(command.Settings) },
		"forgejo": func() any { return new(forgejo.Settings) },
	}
}

// A ticker that tells what it would do.
type tickerWithPreview interface {
	reconcile.Ticker
	plan.Preview
}

// ticker makes what ticks a target: its kind, behind the breaker.
func ticker(t config.Target, read *policy.Reader) tickerWithPreview {
	breaker := plan.Breaker{Removals: t.Breaker.Removals, Fraction: t.Breaker.Fraction}
	switch settings := t.Settings.(type) {
	case *command.Settings:
		return plan.New(command.New(*settings), read, plan.Options[command.Seen]{Policy: t.Policy, Breaker: breaker,
			Size: func(seen command.Seen) int { return seen.Size }})
	case *forgejo.Settings:
		return plan.New(forgejo.New(*settings, t.Policy.String()), read, forgejo.Options(plan.Options[*forgejo.World]{Policy: t.Policy, Breaker: breaker}))
	}
	panic(fmt.Sprintf("the kind %q has settings and no ticker", t.Kind))
}
