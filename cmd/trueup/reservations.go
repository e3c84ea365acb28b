package main

import (
	"fmt"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/publish"
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
func (f *siteFacts) unattended() []finding { return findingsOf(f.forgotten()) }

func (f *siteFacts) forgotten() (found []snag) {
	for _, i := range f.items {
		if !i.NeedsPerson() {
			continue
		}
		word, goOn, do := "blocked", "trueup work unblock"+f.flags+" "+quoted(string(i.ID)), f.release(i)
		switch _, pause := i.ID.Paused(); {
		case i.State == reconcile.Unreadable:
			word = "unreadable"
		case pause: // resume alone ends it
		case i.State == reconcile.InReview:
			word, do = "review", do+" · "+goOn
		default:
			do = goOn + " · " + do
		}
		what := fmt.Sprintf("%s: work item %s (%s) keeps %s", word, i.ID, i.Session.Holder, joined(i.Scopes))
		if i.Note != "" {
			what += ": " + oneLineOf(i.Note)
		}
		found = append(found, snag{publish.Reserved, string(i.ID), finding{what, do}})
	}
	return found
}

// release is the command that gives an item's scopes back.
func (f *siteFacts) release(i reconcile.Item) string {
	id := quoted(string(i.ID))
	if i.State == reconcile.Unreadable {
		return "trueup work discard" + f.flags + " " + id
	}
	if target, pause := i.ID.Paused(); pause {
		return "trueup resume" + f.flags + " " + quoted(string(target))
	}
	done := "trueup work done" + f.flags + " " + id
	if i.State == reconcile.InProgress {
		done += fmt.Sprintf(" --fence %d", i.Session.Fence)
	}
	return done
}

// seen are the standings as they are shown: a target that a work item keeps from being ticked is elsewhere, whatever its
// last tick came to, and one whose hold a person has answered waits for a sweep to go by it.
func (f *siteFacts) seen(now time.Time) []reconcile.Standing {
	seen := make([]reconcile.Standing, len(f.standings))
	for n, s := range f.standings {
		if _, waits := f.holds[s.Target]; s.Report.State == reconcile.Held && !waits {
			s.Report, s.Reason = reconcile.Report{}, "what it held back is answered; the next sweep goes by that"
		}
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
