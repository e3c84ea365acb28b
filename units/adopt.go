package units

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Adopt gives the unit a trigger. It may be called again at any time: it changes only what differs, and nothing
// when nothing does. After an error, as after a kill, calling it again or calling Unadopt sets things right.
//
// Errors are a *Refusal when the unit cannot have a trigger, a *UsageError when what was asked for cannot be, a
// *FolderError when a folder cannot be made or the gate cannot use it, and otherwise match fs.ErrPermission where
// permission is lacking.
func (m *Manager) Adopt(ctx context.Context, a Adoption) (Changes, error) {
	if !a.DryRun {
		unlock, err := m.lock(ctx)
		if err != nil {
			return Changes{User: m.user, Adoption: a}, err
		}
		defer unlock()
	}
	return m.adopt(ctx, a, "")
}

// adopt is Adopt under the lock. planned is what a dry run takes for the text of the unit's file; empty: what is there.
func (m *Manager) adopt(ctx context.Context, a Adoption, planned string) (Changes, error) {
	j := &adopting{m: m, planned: planned, recorder: recorder{&Changes{User: m.user}, a.DryRun}}
	err := j.run(ctx, a)
	return *j.changes, err
}

func (j *adopting) run(ctx context.Context, a Adoption) error {
	if err := j.prepare(ctx, a); err != nil {
		return err
	}
	// The path comes last: without it the unit still works, by its timer.
	for _, step := range []func(context.Context) error{
		j.makeFolders, j.park, j.writeUnits, j.enable, j.reload, j.startAll,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// makeFolders makes the folders and proves the gate's access to them, or takes them away again.
func (j *adopting) makeFolders(ctx context.Context) error {
	var made []string
	undo := func() {
		for _, dir := range slices.Backward(made) {
			os.RemoveAll(dir) // it was ours for a moment, and the error in hand matters more
		}
	}
	odd := false // something about a folder is not as it would be if it were made now
	for _, f := range j.folders {
		op, err := f.wants()
		if err != nil {
			undo()
			return err
		}
		odd = odd || op != None || f.foreign()
		if op == None {
			continue
		}
		if op == Create {
			made = append(made, missingDirs(f.path)...)
		}
		if err := j.do(op, f.path, func() error { return f.make(op) }); err != nil {
			undo()
			return err
		}
	}
	changed, err := j.dropinChanges()
	if err != nil || j.dry || (!changed && !odd) {
		return err
	}
	if err := j.probe(ctx); err != nil {
		undo()
		return err
	}
	return nil
}

func (j *adopting) dropinText() string { return renderDropin(j.rec, j.src) }

func (j *adopting) dropinChanges() (bool, error) {
	text, _, err := readText(j.m.dropin(j.rec.Unit))
	return text != j.dropinText(), err
}

// park stops a service whose gate waits before its command lines change: systemd would go on after a line that is
// no longer there with ExecStart=, past the unit's own ExecStartPre= lines. Nothing of the run has begun yet.
func (j *adopting) park(ctx context.Context) error {
	changed, err := j.dropinChanges()
	if err != nil || !changed || !gateWaits(j.props, j.had.Gate) {
		return err
	}
	j.parked = true
	return j.do(Stop, j.rec.Unit, func() error {
		if j.path.Active == "active" { // it would start the service again at once
			if err := j.m.stop(ctx, j.rec.Path()); err != nil {
				return err
			}
		}
		return j.m.stop(ctx, j.rec.Unit)
	})
}

// writeUnits writes the files. The drop-in is first: it records what the others replace.
func (j *adopting) writeUnits(ctx context.Context) error {
	m, a := j.m, j.rec.Adoption
	if err := j.writeText(m.dropin(a.Unit), j.dropinText()); err != nil {
		return err
	}
	if j.rec.OwnTimer {
		if err := j.writeText(m.file(a.Timer()), renderTimer(j.rec, m.user)); err != nil {
			return err
		}
	} else if err := j.recorder.dropUnit(ctx, m, a.Unit, a.Timer(), timersTarget); err != nil {
		return err
	}
	if err := j.putAside(ctx); err != nil {
		return err
	}
	return j.writeText(m.file(a.Path()), renderPath(j.rec, m.user))
}

// writeText writes a file unless it is there already, word for word.
func (r recorder) writeText(path, text string) error {
	is, there, err := readText(path)
	if err != nil || is == text {
		return err
	}
	op := Create
	if there {
		op = Update
	}
	return r.do(op, path, func() error {
		if len(missingDirs(filepath.Dir(path))) > 0 {
			return writeInNewDir(path, text)
		}
		return writeFile(path, text)
	})
}

// enable links the units into their targets, as systemctl enable does.
func (j *adopting) enable(context.Context) error {
	if j.rec.NoStart || j.asWanted {
		return nil
	}
	if j.rec.OwnTimer {
		if err := j.enableOne(j.rec.Timer(), timersTarget); err != nil {
			return err
		}
	}
	return j.enableOne(j.rec.Path(), pathsTarget)
}

func (j *adopting) enableOne(unit, target string) error {
	link := j.m.link(target, unit)
	if isLink(link) {
		return nil
	}
	return j.do(Enable, unit, func() error {
		if err := makeDirs(filepath.Dir(link)); err != nil {
			return fmt.Errorf("enabling %s: %w", unit, err)
		}
		if err := os.Symlink(j.m.file(unit), link); err != nil {
			return fmt.Errorf("enabling %s: %w", unit, err)
		}
		return syncDir(filepath.Dir(link))
	})
}

// reload makes systemd read what was written, now or before a kill.
func (j *adopting) reload(ctx context.Context) error {
	stale := j.path.Load == "not-found" || (j.rec.OwnTimer && j.timer.Load == "not-found")
	if j.dry || (j.changes.None() && !stale) {
		return nil
	}
	return j.m.reload(ctx)
}

// startAll starts the timer and the path, and makes them read their files again if those changed.
func (j *adopting) startAll(ctx context.Context) error {
	if j.rec.OwnTimer && !j.rec.NoStart {
		if err := j.startOne(ctx, j.rec.Timer(), j.timer); err != nil {
			return err
		}
	}
	if !j.rec.NoStart || (j.parked && j.path.Active == "active") {
		if err := j.startOne(ctx, j.rec.Path(), j.path); err != nil {
			return err
		}
	}
	if !j.parked {
		return nil
	}
	return j.do(Start, j.rec.Unit, func() error { return j.m.startNoWait(ctx, j.rec.Unit) })
}

func (j *adopting) startOne(ctx context.Context, unit string, was UnitState) error {
	rewritten := slices.ContainsFunc(j.changes.Done, func(c Change) bool { return c.What == j.m.file(unit) })
	active := was.Active == "active" && (!j.parked || unit != j.rec.Path())
	switch {
	case active && !rewritten, j.asWanted && was.Active != "active":
		return nil
	case active:
		return j.do(Start, unit, func() error { return j.m.restart(ctx, unit) })
	}
	return j.do(Start, unit, func() error {
		if was.Active == "failed" { // both, or the path fails again at once (F1)
			if err := j.m.resetFailed(ctx, unit, j.rec.Unit); err != nil {
				return err
			}
		}
		return j.m.start(ctx, unit)
	})
}
