package main

import (
	"fmt"
	"time"
)

// missedSweeps is after how many sweep intervals without a success a person should look.
const missedSweeps = 3

// needsOfStale tells of a unit that should have succeeded by now, whatever keeps it from that.
func (f facts) needsOfStale(need need) {
	age, known := f.unsuccessful()
	if limit := missedSweeps * f.interval(); known && limit > 0 && age > limit {
		last := "it has not succeeded for " + span(age)
		if !f.state.Settled.Finished.Wall.IsZero() {
			last = f.lastSuccess()
		}
		need(f.journal("-n 50"), "stale: %s, and a run is due every %s", last, span(f.interval()))
	}
}

// interval is how often something starts the unit unasked; zero where nothing is meant to. A timer of the unit's own may
// come less often than the sweep of the trigger is due.
func (f facts) interval() time.Duration {
	s := f.systemd
	if s == nil || s.timer().Unit == "" && s.timerDeclined {
		return 0
	}
	every := max(f.policy.Sweep, f.every)
	if t := s.timer(); !t.Next.IsZero() && !t.Last.IsZero() {
		every = max(every, t.Next.Sub(t.Last).Round(time.Second))
	}
	return every
}

// unsuccessful is for how long the unit has not succeeded, as far as it could have: since it was adopted, since the host
// is up, and since somebody has been looking.
func (f facts) unsuccessful() (age time.Duration, known bool) {
	s, last := f.systemd, f.state.Settled.Finished
	switch {
	case s == nil || f.stateErr != nil || f.state.Damage != nil || f.underway():
		return 0, false
	case last.Boot == f.boot && last.Boot != "":
		age = f.uptime - last.At
	case !last.Wall.IsZero(): // a boot ago, or in a container whose gate sees another boot's number
		age = min(f.uptime, max(0, f.now.Sub(last.Wall)))
	case !s.Path.Since.IsZero():
		age = min(f.uptime, f.now.Sub(s.Path.Since))
	default:
		return 0, false
	}
	if f.watched > 0 {
		age = min(age, f.watched)
	}
	return age, true
}

// underway tells whether the first run for a claim is on, and will end: it may take as long as its timeout lets it.
func (f facts) underway() bool {
	s, c := f.systemd.Service, f.state.Claim
	return s.Active == "activating" && s.Sub != "start-pre" && !s.Unbounded && c != nil && c.Attempt == 1
}

func (f facts) wellStale() string {
	if f.interval() == 0 {
		return ""
	}
	if f.state.Settled.Finished.Wall.IsZero() {
		return fmt.Sprintf("its first success is not late: it has %d sweep intervals of %s", missedSweeps, span(f.interval()))
	}
	return fmt.Sprintf("it has succeeded within %d sweep intervals of %s", missedSweeps, span(f.interval()))
}
