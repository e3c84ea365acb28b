package units

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

const (
	pathsTarget  = "paths.target"
	timersTarget = "timers.target"
)

// findTriggers looks at the path unit and the timers there are.
func (j *adopting) findTriggers() error {
	a := j.rec.Adoption
	if err := j.findOldPath(); err != nil {
		return err
	}
	foreign := j.foreignTimers()
	j.changes.Timers = foreign
	if j.wantsTimer(foreign) {
		j.rec.OwnTimer, j.changes.OwnTimer = true, true
		j.changes.Timers = append(foreign, a.Timer())
	}
	return nil
}

// wantsTimer tells whether the unit is to have a timer of ours: when nothing else starts it regularly; and one that it
// has stays, whatever was added beside it, until NoTimer declines it.
func (j *adopting) wantsTimer(foreign []string) bool {
	a := j.rec.Adoption
	if a.NoTimer || slices.Contains(foreign, a.Timer()) {
		return false
	}
	return len(foreign) == 0 || j.had.OwnTimer
}

// foreignTimers are those that start the unit and are not ours, and a UNIT.timer that nobody has loaded yet.
func (j *adopting) foreignTimers() []string {
	a := j.rec.Adoption
	var out []string
	for _, unit := range j.props.TriggeredBy {
		if strings.HasSuffix(unit, ".timer") && unit != a.Timer() {
			out = append(out, unit)
		}
	}
	if j.timer.Load == "loaded" && !ours(j.timer.fragment, a.Unit) {
		out = append(out, a.Timer())
	}
	slices.Sort(out)
	return out
}

// findOldPath refuses a UNIT.path of somebody else's, or with --replace notes how it stands, for unadopt. A note
// that was made before is kept: its links may be gone since.
func (j *adopting) findOldPath() error {
	a, m := j.rec.Adoption, j.m
	j.rec.Old = j.had.Old
	file := j.path.fragment
	if j.path.Load == "masked" {
		file = m.file(a.Path())
	}
	info, err := os.Lstat(file)
	if j.path.Load == "not-found" || err != nil || ours(file, a.Unit) {
		return nil
	}
	if !a.Replace && !j.had.Old.any() {
		return &Refusal{Unit: a.Unit, Reason: fmt.Sprintf("%s (%s) is not ours", a.Path(), file),
			Hint: "put it aside with --replace; unadopt brings it back"}
	}
	if kept, err := os.Lstat(m.aside(a.Unit)); err == nil && !os.SameFile(kept, info) {
		return &Refusal{Unit: a.Unit, Reason: fmt.Sprintf("%s is not ours, and %s holds another already", file, m.aside(a.Unit)),
			Hint: "move one of them away"}
	}
	if j.had.Old.any() {
		return nil
	}
	links, err := enablement(m.config, a.Path())
	if err != nil {
		return err
	}
	j.rec.Old = replaced{File: file, Links: links, Active: j.path.Active == "active"}
	return nil
}

// enablement lists the links by which a unit is enabled, relative to the unit folder.
func enablement(config, unit string) ([]string, error) {
	var out []string
	for _, kind := range []string{"wants", "requires", "upholds"} {
		found, err := filepath.Glob(filepath.Join(globEscape(config), "*."+kind, globEscape(unit)))
		if err != nil {
			return nil, err
		}
		for _, link := range found {
			target, err := os.Readlink(link)
			if err != nil {
				continue // no link: nothing that systemctl made
			}
			rel, err := filepath.Rel(config, link)
			if err != nil {
				return nil, err
			}
			out = append(out, rel+arrow+target)
		}
	}
	slices.Sort(out)
	return out, nil
}

const arrow = " -> "

// warnTimers names timers that are there and do not help.
func (j *adopting) warnTimers(ctx context.Context) []Verdict {
	var out []Verdict
	add := func(rule, format string, args ...any) {
		out = append(out, Verdict{Rule: rule, Reason: fmt.Sprintf(format, args...)})
	}
	if len(j.changes.Timers) == 0 {
		add("no-timer", "no timer starts it: what no touch asks for is never run, and a dead path unit is not healed")
	}
	if len(j.path.dropins) > 0 {
		add("path-dropin", "%s changes %s as well", j.path.dropins[0], j.rec.Path())
	}
	if j.rec.OwnTimer {
		return out
	}
	active := false
	for _, timer := range j.changes.Timers {
		all, err := j.m.conn.GetAllPropertiesContext(ctx, timer)
		if err != nil {
			continue // it only warns
		}
		active = active || bag(all).text("ActiveState") == "active"
		if standsAlone(bag(all)) {
			add("timer-alone", "%s: OnUnitActiveSec= or OnUnitInactiveSec= alone never fires: add OnActiveSec=", timer)
		}
	}
	if !active && len(j.changes.Timers) > 0 {
		add("timer-inactive", "%s is not active: enable it, or nothing heals drift", strings.Join(j.changes.Timers, ", "))
	}
	return out
}

// standsAlone tells whether a timer only counts from runs that nothing starts (F18).
func standsAlone(timer bag) bool {
	bases := timer.firsts("TimersMonotonic")
	relative := func(base string) bool { return base == "OnUnitActiveUSec" || base == "OnUnitInactiveUSec" }
	return len(bases) > 0 && len(timer.rows("TimersCalendar")) == 0 &&
		!slices.ContainsFunc(bases, func(b string) bool { return !relative(b) })
}

// warnLinger warns of a user manager that ends with its user's last session.
func (m *Manager) warnLinger() []Verdict {
	if !m.user {
		return nil
	}
	me, err := user.Current()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join("/var/lib/systemd/linger", me.Username)); err == nil {
		return nil
	}
	return []Verdict{{"linger", "linger is off: the trigger ends with the last session", "loginctl enable-linger " + me.Username}}
}
