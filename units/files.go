package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// writeFile replaces a file whole or not at all. The temporary name is fixed, so that what a kill left behind is
// overwritten, and starts with a dot, so that systemd does not read it.
func writeFile(path, text string) error {
	tmp := tempName(path)
	if err := writeSynced(tmp, text); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
}

func tempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".trueup-new")
}

// writeInNewDir makes a folder that holds just this file, in one step: a kill leaves no empty folder of which
// nobody would know that it was ours.
func writeInNewDir(path, text string) error {
	dir := filepath.Dir(path)
	tmp := tempName(dir)
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	if err := makeDirs(tmp); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	if err := writeSynced(filepath.Join(tmp, filepath.Base(path)), text); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("making %s: %w", dir, err)
	}
	return syncDir(filepath.Dir(dir))
}

// removeWithDir removes a file and, if nothing else is in it, its folder, in one step.
func removeWithDir(path string) error {
	dir := filepath.Dir(path)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		return removeFile(path)
	}
	tmp := tempName(dir)
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	if err := os.Rename(dir, tmp); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return syncDir(filepath.Dir(dir))
}

// removeFile removes a file; one that is gone is gone.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes renames and removals in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

// makeDirs makes a folder and what is missing above it, readable for all whatever the umask: systemd's generators, other
// users' systemctl and the web app look into them.
func makeDirs(dir string) error {
	for _, d := range missingDirs(dir) {
		if err := os.Mkdir(d, 0o755); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := setMode(d, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// setMode sets the mode of a folder, not through a link.
func setMode(dir string, mode fs.FileMode) error {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Chmod(mode), d.Close())
}

// missingDirs names dir and those of its ancestors that are not there, outermost first.
func missingDirs(dir string) []string {
	if _, err := os.Lstat(dir); err == nil || dir == "/" || dir == "." {
		return nil
	}
	return append(missingDirs(filepath.Dir(dir)), dir)
}

// readText reads a file; one that is not there reads as absent.
func readText(path string) (text string, there bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("reading %s: %w", path, err)
	}
	return string(b), true, nil
}

// ours tells whether the file was written by Adopt for this unit.
func ours(path, unit string) bool {
	text, _, err := readText(path)
	r, ok := parseRecord(text)
	return err == nil && ok && r.Unit == unit
}
