package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"trueup/reconcile/publish"
	"trueup/units"
)

// checkUnitsVerb is alarms enable, or alarms disable.
func checkUnitsVerb(u *ui, enable bool) *cobra.Command {
	var user, dry, asJSON bool
	c := &cobra.Command{
		Use:   "disable [flags]",
		Short: "take away again what trueup alarms enable made",
		Long: `take away again what trueup alarms enable made; units that a package brought are disabled and stay

What stands in /var/lib/trueup-check stays as well: enabled again, it goes on from there.`,
		Example: "  sudo trueup alarms disable",
		Args:    exactly(0, "nothing"),
	}
	if enable {
		c.Use, c.Short = "enable [flags]", "look every minute: make, enable and start trueup-check.timer"
		c.Long = `look every minute: make trueup-check.service and trueup-check.timer, enable and start the timer

They are apart from all that they look at. Units that a package brought are only enabled and started.
trueup alarms disable takes exactly that away again.`
		c.Example = "  sudo trueup alarms enable"
	}
	c.Flags().BoolVar(&user, "user", false, "for the units of your own systemd --user")
	c.Flags().BoolVar(&dry, "dry-run", false, "change nothing, only say what would change")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		m, err := manager(c.Context(), user)
		if err != nil {
			return err
		}
		defer m.Close()
		changes, err := setCheck(c, m, enable, dry)
		if err != nil {
			return adoptError(strings.TrimSuffix(c.Name(), "e")+"ing", err)
		}
		if asJSON {
			return sayJSON(u, checkUnitsJSON{1, user, changes.Packaged, dry, append([]units.Change{}, changes.Done...), append([]string{}, changes.Warnings...)})
		}
		sayDone(u, units.Changes{User: user, Done: changes.Done}, dry)
		for _, w := range changes.Warnings {
			u.warning("%s", w)
		}
		return nil
	}
	return c
}

func setCheck(c *cobra.Command, m *units.Manager, enable, dry bool) (units.CheckChanges, error) {
	if !enable {
		changes, err := m.DisableCheck(c.Context(), dry)
		if err == nil && !dry {
			err = unlook(changes.User)
		}
		return changes, err
	}
	program, err := os.Executable()
	if err != nil {
		return units.CheckChanges{}, err
	}
	return m.EnableCheck(c.Context(), program, dry)
}

// unlook notes that nobody is meant to look: what stands stays for the next look, and is shown no longer.
func unlook(user bool) error {
	folders, err := alarmsFolders(user)
	if err != nil {
		return err
	}
	if memory, err := folders.Read(); err != nil || memory.Looked.IsZero() {
		return nil // there is nothing that would be shown
	}
	release, _, err := folders.Hold()
	if errors.Is(err, publish.ErrBusy) {
		return fail(exitTimeout, "once it has ended, trueup alarms disable again", "noting that nobody looks any more: %w", err)
	}
	if err != nil {
		return err
	}
	defer release()
	memory, err := folders.Read() // again: a look may have ended meanwhile
	if err != nil {
		return nil
	}
	memory.Looked = time.Time{}
	return folders.Save(memory)
}

// checkUnitsJSON is what alarms enable --json and alarms disable --json print.
type checkUnitsJSON struct {
	Version  int            `json:"version"`
	User     bool           `json:"user"`
	Packaged bool           `json:"packaged"` // the units are a package's
	DryRun   bool           `json:"dry_run"`  // the changes are those that would be made
	Changes  []units.Change `json:"changes"`
	Warnings []string       `json:"warnings"`
}
