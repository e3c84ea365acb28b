package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"

	"trueup/units"
	"trueup/units/heal"
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
	state, err := m.Trigger(ctx, p.unit)
	if err != nil {
		return nil, err
	}
	s := &systemdFacts{
		pathLoaded: state.Path.Load == "loaded", pathEnabled: strings.HasPrefix(state.Path.File, "enabled"),
		pathActive: state.Path.Active, pathSub: state.Path.Sub, pathResult: state.Path.Result,
		service: state.Service.Active, serviceSub: state.Service.Sub, serviceResult: state.Service.Result,
		timerDeclined: p.noTimer,
	}
	for _, t := range state.Timers {
		if s.timer == "" || t.Active == "active" && !s.timerActive {
			s.timer, s.timerActive, s.timerElapsed = t.Unit, t.Active == "active", t.Sub == "elapsed"
		}
		if !t.Next.IsZero() && (s.nextSweep.IsZero() || t.Next.Before(s.nextSweep)) {
			s.nextSweep = t.Next
		}
	}
	if err := s.addDetails(ctx, p, state.Path.Unit); err != nil {
		return nil, err
	}
	if s.pathSub == "waiting" && unwatched(p.user, p.folders.Spool) {
		again, err := m.Trigger(ctx, p.unit) // a touch in between takes the watches away for a moment
		s.spoolUnwatched = err == nil && again.Path.Sub == "waiting"
	}
	return s, nil
}

// addDetails asks for what only findings need.
func (s *systemdFacts) addDetails(ctx context.Context, p place, path string) error {
	conn, err := connect(ctx, p.user)
	if err != nil {
		return fmt.Errorf("connecting to systemd: %w", err)
	}
	defer conn.Close()
	property := func(unit, kind, name string) any {
		p, propertyErr := conn.GetUnitTypePropertyContext(ctx, unit, kind, name)
		if propertyErr != nil {
			err = errors.Join(err, fmt.Errorf("asking systemd about %s: %w", unit, propertyErr))
			return nil
		}
		return p.Value.Value()
	}
	since, _ := property(p.unit, "Unit", "StateChangeTimestamp").(uint64)
	s.serviceSince = time.UnixMicro(int64(since))
	timeout, _ := property(p.unit, "Service", "TimeoutStartUSec").(uint64)
	s.unbounded = timeout == math.MaxUint64
	s.runsAs, _ = property(p.unit, "Service", "User").(string)
	started, _ := property(path, "Unit", "ActiveEnterTimestamp").(uint64)
	s.pathStarted = started > 0
	return err
}

func connect(ctx context.Context, user bool) (*systemd.Conn, error) {
	if !user && os.Geteuid() != 0 {
		return systemd.NewSystemConnectionContext(ctx)
	}
	return systemd.NewConnection(bound(ctx, user, heal.Dial))
}

// bound is a dialler that knows where.
func bound[C any](ctx context.Context, user bool, dial func(context.Context, bool) (C, error)) func() (C, error) {
	return func() (C, error) { return dial(ctx, user) }
}
