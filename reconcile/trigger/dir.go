package trigger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A dir is an open folder whose entries somebody else may change at any time. Each operation names one
// entry of it, relative to the descriptor, and follows no link: whatever is planted, nothing outside is
// reached. (os.Root would do for all but one thing: it follows links that stay inside.)
type dir struct{ f *os.File }

// openDir opens a folder by path; links on the way are the operator's and are followed.
func openDir(path string) (dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return dir{}, &fs.PathError{Op: "opening folder", Path: path, Err: err}
	}
	return dir{os.NewFile(uintptr(fd), path)}, nil
}

// sub opens an entry that is a folder; anything else is ENOTDIR, a link too.
func (d dir) sub(name string) (dir, error) {
	fd, err := unix.Openat(d.fd(), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return dir{}, d.err("opening folder", name, err)
	}
	return dir{os.NewFile(uintptr(fd), d.path(name))}, nil
}

func (d dir) close()                  { d.f.Close() }
func (d dir) fd() int                 { return int(d.f.Fd()) }
func (d dir) path(name string) string { return d.f.Name() + "/" + name }

func (d dir) err(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		name = strconv.Quote(name) // a hostile name must not reach a terminal as it is
	}
	return &fs.PathError{Op: op, Path: d.path(name), Err: err}
}

// stat describes the entry itself, never what a link points to.
func (d dir) stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, d.err("looking at", name, err)
}

// names returns at most limit names, in the folder's own order, from its beginning.
func (d dir) names(limit int) ([]string, error) {
	if _, err := d.f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading folder %s: %w", d.f.Name(), err)
	}
	names, err := d.f.Readdirnames(limit)
	if err != nil && !errors.Is(err, io.EOF) {
		return names, fmt.Errorf("reading folder %s: %w", d.f.Name(), err)
	}
	return names, nil
}

// asidePrefix marks what could not be removed. Names with a leading dot do not fire DirectoryNotEmpty=.
const asidePrefix = ".aside-"

// remove takes an entry away, whatever it is: a file, link, FIFO or socket is unlinked, an empty folder
// removed; a tree is first renamed aside within its folder, where it no longer asks for anything, and then
// removed as far as the budget of entries goes. An entry that is already gone is no error.
func (d dir) remove(name string, budget *int) error {
	err := unix.Unlinkat(d.fd(), name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // Linux says EISDIR, POSIX EPERM; EPERM is also an immutable file
		if rmdirErr := unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR); rmdirErr != unix.ENOTDIR {
			err = rmdirErr
		}
	}
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if !strings.HasPrefix(name, asidePrefix) {
		aside := asidePrefix + strconv.FormatUint(rand.Uint64(), 36)
		if unix.Renameat(d.fd(), name, d.fd(), aside) != nil {
			return d.err("removing", name, err)
		}
		name = aside
	}
	d.removeTree(name, budget, 0)
	return nil
}

// removeTree empties and removes what was renamed aside, as far as it may and the budget allows, and tells whether it
// is gone. What is left asks for nothing, so its errors are nobody's concern.
func (d dir) removeTree(name string, budget *int, depth int) (gone bool) {
	const deepest = 64 // each level holds a descriptor
	if unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) == nil {
		return true
	}
	if depth > deepest {
		return false
	}
	sub, err := d.sub(name)
	if err != nil {
		return false
	}
	defer sub.close()
	for progress := true; progress && *budget > 0; {
		progress = false
		names, err := sub.names(min(*budget, 512))
		if err != nil || len(names) == 0 {
			break
		}
		for _, n := range names {
			*budget--
			err := unix.Unlinkat(sub.fd(), n, 0)
			if err == nil || err == unix.EISDIR && sub.removeTree(n, budget, depth+1) {
				progress = true
			}
		}
	}
	return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) == nil
}
