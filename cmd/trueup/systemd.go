package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"trueup/units"
)

// manager connects to the systemd that is meant.
func manager(ctx context.Context, user bool) (*units.Manager, error) {
	open := units.System
	if user {
		open = units.User
	}
	m, err := open(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(exitConfig, "without systemd: trueup watch, and --spool DIR --state DIR --outbox DIR for the other verbs", "%w", err)
	}
	return m, err
}

// adopted lists the places of the units that have a trigger.
func adopted(ctx context.Context, user bool) ([]place, error) {
	m, err := manager(ctx, user)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	found, err := m.Adopted(ctx)
	if err != nil {
		return nil, err
	}
	var places []place
	for _, a := range found {
		places = append(places, place{unit: a.Unit, user: user, noTimer: a.NoTimer, folders: a.Folders, policy: a.Policy})
	}
	return places, nil
}

// askSystemd looks at the units of one trigger.
func askSystemd(ctx context.Context, p place) (*systemdFacts, error) {
	m, err := manager(ctx, p.user)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	s := &systemdFacts{timerDeclined: p.noTimer}
	if s.TriggerState, err = m.Trigger(ctx, p.unit); err != nil {
		return nil, err
	}
	if s.Path.Sub == "waiting" && unwatched(p.user, p.folders.Spool) {
		again, err := m.Trigger(ctx, p.unit) // a touch in between takes the watches away for a moment
		s.spoolUnwatched = err == nil && again.Path.Sub == "waiting"
	}
	return s, nil
}

// pathEnabled tells whether somebody wants the path unit to watch.
func (s *systemdFacts) pathEnabled() bool { return strings.HasPrefix(s.Path.File, "enabled") }

// timer is what triggers the unit regularly, one that runs if any does; its name is empty when nothing does.
func (s *systemdFacts) timer() (timer units.TimerState) {
	for _, t := range s.Timers {
		if timer.Unit == "" || t.Active == "active" && timer.Active != "active" {
			timer = t
		}
	}
	return timer
}

// nextSweep is when the first of the timers fires; zero when none will.
func (s *systemdFacts) nextSweep() (next time.Time) {
	for _, t := range s.Timers {
		if !t.Next.IsZero() && (next.IsZero() || t.Next.Before(next)) {
			next = t.Next
		}
	}
	return next
}
