package main

import (
	"github.com/spf13/cobra"

	"trueup/units"
)

func uninstallVerb(u *ui) *cobra.Command {
	var o units.UnadoptOptions
	var name string
	var user, asJSON bool
	c := &cobra.Command{
		Use:   "uninstall [flags]",
		Short: "take the service away again",
		Long: `take exactly that away again which trueup install added

A sweep in progress is ended. The configuration stays, and the folders too unless --purge is given: the
ledger is in them, and what is asked for and not yet done.`,
		Example: "  sudo trueup uninstall",
		Args:    exactly(0, "no arguments"),
	}
	instanceFlags(c, &name, &user)
	c.Flags().BoolVar(&o.Purge, "purge", false, "remove the folders too, with the ledger and what is owed in them")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "change nothing, only say what would change")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		m, err := manager(c.Context(), user)
		if err != nil {
			return err
		}
		defer m.Close()
		changes, err := m.Uninstall(c.Context(), name, o)
		if asJSON && err == nil {
			return sayJSON(u, installedDocument(changes, units.Installation{Adoption: units.Adoption{DryRun: o.DryRun}}))
		}
		if !asJSON && (err == nil || !changes.None()) {
			sayDone(u, changes, o.DryRun)
		}
		if err != nil {
			return adoptError("uninstalling", err)
		}
		if !o.DryRun {
			sayUnadopted(u, changes, o.Purge)
		}
		return nil
	}
	return c
}
