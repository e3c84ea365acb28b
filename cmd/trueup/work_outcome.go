package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"trueup/reconcile"
)

// again are the flags that name the same installation.
func (w *which) again() (flags string) {
	if w.config != "" {
		flags += " -c " + quoted(w.config)
	}
	if w.name != "" {
		flags += " --name " + quoted(w.name)
	}
	if w.user {
		flags += " --user"
	}
	return flags
}

// refusal gives an error its exit code and the way out.
func (o *workOptions) refusal(order reconcile.WorkOrder, err error) error {
	list := "trueup work list" + o.again() + " says who works on what"
	if reserved, is := errors.AsType[*reconcile.ReservedError](err); is {
		return fail(exitReserved, list, "starting %s: %w", order.Item, reserved)
	}
	if unfit, is := errors.AsType[*reconcile.UnfitError](err); is {
		if unfit.State == reconcile.Blocked || unfit.State == reconcile.InReview {
			list = fmt.Sprintf("trueup work unblock%s %s goes on with it, trueup work done%s %s gives its scopes back", o.again(), order.Item, o.again(), order.Item)
		}
		return fail(exitNeeds, list, "%w", unfit)
	}
	switch {
	case errors.Is(err, reconcile.ErrFenceNeeded):
		return fail(exitUsage, "give it with --fence; trueup work list"+o.again()+" shows it", "%w", err)
	case errors.Is(err, reconcile.ErrLeaseLost):
		return fail(exitReserved, list, "%w", err)
	case errors.Is(err, reconcile.ErrUnreadable):
		return fail(exitState, "a newer trueup may read it; else trueup work discard"+o.again()+" "+quoted(string(order.Item))+" gives its scopes back", "%w", err)
	case errors.Is(err, reconcile.ErrNoItem):
		return fail(exitUsage, list, "%s: %w", order.Item, reconcile.ErrNoItem)
	}
	return err
}

// warnOfScopes says which scopes keep no target from being ticked: a slip of the finger looks like that.
func (s *site) warnOfScopes(u *ui, scopes []reconcile.Scope) {
	for _, scope := range scopes {
		if !slices.ContainsFunc(s.engine.Targets, func(t reconcile.Target) bool { return slices.Contains(t.Holds(), scope) }) {
			u.warning("no target has the scope %s, and keys must match letter by letter; it excludes other work items only", scope)
		}
	}
}

// askKeptAway asks for the targets that an item kept from being ticked and that are owed, also when the program was told to
// stop meanwhile.
func (s *site) askKeptAway(ctx context.Context, u *ui, item reconcile.Item) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), givingBack)
	defer cancel()
	known, err := s.known(ctx)
	var owed []reconcile.Key
	for _, t := range s.engine.Targets {
		kept := slices.ContainsFunc(t.Holds(), func(scope reconcile.Scope) bool { return slices.Contains(item.Scopes, scope) })
		if kept && known[t.Key].Owed() {
			owed = append(owed, t.Key)
		}
	}
	if err == nil && len(owed) > 0 {
		err = s.engine.Trigger.Notify(ctx, owed...)
	}
	if err != nil {
		u.warning("no sweep could be asked for (%v); the next one ticks what is owed", err)
	}
}

// worker is who works, and where.
func worker(by string) string {
	host, err := os.Hostname()
	if err != nil || by != "" {
		return caller(by)
	}
	return caller(by) + " on " + host
}
