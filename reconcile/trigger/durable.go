package trigger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// writeDurable replaces the named file of a folder by the value as JSON, so that a power cut at any instant
// leaves either the old content or the new, and the new once it has returned: write a temporary file, fsync
// it, rename it over the old, fsync the folder. (github.com/google/renameio says what each step is for.)
// The temporary file is always created anew, so that nothing planted under its name is written through.
func writeDurable(d dir, name string, mode os.FileMode, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", d.path(name), err)
	}
	temp := "." + name + ".tmp"
	budget := removeBudget
	if err := d.remove(temp, &budget); err != nil {
		return err
	}
	fd, err := unix.Openat(d.fd(), temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return d.err("creating", temp, err)
	}
	f := os.NewFile(uintptr(fd), d.path(temp))
	if err := writeAndSync(f, mode, append(content, '\n')); err != nil {
		_ = unix.Unlinkat(d.fd(), temp, 0) // gives the space back on a full disk
		return err
	}
	err = unix.Renameat(d.fd(), temp, d.fd(), name)
	if err == unix.EISDIR { // somebody made a folder there
		if err := d.remove(name, &budget); err != nil {
			return err
		}
		err = unix.Renameat(d.fd(), temp, d.fd(), name)
	}
	if err != nil {
		return d.err("renaming into place", name, err)
	}
	return d.sync()
}

func writeAndSync(f *os.File, mode os.FileMode, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Chmod(mode) // the umask of a hardened unit would hide status.json from the web app
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d dir) sync() error {
	return d.err("syncing folder", "", d.f.Sync())
}

// removeDurable removes a file and makes its absence survive a power cut.
func removeDurable(d dir, name string) error {
	if err := unix.Unlinkat(d.fd(), name, 0); err != nil && err != unix.ENOENT {
		return d.err("removing", name, err)
	}
	return d.sync()
}

// readJSON decodes a small file of a folder, without following a link or waiting at a FIFO. A missing file is
// fs.ErrNotExist; anything else that is not the expected JSON is an error that names the file.
func readJSON(d dir, name string, into any) error {
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return d.err("opening", name, err)
	}
	f := os.NewFile(uintptr(fd), d.path(name))
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return d.err("reading", name, errors.Join(err, errors.New("not a regular file")))
	}
	const most = 1 << 20 // a claim with 1,024 names of 200 bytes fits four times
	content, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, into); err != nil {
		return d.err("decoding", name, err)
	}
	return nil
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
