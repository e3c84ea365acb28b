package units

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A mending is what has to change about a folder that is there; -1 and zero leave a part as it is.
type mending struct {
	owner
	mode fs.FileMode
}

func (m mending) any() bool { return m != mending{owner: owner{-1, -1}} }

// mend compares a folder with what the trigger needs, and leaves alone what an operator may have chosen: owner, group
// and access list of a spool that was given to a web app, and who else may read the others.
func (f folder) mend(info fs.FileInfo) mending {
	m := mending{owner: owner{-1, -1}}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return m
	}
	const ours, others = 0o700, 0o022
	mode := info.Mode() & (fs.ModePerm | fs.ModeSetgid | fs.ModeSticky)
	if f.mine && f.reowns(int(stat.Uid), mode&others != 0) {
		m.owner = f.owner
	}
	switch {
	case f.insist && mode&^fs.ModeSticky != f.mode, f.mine && !f.shared && (mode&ours != ours || mode&others != 0):
		m.mode = f.mode
	case f.mine && mode&ours != ours:
		m.mode = mode | ours
	case m.uid >= 0 && mode&fs.ModeSetgid != 0:
		m.mode = mode // chown drops it
	}
	if f.insist && int(stat.Gid) != f.owner.gid {
		m.gid, m.mode = f.owner.gid, f.mode
	}
	return m
}

// reowns tells whether a folder of that owner goes over to the unit's user. A spool does only when it was the former
// user's, or is root's and of no use to anybody, as a killed adopt leaves it: else somebody gave it to a web app.
func (f folder) reowns(uid int, othersWrite bool) bool {
	if f.owner.uid < 0 || uid == f.owner.uid {
		return false
	}
	return !f.shared || uid == f.was || (uid == 0 && !othersWrite)
}

// giveFiles gives the files in a state folder or an outbox to a new owner: those of the folder's own owner, who could
// have put a link to any other there.
func giveFiles(dir *os.File, to owner) error {
	var was unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &was); err != nil {
		return err
	}
	const most = 1024 // the gate keeps a handful
	names, err := dir.Readdirnames(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, name := range names {
		if err := giveFile(int(dir.Fd()), name, was.Uid, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("giving %s to its new owner: %w", name, err)
		}
	}
	return nil
}

func giveFile(dir int, name string, was uint32, to owner) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Uid != was {
		return nil
	}
	return unix.Fchownat(fd, "", to.uid, to.gid, unix.AT_EMPTY_PATH)
}
