package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

func pauseVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:   "pause [flags] KIND:NAME --reason TEXT",
		Short: "keep a target from being ticked, until it is resumed",
		Long: `keep a target from being ticked, until trueup resume

It is a work item without an end on the target's own scope. What is asked for meanwhile stays owed. It
exits 75 while the target is being ticked, or held by somebody else.`,
		Example: "  trueup pause command:proxy --reason 'a new certificate by hand'",
		Args:    exactly(1, "one target"),
	}
	o.flags(c, "reason")
	otherLedgerFlag(c, &o.unsafe)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.plain(c); err != nil {
			return err
		}
		if o.note == "" {
			return usageError("as in --reason 'a new certificate by hand'", "pause: no reason is given, and others will ask")
		}
		s, err := o.act(c.Context(), worker(o.by))
		if err != nil {
			return err
		}
		defer s.close()
		t, err := s.declared(args[0])
		if err != nil {
			return err
		}
		if err := o.sameLedger(c.Context(), s, []reconcile.Scope{reconcile.Scope(t.Key)}, o.unsafe); err != nil {
			return err
		}
		return o.pause(c.Context(), u, s, t.Key)
	}
	return c
}

func (o *workOptions) pause(ctx context.Context, u *ui, s *site, key reconcile.Key) error {
	order := reconcile.WorkOrder{Item: reconcile.PauseID(key), Do: reconcile.WorkStarted, By: worker(o.by), Note: o.note, Scopes: []reconcile.Scope{reconcile.Scope(key)}}
	item, err := s.ledger.Work(ctx, order)
	if reserved, is := errors.AsType[*reconcile.ReservedError](err); is {
		return fail(exitReserved, "try again when it has been given back", "pausing %s: %w", key, reserved)
	}
	if unfit, is := errors.AsType[*reconcile.UnfitError](err); is {
		return fail(exitNeeds, "trueup resume"+o.again()+" "+string(key), "pausing %s: it is paused already: %s is %s", key, order.Item, unfit.State)
	}
	switch {
	case err != nil:
		return err
	case o.asJSON:
		return sayJSON(u, itemDocument(item))
	}
	u.say("paused   %s: %s", key, item.Reason)
	u.note("to go on: trueup resume%s %s", o.again(), key)
	return nil
}

func resumeVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:     "resume [flags] KIND:NAME",
		Short:   "let a paused target be ticked again",
		Long:    "let a paused target be ticked again, and ask for it if it is owed",
		Example: "  trueup resume command:proxy",
		Args:    exactly(1, "one target"),
	}
	o.flags(c, "note")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.plain(c); err != nil {
			return err
		}
		key, err := reconcile.ParseKey(args[0]) // it may no longer be declared
		if err != nil {
			return usageError("trueup status lists the targets", "%w", err)
		}
		s, err := o.act(c.Context(), worker(o.by))
		if err != nil {
			return err
		}
		defer s.close()
		return o.resume(c.Context(), u, s, key)
	}
	return c
}

func (o *workOptions) resume(ctx context.Context, u *ui, s *site, key reconcile.Key) error {
	item, err := s.ledger.Item(ctx, reconcile.PauseID(key))
	if errors.Is(err, reconcile.ErrUnreadable) {
		return o.refusal(reconcile.WorkOrder{Item: reconcile.PauseID(key)}, err)
	}
	if errors.Is(err, reconcile.ErrNoItem) || err == nil && item.State == reconcile.WorkDone {
		return fail(exitNeeds, "trueup status"+o.again()+" says what keeps it", "resuming %s: it is not paused", key)
	}
	if err != nil {
		return err
	}
	order := reconcile.WorkOrder{Item: item.ID, Do: reconcile.WorkEnded, By: worker(o.by), Note: o.note}
	if item.State == reconcile.InProgress {
		order.Fence = item.Session.Fence
	}
	paused := item.Session
	if item, err = s.ledger.Work(ctx, order); err != nil {
		return o.refusal(order, err)
	}
	if o.asJSON {
		err = sayJSON(u, itemDocument(item))
	} else {
		u.say("resumed   %s, which %s had paused %s", key, paused.Holder, ago(paused.Since, time.Now()))
	}
	s.askKeptAway(ctx, u, item)
	return err
}
