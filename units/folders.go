package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// An owner is whom a folder is made for; -1 leaves a part as it is.
type owner struct{ uid, gid int }

// A folder is one that the trigger needs.
type folder struct {
	path   string
	mode   fs.FileMode
	owner  owner
	insist bool // also when it is there already: the operator named the group
}

// folders says which folders the adoption needs, outermost first. The parents stay with whoever runs adopt, so
// that nobody can put another folder in the place of one that is mounted into a container (F10).
func (a Adoption) folders(own owner, web int) []folder {
	spool := folder{path: a.Folders.Spool, mode: 0o755, owner: own}
	if web >= 0 {
		spool = folder{path: a.Folders.Spool, mode: 0o770 | fs.ModeSetgid, owner: owner{own.uid, web}, insist: true}
	}
	requests := spool
	requests.path = filepath.Join(spool.path, "requests")
	return []folder{
		spool, requests,
		{path: a.Folders.State, mode: 0o700, owner: own},
		{path: a.Folders.Outbox, mode: 0o755, owner: own},
	}
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
	case f.insist && !f.fits(info):
		return Update, nil
	}
	return None, nil
}

func (f folder) fits(info fs.FileInfo) bool {
	const all = fs.ModePerm | fs.ModeSetgid
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&all == f.mode && (f.owner.gid < 0 || int(stat.Gid) == f.owner.gid)
}

// make creates the folder, or sets group and mode of one that is there. The last step of the path is never
// followed through a link: a hostile one could lead anywhere, and this may be root.
func (f folder) make(op Op) error {
	if op == Create {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return unwritable(f.path, err)
		}
		if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return unwritable(f.path, err)
		}
	}
	dir, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return unwritable(f.path, err)
	}
	defer dir.Close()
	uid := f.owner.uid
	if op == Update {
		uid = -1
	}
	if uid >= 0 || f.owner.gid >= 0 {
		if err := dir.Chown(uid, f.owner.gid); err != nil {
			return unwritable(f.path, err)
		}
	}
	if err := dir.Chmod(f.mode); err != nil { // after chown, which drops setgid
		return unwritable(f.path, err)
	}
	return nil
}

// unwritable keeps a lack of permission apart from a folder that nobody could write.
func unwritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("making folder %s: %w", path, err)
	}
	return &FolderError{Path: path, Err: err}
}
