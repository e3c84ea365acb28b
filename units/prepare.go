package units

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// An adopting is one call of Adopt: everything it found out before it changes anything.
type adopting struct {
	recorder
	m       *Manager
	planned string // the text that the unit's file is to have; empty: what is there
	rec     record // as it will be
	had     record // as it was; the zero record on the first adoption
	props   properties
	src     source
	folders []folder
	path    UnitState
	timer   UnitState
	parked  bool // a waiting gate was stopped, and is to be started anew

	asWanted bool // enable and start nothing that is not: its operator wants it so
}

func (m *Manager) dropin(unit string) string { return filepath.Join(m.config, unit+".d", dropinName) }
func (m *Manager) file(unit string) string   { return filepath.Join(m.config, unit) }
func (m *Manager) link(target, unit string) string {
	return filepath.Join(m.config, target+".wants", unit)
}

// usual is where the unit's folders are by default.
func (m *Manager) usual(a Adoption) string { return filepath.Join(m.home, a.stem()) }

// prepare finds out all there is to know, and refuses.
func (j *adopting) prepare(ctx context.Context, a Adoption) (err error) {
	if a.Unit, err = unitName(a.Unit); err != nil {
		return err
	}
	if err := j.load(ctx, &a); err != nil {
		return err
	}
	if err := j.readRecord(a.Unit); err != nil {
		return err
	}
	if a, err = a.keeping(j.had.Adoption).complete(j.m.home); err != nil {
		return err
	}
	j.rec.Adoption, j.changes.Adoption = a, a
	j.rec.User = j.props.User
	if err := refuse(a, j.props, j.src); err != nil {
		return err
	}
	if err := j.m.refuseGate(a); err != nil {
		return err
	}
	if err := j.findFolders(); err != nil {
		return err
	}
	if err := j.findTriggers(); err != nil {
		return err
	}
	j.findMade()
	j.warn(ctx)
	return nil
}

// readRecord reads what an earlier Adopt wrote about the unit.
func (j *adopting) readRecord(unit string) error {
	file := j.m.dropin(unit)
	text, _, err := readText(file)
	if err != nil {
		return err
	}
	had, ok := parseRecord(text)
	if !ok && text != "" {
		return &Refusal{Unit: unit, Reason: file + " is not ours", Hint: "rename it"}
	}
	j.had = had
	return nil
}

// load reads the units as systemd sees them, making sure that it sees what is on disk, also after a kill. An alias
// is followed to the unit it names.
func (j *adopting) load(ctx context.Context, a *Adoption) error {
	if err := j.ask(ctx, *a); err != nil {
		return err
	}
	if stale := j.props.NeedReload || j.path.needReload || j.timer.needReload; stale && !a.DryRun {
		if err := j.m.reload(ctx); err != nil {
			return err
		}
		if err := j.ask(ctx, *a); err != nil {
			return err
		}
	}
	if j.props.LoadState == "loaded" && j.props.ID != "" && j.props.ID != a.Unit {
		a.Unit = j.props.ID
		return j.load(ctx, a)
	}
	var err error
	if j.src, err = j.m.readSource(a.Unit, j.props); j.planned != "" {
		j.props, j.src = plannedUnit(j.m.file(a.Unit), j.planned, j.props, j.src)
	}
	return err
}

func (j *adopting) ask(ctx context.Context, a Adoption) (err error) {
	if j.props, err = j.m.properties(ctx, a.Unit); err != nil {
		return err
	}
	if j.path, err = j.m.unit(ctx, a.Path()); err != nil {
		return err
	}
	j.timer, err = j.m.unit(ctx, a.Timer())
	return err
}

// findFolders refuses places and neighbours that cannot be.
func (j *adopting) findFolders() error {
	a := j.rec.Adoption
	for _, f := range a.named() {
		tmpfs, err := refusePlace(a.Unit, f.role, f.path)
		if err != nil {
			return err
		}
		if tmpfs && f.role == "state" {
			j.changes.Warnings = append(j.changes.Warnings, f.path+" is on tmpfs: a reboot forgets what is owed")
		}
	}
	own, err := ownerOf(j.props)
	if err != nil {
		return &Refusal{Unit: a.Unit, Reason: err.Error(), Hint: "create the user that the unit runs as"}
	}
	if err := j.refuseRivals(own); err != nil {
		return err
	}
	return j.needFolders(own)
}

// refuseRivals refuses folders that another adoption has.
func (j *adopting) refuseRivals(own owner) error {
	others, err := j.m.neighbours()
	if err != nil {
		return err
	}
	if !j.m.user {
		others = append(others, tenants(j.rec.Adoption, own.uid)...)
	}
	return refuseShared(j.rec.Adoption, others)
}

// needFolders finds out which folders there are to be, for a unit that runs as own.
func (j *adopting) needFolders(own owner) (err error) {
	a, web := j.rec.Adoption, -1
	if a.WebGroup != "" {
		if web, err = groupID(a.WebGroup); err != nil {
			return &UsageError{Reason: err.Error(), Hint: "create the group, or name another with --web-group"}
		}
	}
	if own.uid < 0 && !j.m.user {
		own.uid = 0
	}
	j.folders = a.folders(own, web)
	for i, f := range j.folders {
		made := func(dir string) bool { return within(f.path, dir) }
		j.folders[i].mine = made(j.m.usual(a)) || slices.ContainsFunc(j.had.MadeFolders, made)
	}
	return nil
}

// neighbours are all adoptions that this caller can see: two managers must not share a folder either.
func (m *Manager) neighbours() ([]record, error) {
	all, err := records(m.config)
	if err == nil && m.user {
		system, sysErr := records("/etc/systemd/system")
		all, err = append(all, system...), sysErr
		// The system may have a unit of the same name, which is another.
		for i := range all[len(all)-len(system):] {
			all[len(all)-len(system)+i].Unit += " (system)"
		}
	}
	return all, err
}

// findMade notes which folders of units will be made, so that unadopt knows. One that another adoption made is
// everybody's: the last one out removes it.
func (j *adopting) findMade() {
	a := j.rec.Adoption
	dirs := missingDirs(filepath.Dir(j.m.dropin(a.Unit)))
	dirs = append(dirs, missingDirs(filepath.Dir(j.m.link(pathsTarget, a.Path())))...)
	dirs = append(dirs, missingDirs(filepath.Dir(j.m.link(timersTarget, a.Timer())))...)
	dirs = append(dirs, j.had.Made...)
	dirs = append(dirs, j.m.madeByAll()...)
	text, _, _ := readText(j.m.file(a.Unit)) // our own service came first
	own, _ := parseInstalled(text)
	dirs = append(dirs, own.Made...)
	slices.Sort(dirs) // outermost first
	j.rec.Made = slices.Compact(dirs)
	j.rec.MadeFolders = j.had.MadeFolders
	for _, f := range a.named() {
		usual := within(f.path, j.m.usual(a)) // goes with --purge in any case
		if !usual && len(missingDirs(f.path)) > 0 && !slices.Contains(j.rec.MadeFolders, f.path) {
			j.rec.MadeFolders = append(j.rec.MadeFolders, f.path)
		}
	}
}

// madeByAll are the folders of units that any adoption here made, or the units that raise alarms, but for those of one
// unit only.
func (m *Manager) madeByAll() (dirs []string) {
	all, _ := records(m.config) // read a moment ago
	all = append(all, m.checkRecord())
	for _, other := range all {
		for _, dir := range other.Made {
			if !strings.HasSuffix(dir, ".service.d") {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

func (j *adopting) warn(ctx context.Context) {
	w := texts(warn(j.props, j.m.version))
	if j.had.Unit != "" && j.had.Folders != j.rec.Folders {
		w = append(w, fmt.Sprintf("the folders it had until now are left: %s, %s, %s", j.had.Folders.Spool, j.had.Folders.State, j.had.Folders.Outbox))
	}
	if j.dry && j.props.NeedReload {
		w = append(w, "the unit has changed on disk and was not reloaded: this is what systemd knows now")
	}
	w = append(w, texts(j.m.warnLinger())...)
	w = append(w, texts(j.warnTimers(ctx))...)
	j.changes.Warnings = append(j.changes.Warnings, w...)
}
