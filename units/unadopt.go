package units

import (
	"context"
	"os"
	"path/filepath"
	"slices"
)

// UnadoptOptions say how much Unadopt takes away.
type UnadoptOptions struct {
	Purge  bool // the folders too, with what is owed in them
	DryRun bool // change nothing, only say what would change

	stop bool // the service goes too: end its run, and start none
}

// Unadopt takes exactly that away again which Adopt added; a UNIT.path that was put aside comes back. A run in
// progress is left to finish. A gate that waits has not begun its run: the service is started anew without it.
// A claim that stands stays in the state folder, and nobody acts on it.
func (m *Manager) Unadopt(ctx context.Context, unit string, o UnadoptOptions) (Changes, error) {
	changes := Changes{User: m.user}
	r := recorder{&changes, o.DryRun}
	unit, err := unitName(unit)
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
	if alias, err := m.properties(ctx, unit); err == nil && alias.LoadState == "loaded" {
		unit = alias.ID
	}
	text, _, err := readText(m.dropin(unit))
	if err != nil {
		return changes, err
	}
	rec, ok := parseRecord(text)
	if !ok {
		return changes, m.notAdopted(ctx, unit, o, r)
	}
	changes.Adoption = rec.Adoption
	return changes, m.unadopt(ctx, rec, o, r)
}

func (m *Manager) notAdopted(ctx context.Context, unit string, o UnadoptOptions, r recorder) error {
	if err := m.completeUnadopt(ctx, unit, o, r); err != nil {
		return err
	}
	if r.changes.None() {
		return &Refusal{Unit: unit, Reason: "it is not adopted", Hint: "trueup status lists what is"}
	}
	return nil
}

// completeUnadopt completes what was killed: an Adopt that had not come to its drop-in, an Unadopt whose removal systemd
// has not read. And it purges the folders that an Unadopt has left.
func (m *Manager) completeUnadopt(ctx context.Context, unit string, o UnadoptOptions, r recorder) error {
	for _, tmp := range m.temporary(unit) {
		if _, err := os.Lstat(tmp); err != nil {
			continue
		}
		if err := r.do(Remove, tmp, func() error { return os.RemoveAll(tmp) }); err != nil {
			return err
		}
	}
	if o.Purge {
		rec := record{Adoption: Adoption{Unit: unit}.placed(m.home)}
		if err := r.purge(m, rec); err != nil {
			return err
		}
	}
	p, err := m.properties(ctx, unit)
	if err != nil {
		return err
	}
	if slices.Contains(p.Dropins, m.dropin(unit)) {
		return r.do(Remove, m.dropin(unit), func() error { return m.reload(ctx) })
	}
	return nil
}

// temporary are the names that a kill may leave behind.
func (m *Manager) temporary(unit string) []string {
	a := Adoption{Unit: unit}
	probe, said := m.probeFiles(unit)
	return []string{probe, said, tempName(probe),
		tempName(m.dropin(unit)), tempName(filepath.Dir(m.dropin(unit))), tempName(m.file(a.Path())), tempName(m.file(a.Timer()))}
}

func (m *Manager) unadopt(ctx context.Context, rec record, o UnadoptOptions, r recorder) error {
	if err := r.dropUnit(ctx, m, rec.Unit, rec.Path(), pathsTarget); err != nil {
		return err
	}
	if err := r.dropUnit(ctx, m, rec.Unit, rec.Timer(), timersTarget); err != nil {
		return err
	}
	p, err := m.properties(ctx, rec.Unit)
	if err != nil {
		return err
	}
	parked := gateWaits(p, rec.Gate)
	if parked || o.stop && p.running() {
		if err := r.do(Stop, rec.Unit, func() error { return m.stop(ctx, rec.Unit) }); err != nil {
			return err
		}
	}
	// As long as the record is there, whatever a kill leaves undone is known.
	if err := r.restore(ctx, m, rec); err != nil {
		return err
	}
	if o.Purge {
		if err := r.purge(m, rec); err != nil {
			return err
		}
	}
	if err := r.dropDropin(m, rec); err != nil {
		return err
	}
	if !r.dry {
		if err := m.reload(ctx); err != nil {
			return err
		}
	}
	if parked && !o.stop {
		return r.do(Start, rec.Unit, func() error { return m.startNoWait(ctx, rec.Unit) })
	}
	return nil
}

// dropUnit stops, disables and removes a path or timer of ours, and leaves anybody else's.
func (r recorder) dropUnit(ctx context.Context, m *Manager, service, unit, target string) error {
	file := m.file(unit)
	if !ours(file, service) {
		return nil
	}
	state, err := m.unit(ctx, unit)
	if err != nil {
		return err
	}
	if state.Active == "active" || state.Active == "failed" {
		if err := r.do(Stop, unit, func() error {
			if err := m.stop(ctx, unit); err != nil {
				return err
			}
			if state.Active == "failed" {
				return m.resetFailed(ctx, unit)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if link := m.link(target, unit); isLink(link) {
		if err := r.do(Disable, unit, func() error { return removeFile(link) }); err != nil {
			return err
		}
	}
	return r.do(Remove, file, func() error { return removeFile(file) })
}

// dropDropin removes the record of it all, and so comes last. Folders that Adopt made go when they are empty.
func (r recorder) dropDropin(m *Manager, rec record) error {
	file := m.dropin(rec.Unit)
	return r.do(Remove, file, func() error {
		for _, tmp := range m.temporary(rec.Unit) {
			os.RemoveAll(tmp) // most often not there
		}
		inner := filepath.Dir(file)
		var outer []string
		for _, dir := range slices.Backward(rec.Made) { // innermost first
			if within(inner, dir) && dir != inner {
				outer = append(outer, dir)
			} else if dir != inner {
				os.Remove(dir) // fails, as it should, where others have put something
			}
		}
		remove := removeFile
		if slices.Contains(rec.Made, inner) {
			remove = removeWithDir
		}
		if err := remove(file); err != nil {
			return err
		}
		for _, dir := range outer {
			os.Remove(dir)
		}
		return nil
	})
}

// purge removes the folders: those in the default place, and those that Adopt made elsewhere. One that was there
// before may hold more than ours.
func (r recorder) purge(m *Manager, rec record) error {
	base := m.usual(rec.Adoption)
	for _, f := range rec.named() {
		if _, err := os.Lstat(f.path); err != nil {
			continue
		}
		if !within(f.path, base) && !slices.Contains(rec.MadeFolders, f.path) {
			r.changes.Warnings = append(r.changes.Warnings, f.path+" was there before adopt: it is kept")
			continue
		}
		if err := r.do(Remove, f.path, func() error {
			if err := os.RemoveAll(f.path); err != nil { // follows no link that the web app planted
				return unwritable(f.path, err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if !r.dry {
		os.Remove(base) // fails, as it should, where there is more
		os.Remove(m.home)
	}
	return nil
}

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}
