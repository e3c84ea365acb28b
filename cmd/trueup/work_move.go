package main

import (
	"github.com/spf13/cobra"

	"trueup/reconcile"
)

// A move is a verb that takes an item from one state to another.
type move struct {
	verb, short, long string
	do                reconcile.WorkFactType
}

const needsFence = "\n\nWhile a session is live its fence is needed: nobody's work is ended by somebody who does not know of it."

func moves() []move {
	return []move{
		{"checkpoint", "prolong your session, and say how far you are", `prolong your session, and say how far you are

It exits 75 when the session is lost: then somebody else may hold the scopes.`, reconcile.WorkCheckpointed},
		{"review", "end your session; somebody is to look at the work",
			"end your session and keep the scopes until somebody has looked at the work" + needsFence, reconcile.WorkReviewed},
		{"block", "end your session; the work cannot go on",
			"end your session and keep the scopes: the work cannot go on until a person decides" + needsFence, reconcile.WorkBlocked},
		{"unblock", "go on with an item that is BLOCKED or in REVIEW", "go on with an item that is BLOCKED or in REVIEW, under a new session and fence", reconcile.WorkUnblocked},
		{"done", "give the scopes back", "give the scopes back, and ask for the targets that were kept away meanwhile" + needsFence, reconcile.WorkEnded},
	}
}

func workMoveVerb(u *ui, m move) *cobra.Command {
	var o workOptions
	c := &cobra.Command{Use: m.verb + " [flags] ID", Short: m.short, Long: m.long, Args: exactly(1, "one ID")}
	c.Example = "  trueup work " + m.verb + " disk"
	if m.do == reconcile.WorkCheckpointed || m.do == reconcile.WorkUnblocked {
		o.lastsFlag(c)
	}
	if m.do != reconcile.WorkUnblocked {
		c.Example += " --fence 12"
		c.Flags().Uint64Var(&o.fence, "fence", 0, "the `FENCE` of the live session, as start printed it")
	}
	o.flags(c, "note")
	c.RunE = func(c *cobra.Command, args []string) error {
		order, err := o.order(c, args[0], m.do)
		if err != nil {
			return err
		}
		return o.carryOut(c.Context(), u, order)
	}
	return c
}
