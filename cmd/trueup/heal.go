package main

import (
	"context"

	"github.com/spf13/cobra"

	"trueup/units"
	"trueup/units/heal"
)

func healVerb(u *ui) *cobra.Command {
	var user, asJSON bool
	c := &cobra.Command{
		Use:   "heal [flags]",
		Short: "set the triggers right after an upgrade, or a death",
		Long: `set right what another version of trueup, or a hostile web app, has left of the triggers

A drop-in, path unit or timer that this version would write otherwise is written anew, and a path unit
that is enabled and has died is revived. What was disabled or stopped stays so. A run in progress goes on;
a gate that waits under a drop-in that changes is started anew. Packages do this when they are upgraded.
It exits 1 when a trigger could not be set right, or a service of trueup's own has a configuration that
this version refuses.`,
		Example: "  sudo trueup heal",
		Args:    exactly(0, "nothing"),
	}
	c.Flags().BoolVar(&user, "user", false, "the units of your own systemd --user")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		all, err := heals(c.Context(), user)
		if err != nil {
			return err
		}
		if asJSON {
			err = sayJSON(u, healedDocument(all))
		} else {
			sayHealed(u, all)
		}
		for _, h := range all {
			if err == nil && (h.Err != nil || h.refused != nil) {
				return &failure{code: exitNeeds}
			}
		}
		return err
	}
	return c
}

// A healing is what became of a trigger, and whether the configuration behind it still holds.
type healing struct {
	units.Healing
	refused error  // why it does not
	check   string // the command that says all of it
}

// heals heals, and reads the configuration behind each service of trueup's own.
func heals(ctx context.Context, user bool) ([]healing, error) {
	m, err := manager(ctx, user)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	healed, err := m.Heal(ctx)
	if err != nil {
		return nil, adoptError("healing", err)
	}
	all := make([]healing, len(healed))
	for i, h := range healed {
		all[i].Healing = h
		if w, ours := installedAs(m, h.Unit, user); ours {
			_, all[i].refused = w.load(ctx)
			all[i].check = "trueup check" + w.named()
		}
	}
	return all, nil
}

func sayHealed(u *ui, all []healing) {
	quiet := true
	for _, h := range all {
		for _, line := range doneLines(h.Changes) {
			u.say("%s", line)
			quiet = false
		}
		switch {
		case h.Outcome.Action == heal.Dead && h.Err == nil:
			u.say("started %s, whose gate removes what %s dies of (%s)", h.Unit, h.Path, h.Outcome.Result)
			quiet = false
		case h.Outcome.Action == heal.Healed:
			u.say("revived %s, which had died of %s", h.Path, h.Outcome.Result)
			quiet = false
		}
		if h.Err != nil {
			u.warning("%s was not set right: %v", h.Unit, h.Err)
			quiet = false
		}
		if h.refused != nil {
			u.warning("%s cannot sweep: %s; %s says more", h.Unit, oneLine(h.refused), h.check)
			quiet = false
		}
	}
	if quiet {
		u.say("nothing to heal")
	}
}

// healedJSON is what heal --json prints.
type healedJSON struct {
	Version int              `json:"version"`
	Units   []healedUnitJSON `json:"units"`
}

type healedUnitJSON struct {
	Unit    string         `json:"unit"`
	Changes []units.Change `json:"changes"`
	Path    string         `json:"path"`              // left, healed, or dead: its service was started, whose gate heals it
	Result  string         `json:"result,omitempty"`  // how the path unit had died, in systemd's words
	Error   string         `json:"error,omitempty"`   // why it was not set right
	Refused string         `json:"refused,omitempty"` // why the configuration of trueup's own service does not hold
}

func healedDocument(all []healing) healedJSON {
	d := healedJSON{Version: 1, Units: []healedUnitJSON{}}
	for _, h := range all {
		one := healedUnitJSON{Unit: h.Unit, Changes: append([]units.Change{}, h.Changes.Done...), Result: h.Outcome.Result,
			Path: map[heal.Action]string{heal.Left: "left", heal.Healed: "healed", heal.Dead: "dead"}[h.Outcome.Action]}
		if h.Err != nil {
			one.Error = oneLine(h.Err)
		}
		if h.refused != nil {
			one.Refused = oneLine(h.refused)
		}
		d.Units = append(d.Units, one)
	}
	return d
}
