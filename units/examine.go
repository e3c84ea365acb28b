package units

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Verdict is what one rule says against a unit.
type Verdict struct {
	Rule   string // its name, which stays: type, conditions, timeout
	Reason string
	Hint   string // the way out; may be empty
}

// texts are the verdicts as lines.
func texts(verdicts []Verdict) (lines []string) {
	for _, v := range verdicts {
		line := v.Reason
		if v.Hint != "" {
			line += "; " + v.Hint
		}
		lines = append(lines, line)
	}
	return lines
}

// An Examination holds an adopted unit, as it is now, against every rule by which Adopt would go. Nothing is changed.
type Examination struct {
	Version  int // of systemd
	Adoption Adoption
	User     string        // whom the unit runs as; empty: the manager's own user
	Timeout  time.Duration // its start timeout; zero: none
	// Refused is why Adopt would refuse the unit. The rules are load, type, user, sockets, root, conditions, requires and
	// later, about the unit; path, gate, owner, place and shared, about what is around it; folders, about those that Adopt
	// would make or change.
	Refused []Verdict
	// Warned is what Adopt would warn of: version, timeout, ignored, success, restart, boot, socket, reload, tmpfs, linger,
	// no-timer, path-dropin, timer-alone and timer-inactive; and alarms, where nobody looks for them.
	Warned []Verdict
}

// Examine looks at everything that can be wrong about an adopted unit, and does not end at the first fault. A unit that
// is not adopted is a *Refusal.
func (m *Manager) Examine(ctx context.Context, unit string) (Examination, error) {
	j := &adopting{m: m, recorder: recorder{&Changes{User: m.user}, true}}
	a := Adoption{DryRun: true}
	var err error
	if a.Unit, err = unitName(unit); err != nil {
		return Examination{}, err
	}
	if err := j.load(ctx, &a); err != nil {
		return Examination{}, err
	}
	if err := j.readRecord(a.Unit); err != nil {
		return Examination{}, err
	}
	if j.had.Unit == "" {
		return Examination{}, &Refusal{Unit: a.Unit, Reason: "it is not adopted", Hint: "trueup adopt " + a.Unit}
	}
	j.rec = j.had
	j.rec.User = j.props.User
	e := Examination{Version: m.version, Adoption: j.rec.Adoption, User: j.props.User}
	if !j.props.unbounded() {
		e.Timeout = time.Duration(min(j.props.TimeoutStart, math.MaxInt64/1000)) * time.Microsecond
	}
	e.unit(j)
	e.around(j)
	e.warnings(ctx, j)
	return e, nil
}

// unit judges the unit itself.
func (e *Examination) unit(j *adopting) {
	for _, r := range refusals {
		if reason, hint := r.check(j.rec.Adoption, j.props, j.src); reason != "" {
			e.Refused = append(e.Refused, Verdict{r.name, reason, hint})
		}
	}
}

// around judges what the unit needs beside itself.
func (e *Examination) around(j *adopting) {
	a := j.rec.Adoption
	e.refuse("path", j.findTriggers())
	if err := a.checkGate(); err != nil {
		e.refuse("gate", err)
	} else {
		e.refuse("gate", j.m.refuseGate(a))
	}
	for _, f := range a.named() {
		tmpfs, err := refusePlace(a.Unit, f.role, f.path)
		e.refuse("place", err)
		if tmpfs && f.role == "state" {
			e.Warned = append(e.Warned, Verdict{"tmpfs", f.path + " is on tmpfs: a reboot forgets what is owed", ""})
		}
	}
	own, err := ownerOf(j.props)
	if err != nil {
		e.refuse("owner", &Refusal{Reason: err.Error(), Hint: "create the user that the unit runs as"})
		return
	}
	e.refuse("shared", j.refuseRivals(own))
	e.refuse("folders", j.needFolders(own))
	for _, f := range j.folders {
		e.refuse("folders", f.fault())
	}
}

// fault says what Adopt would do about a folder.
func (f folder) fault() error {
	op, err := f.wants()
	switch {
	case err != nil:
		return err
	case op == Create:
		return &FolderError{Path: f.path, Err: errors.New("it is not there")}
	case op == Update:
		return &FolderError{Path: f.path, Err: errors.New("its owner, group or mode is not what the trigger needs")}
	}
	return nil
}

// refuse notes an error that Adopt would end with, under the rule that it comes from.
func (e *Examination) refuse(rule string, err error) {
	if err == nil {
		return
	}
	v := Verdict{Rule: rule, Reason: err.Error()}
	if r, ok := errors.AsType[*Refusal](err); ok {
		v.Reason, v.Hint = r.Reason, r.Hint
	} else if f, ok := errors.AsType[*FolderError](err); ok {
		v.Hint = f.Hint
	} else if u, ok := errors.AsType[*UsageError](err); ok {
		v.Hint = u.Hint
	}
	e.Refused = append(e.Refused, v)
}

// warnings judges what works, and will surprise somebody.
func (e *Examination) warnings(ctx context.Context, j *adopting) {
	e.Warned = append(e.Warned, warn(j.props, j.m.version)...)
	for _, s := range []struct {
		unit  string
		stale bool
	}{{e.Adoption.Unit, j.props.NeedReload}, {e.Adoption.Path(), j.path.needReload}, {e.Adoption.Timer(), j.timer.needReload}} {
		if s.stale {
			e.Warned = append(e.Warned, Verdict{"reload", fmt.Sprintf("%s has changed on disk, and systemd has not read it", s.unit), "systemctl daemon-reload"})
		}
	}
	e.Warned = append(e.Warned, j.m.warnLinger()...)
	e.Warned = append(e.Warned, j.warnTimers(ctx)...)
	e.Warned = append(e.Warned, j.m.warnAlarms(ctx)...)
}
