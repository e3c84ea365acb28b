package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// An owner is whom a folder is made for; -1 leaves a part as it is.
type owner struct{ uid, gid int }

// A folder is one that the trigger needs.
type folder struct {
	path   string
	mode   fs.FileMode
	owner  owner
	insist bool // the operator named the group, so group and mode are set right wherever the folder is
	mine   bool // it lies in the usual place, or adopt made it, so it follows the unit's user
	shared bool // the spool or in it: others may have been given it
	was    int  // whom the unit ran as when the folders were made
}

// folders says which folders the adoption needs, outermost first. The parents stay with whoever runs adopt, so
// that nobody can put another folder in the place of one that is mounted into a container (F10).
func (a Adoption) folders(own owner, web int) []folder {
	// The state folder is nobody else's business, so its owner is whom the unit ran as.
	was := uidOf(a.Folders.State)
	spool := folder{path: a.Folders.Spool, mode: 0o755, owner: own, shared: true, was: was}
	if web >= 0 {
		spool.mode, spool.owner.gid, spool.insist = 0o770|fs.ModeSetgid, web, true
	}
	requests := spool
	requests.path = filepath.Join(spool.path, "requests")
	return []folder{
		spool, requests,
		{path: a.Folders.State, mode: 0o700, owner: own, was: was},
		{path: a.Folders.Outbox, mode: 0o755, owner: own, was: was},
	}
}

// uidOf tells whose a folder is; -1 when it is not there.
func uidOf(path string) int {
	if info, err := os.Lstat(path); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(stat.Uid)
		}
	}
	return -1
}

// foreign tells whether the folder is another's than it would be if adopt made it now.
func (f folder) foreign() bool {
	want := f.owner.uid
	if want < 0 {
		want = os.Geteuid()
	}
	return uidOf(f.path) != want
}

// wants tells what is to be done about a folder: make it, set it right, or nothing.
func (f folder) wants() (Op, error) {
	info, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Create, nil
	case err != nil:
		return None, unwritable(f.path, err)
	case !info.IsDir() && filepath.Base(f.path) == "requests":
		return None, nil // the web app put it there; the gate sets it right
	case !info.IsDir():
		return None, &FolderError{Path: f.path, Err: errors.New("it is no folder"), Hint: "move it away, or name the folder that a link leads to"}
	case f.mend(info).any():
		return Update, nil
	}
	return None, nil
}

// make creates the folder, or sets owner, group and mode of one that is there. It goes by descriptors, and follows no
// link in the last step, nor to the spool when it is about requests: a hostile one could lead anywhere, and this may
// be root.
func (f folder) make(op Op) error {
	if err := f.makeAt(op); err != nil {
		return unwritable(f.path, err)
	}
	return nil
}

func (f folder) makeAt(op Op) error {
	above, name, follow := filepath.Dir(f.path), filepath.Base(f.path), 0
	if name == "requests" {
		follow = unix.O_NOFOLLOW // the spool's parent is not the unit's user's, the spool is
	} else if op == Create {
		if err := makeDirs(above); err != nil {
			return err
		}
	}
	parent, err := unix.Open(above, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|follow, 0)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	m := mending{f.owner, f.mode}
	if op == Create {
		err := unix.Mkdirat(parent, name, 0o700)
		if errors.Is(err, unix.EEXIST) {
			op = Update // made by another in between
		} else if err != nil {
			return err
		}
	}
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	if op == Update {
		info, err := dir.Stat()
		if err != nil {
			return err
		}
		m = f.mend(info)
	}
	return f.apply(dir, m)
}

func (f folder) apply(dir *os.File, m mending) error {
	if m.uid >= 0 && !f.shared {
		if err := giveFiles(dir, m.owner); err != nil { // before the folder, whose owner says whose they were
			return err
		}
	}
	if m.uid >= 0 || m.gid >= 0 {
		if err := dir.Chown(m.uid, m.gid); err != nil {
			return err
		}
	}
	if m.mode == 0 {
		return nil
	}
	return dir.Chmod(m.mode) // after chown, which drops setgid
}

// unwritable keeps a lack of permission apart from a folder that nobody could write.
func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("making folder %s: %w", path, err)
	}
	return &FolderError{Path: path, Err: err}
}
