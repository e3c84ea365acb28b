package publish

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The names of the alarms.
const (
	TriggerDead = "trigger-dead" // touches go unheard
	Stale       = "stale"        // the last success is older than three sweep intervals
	Held        = "held"         // changes wait for a person's approval
	Failing     = "failing"      // a run or a target fails again and again, or does not end
	Disk        = "disk"         // a folder that is written to is full, nearly so, damaged or gone
	Reserved    = "reserved"     // scopes are kept by a work item that nobody works on
)

// Names are the names of all alarms.
func Names() []string { return []string{TriggerDead, Stale, Held, Failing, Disk, Reserved} }

// An ID tells alarms apart.
type ID struct {
	Name   string `json:"alarm"`
	Unit   string `json:"unit"`             // the service that it is about
	Target string `json:"target,omitempty"` // the target or the work item; empty: the unit itself
}

// whole tells whether it names what it is about.
func (id ID) whole() bool { return id.Name != "" && id.Unit != "" }

// An Alarm is something that a person has to deal with.
type Alarm struct {
	ID
	Text string `json:"text"`         // one line for people
	Do   string `json:"do,omitempty"` // the command that deals with it, or shows more
	// Said: whoever found it first has said so in the journal, and it is not said again.
	Said bool `json:"-"`
	// Sure: it is raised at once. What may be so for a moment only, while units are being changed or started, has to be
	// found twice in a row.
	Sure bool `json:"-"`
}

// A Look is what was found wrong at one moment.
type Look struct {
	Found []Alarm // the first of several with one ID counts
	// Unknown tells of which alarms nothing can be said, since what they are about could not be looked at: they stay as
	// they are. Nil: of none.
	Unknown func(ID) bool
}

// A Standing is an alarm that was raised, until its clearing has been told.
type Standing struct {
	Alarm
	Since   time.Time `json:"since"`
	Cleared bool      `json:"cleared,omitempty"` // it is over, and that has not been told everywhere; or was not raised yet
	Doubt   bool      `json:"doubt,omitempty"`   // the last look found the opposite, and the next one decides
	Pending []Notice  `json:"pending,omitempty"` // not told everywhere yet, in their order
	Tries   int       `json:"tries,omitempty"`   // to deliver the first of them, in vain
	// NotBefore is when delivering is tried again.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// A Notice says that an alarm was raised or cleared.
type Notice struct {
	Alarm
	Cleared bool      `json:"cleared,omitempty"` // else raised
	At      time.Time `json:"at"`
	Since   time.Time `json:"since"`          // when the alarm was raised
	Told    bool      `json:"told,omitempty"` // it stands in the journal
}

// State is the word for what happened: raised or cleared.
func (n Notice) State() string {
	if n.Cleared {
		return "cleared"
	}
	return "raised"
}

// Next is what stands after a look, given what stood before it: what is newly found is raised, what two looks in a row do not
// find is cleared, and each of both leaves a notice. It is in the order of the IDs.
func Next(before []Standing, look Look, now time.Time) []Standing {
	found := map[ID]Alarm{}
	for _, a := range bounded(look.Found, before) {
		if _, twice := found[a.ID]; !twice {
			found[a.ID] = a
		}
	}
	var after []Standing
	for _, s := range before {
		a, is := found[s.ID]
		delete(found, s.ID)
		switch {
		case is:
			s.found(a, now)
		case look.Unknown == nil || !look.Unknown(s.ID):
			s.missed(now)
		}
		after = append(after, s)
	}
	for _, a := range found {
		s := Standing{Cleared: true}
		s.found(a, now)
		after = append(after, s)
	}
	slices.SortFunc(after, func(a, b Standing) int { return compare(a.ID, b.ID) })
	return standing(after)
}

func compare(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Name, b.Name))
}

// found is what a look makes of an alarm that it found.
func (s *Standing) found(a Alarm, now time.Time) {
	s.Alarm = a
	if !s.Cleared {
		s.Doubt = false
		return
	}
	again := s.Doubt
	if !again {
		s.Since, s.Doubt = now, true
	}
	if again || a.Sure {
		s.Cleared, s.Doubt = false, false
		s.notify(Notice{Alarm: a, At: now, Since: s.Since, Told: a.Said})
	}
}

// missed is what it makes of one that it did not.
func (s *Standing) missed(now time.Time) {
	switch {
	case s.Cleared:
		s.Doubt = false
	case !s.Doubt:
		s.Doubt = true
	default:
		s.Cleared, s.Doubt = true, false
		s.notify(Notice{Alarm: s.Alarm, Cleared: true, At: now, Since: s.Since})
	}
}

// notify adds a notice. Where two wait already, that cancel out, the newest alone is news.
func (s *Standing) notify(n Notice) {
	if p := s.Pending; len(p) >= 2 && p[0].Told && p[1].Told {
		s.Pending, s.Tries, s.NotBefore = nil, 0, time.Time{}
	}
	s.Pending = append(slices.Clip(s.Pending), n)
}

// most is how many alarms of one name stand about targets of one unit: what breaks hundreds of targets at once is one
// trouble, and a person reads no hundreds of mails.
const most = 50

// bounded folds the alarms above the bound into one. Those that stand stay.
func bounded(found []Alarm, before []Standing) []Alarm {
	stands := map[ID]bool{}
	for _, s := range before {
		stands[s.ID] = !s.Cleared
	}
	sorted := slices.Clone(found)
	slices.SortStableFunc(sorted, func(a, b Alarm) int {
		return cmp.Or(cmp.Compare(rank(stands[a.ID]), rank(stands[b.ID])), compare(a.ID, b.ID))
	})
	count := map[ID]int{}
	kept := sorted[:0]
	for _, a := range sorted {
		whole := ID{Name: a.Name, Unit: a.Unit}
		if a.Target != "" {
			if count[whole]++; count[whole] > most {
				continue
			}
		}
		kept = append(kept, a)
	}
	for whole, n := range count {
		if n > most {
			kept = append(kept, Alarm{ID: whole, Text: fmt.Sprintf("%s: %d more targets beside those that are named", whole.Name, n-most), Do: "trueup status"})
		}
	}
	return kept
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}
