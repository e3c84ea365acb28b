package units

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// asideName is where a replaced path unit waits, beside our drop-in. systemd reads only *.conf there.
const asideName = "10-trueup.path.orig"

func (m *Manager) aside(unit string) string {
	return filepath.Join(filepath.Dir(m.dropin(unit)), asideName)
}

// putAside takes somebody else's UNIT.path out of the way, keeping the very file: its content, owner, times, and
// whether it is a link. One in /usr or /run only has ours in front of it.
func (j *adopting) putAside(ctx context.Context) error {
	m, old, own := j.m, j.rec.Old, j.m.file(j.rec.Path())
	if !old.any() || ours(own, j.rec.Unit) {
		return nil
	}
	return j.do(Remove, old.File, func() error {
		if old.Active {
			if err := m.stop(ctx, j.rec.Path()); err != nil {
				return err
			}
		}
		for _, link := range old.Links {
			name, _, _ := strings.Cut(link, arrow)
			if err := removeFile(filepath.Join(m.config, name)); err != nil {
				return err
			}
		}
		if old.File != own {
			return nil
		}
		// A second name first, so that the file is never nowhere. Either step may have been done before a kill.
		err := os.Link(own, m.aside(j.rec.Unit))
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("putting %s aside: %w", own, err)
		}
		return removeFile(own)
	})
}

// restore puts back what putAside took, and starts it if it was started.
func (r recorder) restore(ctx context.Context, m *Manager, rec record) error {
	if !rec.Old.any() {
		return nil
	}
	if err := r.do(Restore, rec.Old.File, func() error { return m.bringBack(rec) }); err != nil || !rec.Old.Active {
		return err
	}
	return r.do(Start, rec.Path(), func() error {
		if err := m.reload(ctx); err != nil {
			return err
		}
		return m.start(ctx, rec.Path())
	})
}

func (m *Manager) bringBack(rec record) error {
	own := m.file(rec.Path())
	if err := os.Rename(m.aside(rec.Unit), own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restoring %s: %w", own, err)
	}
	for _, link := range rec.Old.Links {
		name, target, _ := strings.Cut(link, arrow)
		place := filepath.Join(m.config, name)
		if err := os.Symlink(target, place); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("enabling %s again: %w", rec.Old.File, err)
		}
	}
	return nil
}
