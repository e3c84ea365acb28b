package units

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// UnitState is what systemd says about one unit, in its own words.
type UnitState struct {
	Unit   string `json:"unit"`
	Load   string `json:"load"`   // loaded, not-found, masked
	Active string `json:"active"` // active, inactive, activating, failed
	Sub    string `json:"sub"`    // waiting, running, start-pre
	Result string `json:"result"` // success, or how it failed
	File   string `json:"file"`   // enabled, disabled

	fragment   string
	dropins    []string
	needReload bool
}

// PathState is the path unit.
type PathState struct {
	UnitState
	Since time.Time `json:"since"` // when it last began to watch; zero: not since it was loaded
}

// TimerState is a timer that starts the unit.
type TimerState struct {
	UnitState
	Next time.Time `json:"next"` // zero: it will not fire
	Last time.Time `json:"last"` // zero: it has not fired
}

// ServiceState is the adopted service.
type ServiceState struct {
	UnitState
	Text      string    `json:"text"`      // what the gate or the run says that it is doing
	Unbounded bool      `json:"unbounded"` // it has no start timeout, so a run that hangs hangs for ever
	User      string    `json:"user"`      // its User=; empty: the manager's own
	Since     time.Time `json:"since"`     // when it came into this state
	Began     time.Time `json:"began"`     // when it was started last: its gate began to wait then
}

// TriggerState is everything about a trigger that systemd knows.
type TriggerState struct {
	Path    PathState    `json:"path"`
	Timers  []TimerState `json:"timers"`
	Service ServiceState `json:"service"`

	// Drifted: the drop-in, or our path unit or timer, is not what Adopt would write for the unit as it is now, most often
	// since the unit's own ExecStartPre= lines or its User= have changed, or another build wrote it. Adopt sets it right.
	Drifted bool `json:"drifted"`
}

// Prompt tells whether a touch is noticed: the path unit watches, or has started the service.
func (s TriggerState) Prompt() bool { return s.Path.Active == "active" }

// Dead tells whether the path unit died although it is wanted. The next activation heals it.
func (s TriggerState) Dead() bool {
	return s.Path.Active == "failed" && strings.HasPrefix(s.Path.File, "enabled")
}

// Adopted lists the units that have a trigger, by name.
func (m *Manager) Adopted(context.Context) ([]Adoption, error) {
	found, err := records(m.config)
	if err != nil {
		return nil, err
	}
	var out []Adoption
	for _, r := range found {
		out = append(out, r.Adoption)
	}
	return out, nil
}

// Trigger asks systemd how the trigger of an adopted unit stands.
func (m *Manager) Trigger(ctx context.Context, unit string) (TriggerState, error) {
	var s TriggerState
	unit, err := unitName(unit)
	if err != nil {
		return s, err
	}
	service, err := m.state(ctx, unit, &s.Service.UnitState)
	if err != nil {
		return s, err
	}
	p := propertiesOf(service)
	s.Service.Text, s.Service.User, s.Service.Unbounded = service.text("StatusText"), p.User, p.unbounded()
	s.Service.Since, s.Service.Began = wall(service.number("StateChangeTimestamp")), wall(service.number("InactiveExitTimestamp"))
	s.Drifted = m.drifted(unit, p)
	path, err := m.state(ctx, Adoption{Unit: unit}.Path(), &s.Path.UnitState)
	if err != nil {
		return s, err
	}
	s.Path.Since = wall(path.number("ActiveEnterTimestamp"))
	for _, name := range service.texts("TriggeredBy") {
		if !strings.HasSuffix(name, ".timer") {
			continue
		}
		var t TimerState
		timer, err := m.state(ctx, name, &t.UnitState)
		if err != nil {
			return s, err
		}
		t.Next, t.Last = elapses(timer), wall(timer.number("LastTriggerUSec"))
		s.Timers = append(s.Timers, t)
	}
	return s, nil
}

// drifted tells whether Adopt would write other files. What cannot be read cannot be told, and a path unit or a timer that is
// gone, or somebody else's, has not drifted.
func (m *Manager) drifted(unit string, p properties) bool {
	text, _, err := readText(m.dropin(unit))
	rec, adopted := parseRecord(text)
	if err != nil || !adopted {
		return false
	}
	rec.User = p.User
	src, err := m.readSource(unit, p)
	if err == nil && renderDropin(rec, src) != text || unlike(m.file(rec.Path()), unit, renderPath(rec, m.user)) {
		return true
	}
	return rec.OwnTimer && unlike(m.file(rec.Timer()), unit, renderTimer(rec, m.user))
}

// unlike tells whether the file is ours for this unit, and has another text.
func unlike(path, unit, text string) bool {
	is, _, err := readText(path)
	return err == nil && is != text && ours(path, unit)
}

// state asks for all properties of a unit, and notes those that every unit has.
func (m *Manager) state(ctx context.Context, unit string, to *UnitState) (bag, error) {
	all, err := m.conn.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return nil, fmt.Errorf("asking systemd about %s: %w", unit, denied(err))
	}
	b := bag(all)
	*to = UnitState{Unit: unit, Load: b.text("LoadState"), Active: b.text("ActiveState"), Sub: b.text("SubState"),
		Result: b.text("Result"), File: b.text("UnitFileState"),
		fragment: b.text("FragmentPath"), dropins: b.texts("DropInPaths"), needReload: b.flag("NeedDaemonReload")}
	return b, nil
}

// unit is state for callers that need no more than that.
func (m *Manager) unit(ctx context.Context, name string) (s UnitState, err error) {
	_, err = m.state(ctx, name, &s)
	return s, err
}

// elapses is when a timer fires next, on the wall clock. systemd counts its monotonic part in CLOCK_MONOTONIC.
func elapses(timer bag) time.Time {
	next := wall(timer.number("NextElapseUSecRealtime"))
	monotonic := timer.number("NextElapseUSecMonotonic")
	var now unix.Timespec
	if monotonic == 0 || monotonic == math.MaxUint64 || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return next
	}
	in := time.Duration(monotonic)*time.Microsecond - time.Duration(now.Nano())
	if at := time.Now().Add(in).Truncate(time.Millisecond); next.IsZero() || at.Before(next) {
		return at
	}
	return next
}

func wall(usec uint64) time.Time {
	if usec == 0 || usec == math.MaxUint64 {
		return time.Time{}
	}
	return time.UnixMicro(int64(usec))
}

// gateWaits tells whether the service is at one of our lines before its run has begun.
func gateWaits(p properties, gate string) bool {
	if p.Sub != "start-pre" || p.ControlPID == 0 {
		return false
	}
	proc := fmt.Sprintf("/proc/%d/", p.ControlPID)
	for late := time.After(2 * time.Second); ; {
		line, err := os.ReadFile(proc + "cmdline")
		args := strings.Split(string(line), "\x00")
		if err == nil && len(args) > 1 && args[0] == gate {
			return args[1] == "claim" || args[1] == "heal"
		}
		// A process that systemd has just forked is still systemd, and becomes what it is in a moment.
		if exe, err := os.Readlink(proc + "exe"); err != nil || !strings.HasPrefix(filepath.Base(exe), "systemd") {
			return false
		}
		select {
		case <-late:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}
