package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
	"trueup/units"
)

func unadoptVerb(u *ui) *cobra.Command {
	var o units.UnadoptOptions
	var user, all bool
	c := &cobra.Command{
		Use:   "unadopt [flags] UNIT",
		Short: "take the trigger away again",
		Long: `take exactly that away again which trueup adopt added

The folders stay, unless --purge is given: what is asked for and not yet done is in them. With --all every
unit loses its trigger whose gate is the one beside this program, and trueup's own services are uninstalled;
packages do this when they are removed, since no such unit could be started without the gate.`,
		Example: "  sudo trueup unadopt web-reconciler.service",
	}
	c.Flags().BoolVar(&user, "user", false, "a unit of your own systemd --user")
	c.Flags().BoolVar(&all, "all", false, "every unit that has this trueup's gate, and every service of its own")
	c.Flags().BoolVar(&o.Purge, "purge", false, "remove the folders too, with what is owed in them")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "change nothing, only say what would change")
	c.Args = func(c *cobra.Command, args []string) error {
		if all {
			return exactly(0, "no UNIT beside --all")(c, args)
		}
		return exactly(1, "one UNIT, or --all")(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		m, err := manager(c.Context(), user)
		if err != nil {
			return err
		}
		defer m.Close()
		if all {
			return unadoptAll(c.Context(), u, m, o)
		}
		changes, err := m.Unadopt(c.Context(), args[0], o)
		return unadopted(u, changes, o, err)
	}
	return c
}

// unadoptAll goes on after one that cannot be unadopted, and tells of each.
func unadoptAll(ctx context.Context, u *ui, m *units.Manager, o units.UnadoptOptions) error {
	found, err := m.Adopted(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	code := 0
	for _, a := range found {
		if a.Gate != filepath.Join(filepath.Dir(self), "trueup-gate") {
			u.say("%s   left as it is: its gate is %s", a.Unit, a.Gate)
			continue
		}
		u.say("%s", a.Unit)
		changes, err := takeAway(ctx, m, a.Unit, o)
		if err := unadopted(u, changes, o, err); err != nil {
			code = u.exit(ctx, err)
		}
	}
	if code != 0 {
		return &failure{code: code}
	}
	return nil
}

// takeAway uninstalls a service of trueup's own, and unadopts any other.
func takeAway(ctx context.Context, m *units.Manager, unit string, o units.UnadoptOptions) (units.Changes, error) {
	if name, ours := instanceOf(unit); ours {
		if file, err := m.InstalledConfig(name); err == nil && file != "" {
			return m.Uninstall(ctx, name, o)
		}
	}
	return m.Unadopt(ctx, unit, o)
}

// unadopted says what was done, also before it went wrong.
func unadopted(u *ui, changes units.Changes, o units.UnadoptOptions, err error) error {
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
