package units

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// Uninstall takes exactly that away again which Install added, the trigger first, and ends a sweep in progress; the
// configuration stays, and so do the folders unless they are purged. The next Install goes on from where it was.
func (m *Manager) Uninstall(ctx context.Context, name string, o UnadoptOptions) (Changes, error) {
	changes := Changes{User: m.user}
	r := recorder{&changes, o.DryRun}
	unit, err := installedUnit(name)
	if err != nil {
		return changes, err
	}
	if !o.DryRun {
		unlock, err := m.lock(ctx)
		if err != nil {
			return changes, err
		}
		defer unlock()
	}
	text, there, err := readText(m.file(unit))
	if err != nil {
		return changes, err
	}
	had, ok := parseInstalled(text)
	if there && !ok {
		return changes, &Refusal{Unit: unit, Reason: m.file(unit) + " is not ours",
			Hint: "trueup unadopt takes a trigger from a service that is not trueup's own"}
	}
	if changes.Adoption, err = m.dropTrigger(ctx, unit, o, r); err != nil {
		return changes, err
	}
	if err := r.dropService(ctx, m, unit, had, o); err != nil {
		return changes, err
	}
	if changes.None() {
		return changes, &Refusal{Unit: unit, Reason: "it is not installed", Hint: "trueup status lists what is"}
	}
	return changes, nil
}

// InstalledConfig is the configuration file of an instance, as it was installed; empty when there is none.
func (m *Manager) InstalledConfig(name string) (string, error) {
	unit, err := installedUnit(name)
	if err != nil {
		return "", err
	}
	text, _, err := readText(m.file(unit))
	had, _ := parseInstalled(text)
	return had.Config, err
}

// dropTrigger unadopts, or completes an Unadopt or Adopt that was killed.
func (m *Manager) dropTrigger(ctx context.Context, unit string, o UnadoptOptions, r recorder) (Adoption, error) {
	text, _, err := readText(m.dropin(unit))
	if err != nil {
		return Adoption{}, err
	}
	o.stop = true
	rec, ok := parseRecord(text)
	if ok {
		return rec.Adoption, m.unadopt(ctx, rec, o, r)
	}
	return Adoption{Unit: unit}.placed(m.home), m.completeUnadopt(ctx, unit, o, r)
}

// dropService stops and removes our service.
func (r recorder) dropService(ctx context.Context, m *Manager, unit string, had installed, o UnadoptOptions) error {
	p, err := m.properties(ctx, unit)
	if err != nil {
		return err
	}
	if had.Unit != "" && p.running() && !slices.Contains(r.changes.Done, Change{Stop, unit}) {
		if err := r.do(Stop, unit, func() error { return m.stop(ctx, unit) }); err != nil {
			return err
		}
	}
	if o.Purge {
		if err := r.purgeSweep(m, unit, had); err != nil {
			return err
		}
	}
	file, tmp := m.file(unit), tempName(m.file(unit))
	if _, err := os.Lstat(tmp); err == nil {
		if err := r.do(Remove, tmp, func() error { return removeFile(tmp) }); err != nil {
			return err
		}
	}
	gone := had.Unit == "" && (p.LoadState != "loaded" || p.Fragment != file) // and systemd knows it
	if gone {
		return nil
	}
	return r.do(Remove, file, func() error { return m.removeService(ctx, unit, had.Made) })
}

// removeService removes the file, and makes systemd forget it.
func (m *Manager) removeService(ctx context.Context, unit string, made []string) error {
	if err := removeFile(m.file(unit)); err != nil {
		return err
	}
	for _, dir := range slices.Backward(made) {
		os.Remove(dir) // fails, as it should, where others have put something
	}
	if err := m.reload(ctx); err != nil {
		return err
	}
	return m.resetFailed(ctx, unit)
}

// purgeSweep removes the ledger's and the report's folder when they are the instance's own, and else leaves them:
// others may keep something there.
func (r recorder) purgeSweep(m *Manager, unit string, had installed) error {
	base := m.usual(Adoption{Unit: unit})
	dirs := []string{had.Ledger, had.Report}
	if had.Unit == "" { // an Uninstall that kept the folders has taken what says where they are
		dirs = []string{filepath.Join(base, "report")}
	}
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		if !within(filepath.Clean(dir), base) {
			r.changes.Warnings = append(r.changes.Warnings, dir+" is not the instance's alone: it is kept")
			continue
		}
		if err := r.do(Remove, dir, func() error { return os.RemoveAll(dir) }); err != nil {
			return err
		}
	}
	if !r.dry {
		os.Remove(base) // fails, as it should, where there is more
		os.Remove(m.home)
	}
	return nil
}
