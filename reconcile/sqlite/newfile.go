package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// NewFile makes a file that is there whole or not at all, whatever ends the process meanwhile: write fills a file of
// another name in the same folder, which then is synced and takes the name. What has the name already stays, and the
// error is fs.ErrExist. A kill leaves that other file behind, named .NAME.*.part. For root a folder of somebody else, who
// could put a link in that file's place, is an error that is fs.ErrPermission.
func NewFile(name string, mode fs.FileMode, write func(f *os.File) error) (err error) {
	if _, err := os.Lstat(name); err == nil {
		return &fs.PathError{Op: "creating", Path: name, Err: fs.ErrExist}
	}
	if err := trusted(filepath.Dir(name), os.Geteuid()); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	part := f.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(part) // gives the space back on a full disk
		}
	}()
	err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := rename(part, name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// rename gives a file a name that nothing has.
func rename(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // nfs, old kernels: then it was looked for before
		err = os.Rename(from, to)
	case errors.Is(err, fs.ErrExist):
		err = fs.ErrExist
	}
	if err != nil {
		return fmt.Errorf("naming %s: %w", to, err)
	}
	return nil
}
