package units

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	//go:embed files/trueup-check.service
	checkText string
	//go:embed files/trueup-check.user.service
	checkUserText string
	//go:embed files/trueup-check.timer
	checkTimerText string
)

// The units that look for what is wrong, apart from all that they look at.
const (
	checkName    = "check" // as an instance it would be the same unit
	checkService = "trueup-check.service"
	checkTimer   = "trueup-check.timer"
)

// CheckChanges says what was done to the units that raise alarms.
type CheckChanges struct {
	User     bool
	Done     []Change
	Packaged bool // a package has them: they are enabled and disabled, and its files stay
	Warnings []string
}

// A checking is one call of EnableCheck or DisableCheck.
type checking struct {
	recorder
	m        *Manager
	service  UnitState
	timer    UnitState
	packaged bool
}

// EnableCheck makes the units that run the program, which looks for what is wrong every minute, enables and starts them. It
// may be called again at any time, and changes only what differs. Units of that name that a package brought are only
// enabled and started; those of somebody else are a *Refusal, as is a program that another than root could change.
func (m *Manager) EnableCheck(ctx context.Context, program string, dry bool) (CheckChanges, error) {
	return m.check(ctx, dry, func(c *checking) error {
		if !c.packaged {
			if err := c.write(ctx, program); err != nil {
				return err
			}
		}
		c.changes.Warnings = texts(m.warnLinger())
		return c.enable(ctx)
	})
}

// DisableCheck takes exactly that away again which EnableCheck added. What was told and is still to be told stays.
func (m *Manager) DisableCheck(ctx context.Context, dry bool) (CheckChanges, error) {
	return m.check(ctx, dry, func(c *checking) error { return c.drop(ctx) })
}

// check does something with the units under the lock.
func (m *Manager) check(ctx context.Context, dry bool, do func(*checking) error) (CheckChanges, error) {
	done := &Changes{User: m.user}
	c := &checking{recorder: recorder{done, dry}, m: m}
	err := func() error {
		if !dry {
			unlock, err := m.lock(ctx)
			if err != nil {
				return err
			}
			defer unlock()
		}
		if err := c.look(ctx); err != nil {
			return err
		}
		return do(c)
	}()
	return CheckChanges{User: m.user, Done: done.Done, Packaged: c.packaged, Warnings: done.Warnings}, err
}

// look finds out whose the units are.
func (c *checking) look(ctx context.Context) (err error) {
	if c.service, err = c.m.unit(ctx, checkService); err != nil {
		return err
	}
	if c.timer, err = c.m.unit(ctx, checkTimer); err != nil {
		return err
	}
	for _, s := range []UnitState{c.service, c.timer} {
		file := c.m.file(s.Unit)
		_, err := os.Lstat(file)
		switch {
		case err == nil && !checkMade(file):
			return &Refusal{Unit: s.Unit, Reason: file + " is not ours", Hint: "move it away"}
		case err != nil && s.Load == "loaded" && s.fragment != file:
			c.packaged = true
		}
	}
	return nil
}

// warnAlarms warns where nobody looks for alarms.
func (m *Manager) warnAlarms(ctx context.Context) []Verdict {
	timer, err := m.unit(ctx, checkTimer)
	if err != nil || timer.Active == "active" {
		return nil // what cannot be asked is told by others
	}
	hint := "trueup alarms enable"
	if m.user {
		hint += " --user"
	}
	return []Verdict{{"alarms", fmt.Sprintf("nobody looks for alarms: %s is %s", checkTimer, timer.Active), hint}}
}

// checkMade tells whether a file is one that EnableCheck writes.
func checkMade(file string) bool {
	text, _, err := readText(file)
	rec, ok := parseRecord(text)
	return err == nil && ok && rec.Unit == checkService && !isLink(file)
}

// checkRecord is the head of the service's file; the zero record where it is not ours.
func (m *Manager) checkRecord() record {
	text, _, _ := readText(m.file(checkService)) // it was looked at a moment ago
	r, _ := parseRecord(text)
	return r
}

// write writes the files, and makes systemd read them, now or before a kill.
func (c *checking) write(ctx context.Context, program string) error {
	if err := c.m.checkProgram(program); err != nil {
		return err
	}
	service := checkText
	if c.m.user {
		service = checkUserText
	}
	link := c.m.link(timersTarget, checkTimer)
	beside := slices.DeleteFunc(c.m.madeByAll(), func(dir string) bool { return !within(link, dir) })
	made := slices.Concat(missingDirs(filepath.Dir(link)), beside)
	slices.Sort(made) // outermost first
	lines := []string{recordMark + "unit=" + checkService}
	for _, dir := range slices.Compact(made) {
		lines = append(lines, recordMark+"made="+dir)
	}
	values := map[string]string{"PROGRAM": argument(program), "RECORD": strings.Join(lines, "\n")}
	if err := c.writeText(c.m.file(checkService), fill(service, values)); err != nil {
		return err
	}
	values["RECORD"] = lines[0]
	if err := c.writeText(c.m.file(checkTimer), fill(checkTimerText, values)); err != nil {
		return err
	}
	stale := c.service.Load == "not-found" || c.timer.Load == "not-found" || c.service.needReload || c.timer.needReload
	if c.dry || c.changes.None() && !stale {
		return nil
	}
	return c.m.reload(ctx)
}

// checkProgram refuses what systemd could not start, and for root what another could change.
func (m *Manager) checkProgram(program string) error {
	info, err := os.Stat(program)
	if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || strings.Contains(program, "$") || checkPath("program", program) != nil || !filepath.IsAbs(program) {
		return &Refusal{Unit: checkService, Reason: fmt.Sprintf("%q is no program that systemd could start", program)}
	}
	if m.user {
		return nil
	}
	if place, why := untrusted(program); why != "" {
		return &Refusal{Unit: checkService, Reason: fmt.Sprintf("systemd would run %s as root, and %s %s", program, place, why),
			Hint: "install trueup where only root can write, as make install does in /usr/local/bin"}
	}
	return nil
}

// enable links the timer into its target and starts it, anew where its file has changed.
func (c *checking) enable(ctx context.Context) error {
	link, target := c.m.link(timersTarget, checkTimer), c.m.file(checkTimer)
	if c.packaged {
		target = c.timer.fragment
	}
	if !isLink(link) {
		if err := c.do(Enable, checkTimer, func() error {
			if err := makeDirs(filepath.Dir(link)); err != nil {
				return fmt.Errorf("enabling %s: %w", checkTimer, err)
			}
			if err := os.Symlink(target, link); err != nil {
				return fmt.Errorf("enabling %s: %w", checkTimer, err)
			}
			if err := syncDir(filepath.Dir(link)); err != nil || !c.packaged {
				return err
			}
			return c.m.reload(ctx)
		}); err != nil {
			return err
		}
	}
	rewritten := slices.ContainsFunc(c.changes.Done, func(d Change) bool { return d.What == c.m.file(checkTimer) })
	switch {
	case c.timer.Active == "active" && !rewritten:
		return nil
	case c.timer.Active == "active":
		return c.do(Start, checkTimer, func() error { return c.m.restart(ctx, checkTimer) })
	}
	return c.do(Start, checkTimer, func() error { return c.m.start(ctx, checkTimer) })
}

// drop stops, disables and removes the units; the service's file, which says what else was made, is the last.
func (c *checking) drop(ctx context.Context) error {
	for _, s := range []UnitState{c.timer, c.service} {
		if s.Active == "active" || s.Active == "activating" {
			if err := c.do(Stop, s.Unit, func() error { return c.m.stop(ctx, s.Unit) }); err != nil {
				return err
			}
		}
	}
	had := c.m.checkRecord()
	link := c.m.link(timersTarget, checkTimer)
	if isLink(link) {
		if err := c.do(Disable, checkTimer, func() error { return removeFile(link) }); err != nil {
			return err
		}
	}
	for _, unit := range []string{checkTimer, checkService} {
		file := c.m.file(unit)
		for _, file := range []string{tempName(file), file} {
			if _, err := os.Lstat(file); err != nil {
				continue
			}
			if err := c.do(Remove, file, func() error { return removeFile(file) }); err != nil {
				return err
			}
		}
	}
	if c.dry || c.changes.None() {
		return nil
	}
	if c.packaged {
		os.Remove(filepath.Dir(link)) // as systemctl disable does
	}
	for _, dir := range slices.Backward(had.Made) {
		os.Remove(dir) // fails, as it should, where others have put something
	}
	if err := c.m.reload(ctx); err != nil {
		return err
	}
	return c.m.resetFailed(ctx, checkTimer, checkService)
}
