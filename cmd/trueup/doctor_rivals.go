package main

import (
	"context"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/config"
)

// A rival is another installed instance that keeps one of this one's scopes in a ledger of its own: neither keeps the other from
// ticking.
type rival struct {
	name, unit, file, ledger string
	scope                    reconcile.Scope
}

// rivals look for them among what the same manager has installed.
func rivals(ctx context.Context, w which, ours *config.Config) (found []rival) {
	m, err := manager(ctx, w.user)
	if err != nil {
		return nil // without systemd nothing is installed
	}
	defer m.Close()
	adopted, _ := m.Adopted(ctx) // who looks at the trigger has met the same
	for _, a := range adopted {
		name, is := instanceOf(a.Unit)
		if !is || name == w.name {
			continue
		}
		file, err := m.InstalledConfig(name)
		if err != nil || file == "" {
			continue
		}
		theirs, err := loadConfig(file, name, w.user)
		if err != nil {
			continue // which its own examination tells
		}
		if scope, is := contested(ours, theirs, allScopes(ours)); is {
			found = append(found, rival{name, a.Unit, file, theirs.Database(), scope})
		}
	}
	return found
}

func allScopes(c *config.Config) (scopes []reconcile.Scope) {
	for _, t := range c.Targets {
		scopes = append(scopes, t.Target().Holds()...)
	}
	return scopes
}

// contested is one of the scopes that the other configuration keeps in another ledger than ours.
func contested(ours, theirs *config.Config, scopes []reconcile.Scope) (scope reconcile.Scope, is bool) {
	if ledgerName(ours) == ledgerName(theirs) {
		return "", false
	}
	for _, held := range allScopes(theirs) {
		if slices.Contains(scopes, held) {
			return held, true
		}
	}
	return "", false
}

// checkRivals judges the instances beside this one.
func (a patient) checkRivals(c *checks) {
	for _, r := range a.ledger.rivals {
		named := ""
		if r.name != "" {
			named = " --name " + quoted(r.name)
		}
		if a.user {
			named += " --user"
		}
		c.add(isWarning, "targets.rivals", "trueup uninstall"+named+" # or have both configurations name one ledger (state:)",
			"%s (%s) keeps %s too, in another ledger: %s; neither waits for the other", r.unit, r.file, r.scope, r.ledger)
	}
	if len(a.ledger.rivals) == 0 {
		c.ok("targets.rivals", "no other instance has its scopes in another ledger")
	}
}
