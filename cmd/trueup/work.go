package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

// sessionFor is how long a session of a work item lives unless it is renewed.
const sessionFor = 15 * time.Minute

func workVerb(u *ui) *cobra.Command {
	c := &cobra.Command{
		Use:   "work VERB",
		Short: "reserve scopes for the work of people and scripts",
		Long: `reserve scopes for the work of people and scripts, in the same exclusion as ticks

While a work item holds a scope, no target that needs it is ticked: it stays owed, and status says who
holds it. An item that nobody renews becomes BLOCKED and keeps its scopes until a person decides.`,
		Example: "  trueup work start disk --scope command:proxy --reason 'a new disk'",
		Args:    knownVerb,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(workStartVerb(u), workRunVerb(u))
	for _, m := range moves() {
		c.AddCommand(workMoveVerb(u, m))
	}
	c.AddCommand(workDiscardVerb(u), workListVerb(u), workShowVerb(u))
	for _, verb := range c.Commands() {
		verb.Flags().SortFlags = false
	}
	return c
}

// workOptions are the flags that the verbs share.
type workOptions struct {
	which
	by     string
	note   string
	lasts  time.Duration
	scopes []string
	fence  uint64
	unsafe bool
	asJSON bool
}

func (o *workOptions) flags(c *cobra.Command, note string) {
	o.which.flags(c)
	c.Flags().StringVar(&o.by, "by", "", "`NAME` of who works (the user who calls)")
	c.Flags().StringVar(&o.note, note, "", "why, as a `TEXT` for those who meet it")
	c.Flags().BoolVar(&o.asJSON, "json", false, "print JSON, version 1")
}

func (o *workOptions) scopeFlags(c *cobra.Command) {
	c.Flags().StringSliceVar(&o.scopes, "scope", nil, "a scope `KEY` to reserve; give it again for each; all or none")
	o.lastsFlag(c)
	otherLedgerFlag(c, &o.unsafe)
}

func (o *workOptions) lastsFlag(c *cobra.Command) {
	durationFlag(c, &o.lasts, "for", sessionFor, "how long `D` it is held unless it is renewed")
}

// plain refuses texts of more than one line.
func (o *workOptions) plain(c *cobra.Command) error {
	note := "reason"
	if c.Flags().Lookup(note) == nil {
		note = "note"
	}
	return errors.Join(oneLineFlag(c, "by", o.by), oneLineFlag(c, note, o.note))
}

// order is what the command line orders of an item.
func (o *workOptions) order(c *cobra.Command, name string, do reconcile.WorkFactType) (order reconcile.WorkOrder, err error) {
	if err := o.plain(c); err != nil {
		return order, err
	}
	order = reconcile.WorkOrder{Do: do, By: worker(o.by), Fence: reconcile.Fence(o.fence), For: o.lasts, Note: o.note}
	if order.Item, err = reconcile.ParseItemID(name); err != nil {
		return order, usageError("", "%s: %w", c.Name(), err)
	}
	if target, pause := order.Item.Paused(); pause {
		return order, usageError("trueup pause and trueup resume are for pauses", "%s: %s names the pause of %s", c.Name(), order.Item, target)
	}
	if c.Flags().Lookup("for") != nil && o.lasts <= 0 {
		return order, usageError("as in --for 15m; trueup pause holds a target without an end", "%s: --for %s: want a time above zero", c.Name(), o.lasts)
	}
	if c.Flags().Lookup("scope") != nil && len(o.scopes) == 0 {
		return order, usageError("as in --scope command:proxy", "%s: no scope is given", c.Name())
	}
	for _, text := range o.scopes {
		scope, err := reconcile.ParseScope(text)
		if err != nil {
			return order, usageError("", "%s: %w", c.Name(), err)
		}
		order.Scopes = append(order.Scopes, scope)
	}
	return order, nil
}

func workStartVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:   "start [flags] ID --scope KEY",
		Short: "begin work under a name of your choice",
		Long: `begin work under a name of your choice: reserve scopes, all or none, and get a fence

It is IN_PROGRESS until the time that --for gives. A checkpoint prolongs it. It exits 75 when somebody
else holds one of the scopes, and says who.`,
		Example: "  trueup work start disk --scope command:proxy --scope host:web --for 1h",
		Args:    exactly(1, "one ID"),
	}
	o.scopeFlags(c)
	o.flags(c, "reason")
	c.RunE = func(c *cobra.Command, args []string) error {
		order, err := o.order(c, args[0], reconcile.WorkStarted)
		if err != nil {
			return err
		}
		return o.carryOut(c.Context(), u, order)
	}
	return c
}

// carryOut does what is ordered and says how the item stands.
func (o *workOptions) carryOut(ctx context.Context, u *ui, order reconcile.WorkOrder) error {
	s, err := o.act(ctx, order.By)
	if err != nil {
		return err
	}
	defer s.close()
	if err := o.sameLedger(ctx, s, order.Scopes, o.unsafe); err != nil {
		return err
	}
	s.warnOfScopes(u, order.Scopes)
	item, err := s.ledger.Work(ctx, order)
	if err != nil {
		return o.refusal(order, err)
	}
	if o.asJSON {
		err = sayJSON(u, itemDocument(item))
	} else {
		u.say("%s", itemLine(item, time.Now()))
		if order.Begins() {
			u.note("when it is done: trueup work done%s %s --fence %d", o.again(), item.ID, item.Session.Fence)
		}
	}
	if item.State == reconcile.WorkDone {
		s.askKeptAway(ctx, u, item)
	}
	return err
}
