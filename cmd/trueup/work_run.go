package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile"
)

// givingBack is how long the end of a session may take to be recorded after the program was told to stop.
const givingBack = 20 * time.Second

func workRunVerb(u *ui) *cobra.Command {
	var o workOptions
	c := &cobra.Command{
		Use:   "run [flags] ID --scope KEY -- COMMAND [ARG…]",
		Short: "run a command while scopes are reserved for it",
		Long: `run a command while scopes are reserved for it, and give them back when it has succeeded

The session is renewed while the command lives. The command finds its fence in TRUEUP_FENCE, and the ID
in TRUEUP_ITEM. When it fails the item becomes BLOCKED and keeps its scopes, and trueup exits as the command
did. When the session is lost the command is ended, with all that it started, and trueup exits 75.`,
		Example: "  trueup work run restore --scope command:db -- pg_restore -d app dump",
	}
	o.scopeFlags(c)
	o.flags(c, "reason")
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) < 2 || c.ArgsLenAtDash() != 1 {
			return usageError("see "+c.CommandPath()+" --help", "run: want one ID, and a command after --")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		order, err := o.order(c, args[0], reconcile.WorkStarted)
		if err != nil {
			return err
		}
		if err := lookUp("run", args[1]); err != nil {
			return err
		}
		s, err := o.act(c.Context(), order.By)
		if err != nil {
			return err
		}
		defer s.close()
		if err := o.sameLedger(c.Context(), s, order.Scopes, o.unsafe); err != nil {
			return err
		}
		s.warnOfScopes(u, order.Scopes)
		return o.during(c.Context(), u, s, order, args[1:])
	}
	return c
}

// during runs the command while the item is held.
func (o *workOptions) during(ctx context.Context, u *ui, s *site, order reconcile.WorkOrder, command []string) error {
	held, err := reconcile.HoldWork(ctx, s.ledger, order, s.engine.Uptime)
	if err != nil {
		return o.refusal(order, err)
	}
	defer held.Leave()
	item := held.Item
	input := os.Stdin
	if terminal(input) {
		input = nil // the command's group is not the terminal's
	}
	failed := runGroup(held.Ctx, command, input, "TRUEUP_FENCE="+strconv.FormatUint(uint64(item.Session.Fence), 10), "TRUEUP_ITEM="+string(item.ID))
	if errors.Is(context.Cause(reconcile.Grace(held.Ctx)), reconcile.ErrLeaseLost) {
		return fail(exitReserved, "trueup work show"+o.again()+" "+string(item.ID), "%s: the session was lost, and the command ended: %s", item.ID, outcome(failed))
	}
	item, err = s.giveBack(ctx, item, failed)
	if errors.Is(err, reconcile.ErrLeaseLost) {
		return fail(exitReserved, "trueup work show"+o.again()+" "+string(item.ID), "%s: the session was lost before the command ended: %s", item.ID, outcome(failed))
	}
	if err != nil {
		return fail(exitState, fmt.Sprintf("trueup work done%s %s --fence %d gives them back", o.again(), item.ID, item.Session.Fence),
			"%s: %s, which could not be recorded, and it keeps %s: %w", item.ID, outcome(failed), joined(item.Scopes), err)
	}
	if o.asJSON {
		err = sayJSON(u, itemDocument(item))
	}
	if failed == nil {
		s.askKeptAway(ctx, u, item)
		return err
	}
	u.marked(red, "error: ", fmt.Sprintf("%s is BLOCKED and keeps %s: %s", item.ID, joined(item.Scopes), item.Note))
	u.marked(cyan, "hint: ", fmt.Sprintf("trueup work done%s %s gives them back", o.again(), item.ID))
	return exitLike(failed)
}

// giveBack ends the session as the command ended.
func (s *site) giveBack(ctx context.Context, item reconcile.Item, failed error) (reconcile.Item, error) {
	end := reconcile.WorkOrder{Item: item.ID, Do: reconcile.WorkEnded, By: item.Session.Holder, Fence: item.Session.Fence, Note: outcome(failed)}
	if failed != nil {
		end.Do = reconcile.WorkBlocked
	}
	if cause := context.Cause(ctx); cause != nil {
		end.Note += ", told to stop"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), givingBack)
	defer cancel()
	after, err := s.ledger.Work(ctx, end)
	if err != nil {
		return item, err
	}
	return after, nil
}

// outcome says how a command ended.
func outcome(failed error) string {
	if failed == nil {
		return "the command succeeded"
	}
	return "the command failed: " + failed.Error()
}
