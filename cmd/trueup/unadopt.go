package main

import (
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
	"trueup/units"
)

func unadoptVerb(u *ui) *cobra.Command {
	var o units.UnadoptOptions
	var user bool
	c := &cobra.Command{
		Use:   "unadopt [flags] UNIT",
		Short: "take the trigger away again",
		Long: `take exactly that away again which trueup adopt added

The folders stay, unless --purge is given: what is asked for and not yet done is in them.`,
		Example: "  sudo trueup unadopt web-reconciler.service",
		Args:    exactly(1, "one UNIT"),
	}
	c.Flags().BoolVar(&user, "user", false, "a unit of your own systemd --user")
	c.Flags().BoolVar(&o.Purge, "purge", false, "remove the folders too, with what is owed in them")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "change nothing, only say what would change")
	c.RunE = func(c *cobra.Command, args []string) error {
		m, err := manager(c.Context(), user)
		if err != nil {
			return err
		}
		defer m.Close()
		changes, err := m.Unadopt(c.Context(), args[0], o)
		if err == nil || !changes.None() {
			sayDone(u, changes, o.DryRun)
		}
		if err != nil {
			return adoptError("unadopting", err)
		}
		if !o.DryRun {
			sayUnadopted(u, changes, o.Purge)
		}
		return nil
	}
	return c
}

func sayUnadopted(u *ui, c units.Changes, purged bool) {
	f := c.Adoption.Folders
	if f.State != "" && !purged {
		if owed, err := trigger.ReadState(f.State); err == nil && owed.Claim != nil {
			u.warning("claim %d still owes a run, and nobody acts on it any more", owed.Claim.N)
		}
		all := units.Changes{Adoption: c.Adoption, Done: []units.Change{{What: f.Spool}, {What: f.State}, {What: f.Outbox}}}
		u.say("kept: %s", strings.Join(foldedFolders(all, units.None, []string{f.Spool, f.State, f.Outbox}), " "))
	}
	for _, w := range c.Warnings {
		u.warning("%s", w)
	}
}
