package main

import (
	"slices"
	"time"

	"trueup/reconcile"
)

// starving is how long a target may be owed while somebody else holds one of its scopes: longer than a lease lives.
const starving = 20 * time.Minute

// checkTargets judges what is known of the targets.
func (a patient) checkTargets(c *checks) {
	c.findings("targets.states", a.site.troubled(), "no target waits for a person")
	c.findings("targets.unattended", a.site.unattended(), "no work item holds scopes without somebody who works")
	a.checkStarved(c)
	a.checkMarkers(c)
}

// checkStarved judges reservations that keep a target from being ticked.
func (a patient) checkStarved(c *checks) {
	starved := false
	for _, s := range a.site.standings {
		waits := a.now.Sub(s.CoveredAt) // each sweep asks anew, so when it was asked last tells nothing
		if s.CoveredAt.IsZero() {
			waits = a.now.Sub(s.Since)
		}
		if !s.Owed() || waits < starving {
			continue
		}
		if item, reserved := a.site.reserved[s.Target]; reserved {
			starved = true
			w, do := gravity(item), a.site.release(item)
			c.add(w, "targets.starved", do, "starved: %s is owed for %s, and is %s", s.Target, span(waits), reservationNote(item, a.now))
		} else if l, held := a.holder(s.Target); held {
			starved = true
			c.add(isWarning, "targets.starved", "trueup show"+a.site.flags+" "+string(l.Run), "starved: %s is owed for %s, and run %s (%s) holds %s until %s",
				s.Target, span(waits), l.Run, l.Holder, joined(l.Scopes), clock(l.Until, a.now))
		} // else it is ticked, or fails, which its state tells
	}
	if !starved {
		c.ok("targets.starved", "no target is kept waiting by who holds its scopes")
	}
}

// gravity is how much a reservation matters that starves a target: one that nobody works under ends by itself never.
func gravity(i reconcile.Item) word {
	switch {
	case i.NeedsPerson():
		return isWrong
	case i.Session.Until.IsZero(): // a pause is meant to last
		return isNote
	}
	return isWarning
}

// holder finds a run of another target that holds one of the target's scopes.
func (a patient) holder(target reconcile.Key) (reconcile.Lease, bool) {
	var needed []reconcile.Scope
	for _, t := range a.ledger.config.Targets {
		if t.Key() == target {
			needed = t.Target().Holds()
		}
	}
	for _, l := range a.site.leases {
		if l.Target != target && slices.ContainsFunc(l.Scopes, func(s reconcile.Scope) bool { return slices.Contains(needed, s) }) {
			return l, true
		}
	}
	return reconcile.Lease{}, false
}
