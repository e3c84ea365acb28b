package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Replace writes a file whole or not at all, whoever else writes it: who reads it sees the old or the new one. For root no part of
// the way to it may be a link, so that nobody else who may write on that way leads the file to another place. It replaces no device.
func Replace(path string, text []byte, mode fs.FileMode) error {
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer dir.Close()
	if err := replaceIn(dir, filepath.Base(path), text, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func replaceIn(dir *os.File, name string, text []byte, mode fs.FileMode) error {
	at, tmp := int(dir.Fd()), "."+name+".trueup-new"
	var old unix.Stat_t
	if err := unix.Fstatat(at, name, &old, unix.AT_SYMLINK_NOFOLLOW); err == nil && (old.Mode&unix.S_IFMT == unix.S_IFCHR || old.Mode&unix.S_IFMT == unix.S_IFBLK) {
		return errors.New("it is a device")
	}
	if err := alone(dir); err != nil {
		return err
	}
	if err := unix.Unlinkat(at, tmp, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fd, err := unix.Openat(at, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), tmp)
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close())
	if err == nil {
		err = unix.Renameat(at, tmp, at, name)
	}
	if err != nil {
		_ = unix.Unlinkat(at, tmp, 0) // a disk that is full wants it back
		return err
	}
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// alone waits until nobody else replaces a file in the folder, and keeps others away until it is closed. A file system without
// locks has nobody to wait for.
func alone(dir *os.File) error {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil
		}
		if time.Now().After(end) {
			return errors.New("another process has locked its folder for two seconds")
		}
	}
}

// openFolder opens a folder; for root without following any link.
func openFolder(path string) (*os.File, error) {
	if os.Geteuid() != 0 {
		return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags, 0)
	at := "/"
	for _, part := range strings.Split(filepath.Clean(path), "/") {
		if err != nil {
			break
		}
		if part == "" {
			continue
		}
		at = filepath.Join(at, part)
		var next int
		next, err = unix.Openat(fd, part, flags, 0)
		unix.Close(fd)
		fd = next
	}
	if err == nil {
		return os.NewFile(uintptr(fd), path), nil
	}
	if info, lerr := os.Lstat(at); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link, and root follows none here: name the folder that it leads to", at)
	}
	return nil, &fs.PathError{Op: "opening", Path: at, Err: err}
}
