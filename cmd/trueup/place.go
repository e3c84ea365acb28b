package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"trueup/reconcile/trigger"
)

// A place is one trigger: its folders, and the unit when systemd runs it.
type place struct {
	unit    string // empty for trueup watch
	user    bool
	noTimer bool       // it was adopted with --no-timer
	config  *which     // of the reconciler behind it, where the command line names it
	site    *siteFacts // of it, where it was looked at already
	folders trigger.Folders
	policy  trigger.Policy
}

// readAgain has the configuration read at each look, and not only when the place was found.
func (p place) readAgain() {
	if p.config != nil {
		p.config.loaded = nil
	}
}

// where is the command line's way to name a place: a unit, or the folders themselves. In a container there are no
// units, and its environment may name the folders.
type where struct {
	unit                 string
	name                 string // of one of trueup's own services, in place of its unit
	user                 bool
	spool, state, outbox string
}

func (w *where) unitFlags(c *cobra.Command) {
	c.Flags().StringVar(&w.unit, "unit", "", "the adopted `UNIT`; may be left out when there is only one")
	c.Flags().StringVar(&w.name, "name", "", "in place of a unit, an instance `NAME` of trueup's own: trueup-NAME.service")
	c.Flags().BoolVar(&w.user, "user", false, "a unit of your own systemd --user")
}

func (w *where) spoolFlag(c *cobra.Command) {
	c.Flags().StringVar(&w.spool, "spool", "", "the spool `DIR`, which the web app writes (TRUEUP_SPOOL)")
}

func (w *where) stateFlag(c *cobra.Command) {
	c.Flags().StringVar(&w.state, "state", "", "the state `DIR`, which is trueup's own (TRUEUP_STATE)")
}

func (w *where) outboxFlag(c *cobra.Command) {
	c.Flags().StringVar(&w.outbox, "outbox", "", "the outbox `DIR`, which the web app reads (TRUEUP_OUTBOX)")
}

// fromEnvironment sets each flag that was not given and whose TRUEUP_ variable is.
func fromEnvironment(c *cobra.Command, names ...string) error {
	for _, name := range names {
		variable := "TRUEUP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := os.Getenv(variable)
		if value == "" || c.Flags().Changed(name) {
			continue
		}
		if err := c.Flags().Set(name, value); err != nil {
			return usageError("mend or unset it", "%s: %s=%q: %w", c.Name(), variable, value, err)
		}
	}
	return nil
}

// foldersGiven tells whether the command line names folders.
func foldersGiven(c *cobra.Command) bool {
	return c.Flags().Changed("spool") || c.Flags().Changed("state") || c.Flags().Changed("outbox")
}

// byFolders tells whether folders were named, and makes them absolute. A unit that was named outdoes the environment.
func (w *where) byFolders(c *cobra.Command) (bool, error) {
	if w.unit != "" || w.user {
		if foldersGiven(c) {
			return false, usageError("name the unit or its folders", "%s: both a unit and folders are given", c.Name())
		}
		return false, nil
	}
	var known []string
	for _, name := range []string{"spool", "state", "outbox"} {
		if c.Flags().Lookup(name) != nil {
			known = append(known, name)
		}
	}
	if err := fromEnvironment(c, known...); err != nil {
		return false, err
	}
	for _, dir := range []*string{&w.spool, &w.state, &w.outbox} {
		if *dir == "" {
			continue
		}
		absolute, err := filepath.Abs(*dir)
		if err != nil {
			return false, err
		}
		*dir = absolute
	}
	return w.spool+w.state+w.outbox != "", nil
}

// one finds the one place that is meant.
func (w *where) one(ctx context.Context, c *cobra.Command) (place, error) {
	if w.name != "" {
		if w.unit != "" {
			return place{}, usageError("name one of them", "%s: both a unit and an instance are given", c.Name())
		}
		w.unit = "trueup-" + w.name + ".service"
	}
	byFolders, err := w.byFolders(c)
	if err != nil {
		return place{}, err
	}
	if byFolders {
		return place{folders: trigger.Folders{Spool: w.spool, State: w.state, Outbox: w.outbox}}, nil
	}
	places, err := adopted(ctx, w.user)
	if err != nil {
		return place{}, err
	}
	return pick(c.Name(), places, w.unit, w.user)
}

// pick finds a unit by its name, or the only one.
func pick(verb string, places []place, unit string, user bool) (place, error) {
	var names []string
	for _, p := range places {
		if strings.TrimSuffix(unit, ".service") == strings.TrimSuffix(p.unit, ".service") {
			return p, nil
		}
		names = append(names, p.unit)
	}
	manager, elsewhere := "", ", --user if it is your own"
	if user {
		manager, elsewhere = " --user", ""
	}
	switch {
	case len(places) == 0 && unit == "":
		return place{}, fail(exitConfig, "trueup adopt"+manager+" UNIT.service"+elsewhere+", or name the folders: --spool DIR --outbox DIR",
			"%s: no unit is adopted here", verb)
	case unit != "":
		return place{}, usageError("trueup adopt"+manager+" "+quoted(unit)+"; adopted here: "+list(names),
			"%s: %s is not adopted", verb, unit)
	case len(places) > 1:
		return place{}, usageError("trueup "+verb+manager+" --unit "+quoted(names[0]),
			"%s: several units are adopted here: %s", verb, list(names))
	}
	return places[0], nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
