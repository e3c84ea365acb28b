package main

import (
	"fmt"
	"time"

	"trueup/reconcile"
)

// reservedBy says of each target which work item keeps it from being ticked.
func reservedBy(targets []reconcile.Target, items []reconcile.Item) map[reconcile.Key]reconcile.Item {
	by := map[reconcile.Key]reconcile.Item{}
	for _, t := range targets {
		for _, i := range items {
			if i.Reserves(t.Holds()) != nil {
				by[t.Key] = i
			}
		}
	}
	return by
}

// unattended are the work items that hold scopes and that nobody works on. A pause is meant to last, and needs nobody.
func (f *siteFacts) unattended() (found []finding) {
	for _, i := range f.items {
		if !i.NeedsPerson() {
			continue
		}
		word, goOn, end := "blocked", fmt.Sprintf("trueup work unblock%s %s", f.flags, i.ID), fmt.Sprintf("trueup work done%s %s", f.flags, i.ID)
		if i.State == reconcile.InReview {
			word, goOn, end = "review", end, goOn
		}
		what := fmt.Sprintf("%s: work item %s (%s) keeps %s", word, i.ID, i.Session.Holder, joined(i.Scopes))
		if i.Note != "" {
			what += ": " + oneLineOf(i.Note)
		}
		found = append(found, finding{what, goOn + " · " + end})
	}
	return found
}

// seen are the standings as they are shown: a target that a work item keeps from being ticked is elsewhere, whatever its
// last tick came to.
func (f *siteFacts) seen(now time.Time) []reconcile.Standing {
	seen := make([]reconcile.Standing, len(f.standings))
	for n, s := range f.standings {
		if i, reserved := f.reserved[s.Target]; reserved {
			s = reconcile.Standing{Target: s.Target, CoveredAt: s.CoveredAt, Since: i.Since}
			s.Report = reconcile.Report{State: reconcile.Elsewhere, Note: reservationNote(i, now)}
		}
		seen[n] = s
	}
	return seen
}

// reservationNote says who keeps a target from being ticked.
func reservationNote(i reconcile.Item, now time.Time) string {
	switch {
	case i.NeedsPerson():
		return fmt.Sprintf("reserved by %s (%s), which is %s", i.ID, i.Session.Holder, i.State)
	case i.Session.Until.IsZero():
		return fmt.Sprintf("paused by %s: %s", i.Session.Holder, oneLineOf(i.Reason))
	}
	return fmt.Sprintf("reserved by %s (%s) until %s", i.ID, i.Session.Holder, clock(i.Session.Until, now))
}
