package main

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

func workDiscardVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:   "discard [flags] ID",
		Short: "give back the scopes of an item whose events cannot be read",
		Long: `give back the scopes of an item whose events cannot be read, and remove its events

Such an item is UNREADABLE: it is damaged, or a newer trueup has written to it. Nothing is decided on it, so
nothing else ends it. One that can be read is refused. Make a backup first if its events are to be looked at.`,
		Example: "  trueup ledger backup before.db && trueup work discard disk",
		Args:    exactly(1, "one ID"),
	}
	o.which.flags(c)
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, args []string) error {
		id, err := reconcile.ParseItemID(args[0])
		if err != nil {
			return usageError("", "discard: %w", err)
		}
		return o.discard(c.Context(), u, id)
	}
	return c
}

func (o *workOptions) discard(ctx context.Context, u *ui, id reconcile.ItemID) error {
	s, err := o.act(ctx, worker(""))
	if err != nil {
		return err
	}
	defer s.close()
	items, err := s.ledger.Items(ctx)
	if err != nil {
		return err
	}
	if err := s.ledger.Discard(ctx, id); err != nil {
		return o.refusal(reconcile.WorkOrder{Item: id}, err)
	}
	gone := reconcile.Item{ID: id}
	for _, i := range items {
		if i.ID == id {
			gone = i
		}
	}
	gone.State = reconcile.WorkDone
	if o.asJSON {
		err = sayJSON(u, itemDocument(gone))
	} else {
		u.say("discarded   %s, which kept %s", id, joined(gone.Scopes))
	}
	s.askKeptAway(ctx, u, gone)
	return err
}
