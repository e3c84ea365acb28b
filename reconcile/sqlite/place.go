package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// remote are the file systems on which SQLite's log or flock fail, by what statfs says of them: shared memory is not
// shared between hosts or machines, and locks are each host's own.
var remote = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "nfs",
	unix.CIFS_SUPER_MAGIC: "cifs",
	unix.SMB_SUPER_MAGIC:  "smb",
	unix.SMB2_SUPER_MAGIC: "smb",
	unix.V9FS_MAGIC:       "9p",
	unix.FUSE_SUPER_MAGIC: "fuse or virtiofs",
	unix.AFS_SUPER_MAGIC:  "afs",
	unix.CEPH_SUPER_MAGIC: "ceph",
	unix.CODA_SUPER_MAGIC: "coda",
	0x0bd00bd0:            "lustre",
}

// localDisk refuses a folder on a file system that several hosts or machines can mount.
func localDisk(folder string, statfs func(string) (int64, error)) error {
	kind, err := statfs(folder)
	if err != nil {
		return fmt.Errorf("its folder %s: %w", folder, err)
	}
	if name, is := remote[kind]; is {
		return fmt.Errorf("its folder is on %s: SQLite needs a local disk; move it there, or use postgres://", name)
	}
	return nil
}

// trusted refuses to have root write in a folder of somebody else, who could put links there in the place of files.
// Whoever it belongs to writes there.
func trusted(folder string, euid int) error {
	var info unix.Stat_t
	if euid != 0 || unix.Stat(folder, &info) != nil || info.Uid == 0 {
		return nil // a folder that cannot be looked at is told when it is used
	}
	return fmt.Errorf("its folder belongs to user %d, who could lead root elsewhere from there; run it as that user, sudo -u '#%d' trueup …, or use a folder of root's: %w", info.Uid, info.Uid, fs.ErrPermission)
}

// regular refuses a database of which a file is something else: whoever opens a pipe waits until somebody writes to it. What
// is not there is made, or said when it is used.
func regular(path string) error {
	for _, beside := range append(besides(), "", ".lock", ".fence") {
		info, err := os.Lstat(path + beside)
		if err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file: move it away", path+beside)
		}
	}
	return nil
}

// besides are the files of SQLite's beside a database that belong to it alone.
func besides() []string { return []string{"-wal", "-shm", "-journal"} }

// filesOf names a database with all that is moved with it.
func filesOf(path string) string {
	name := filepath.Base(path)
	return name + ", " + name + strings.Join(besides(), ", "+name)
}

// logLeft refuses to begin a database beside the log of one that is gone: SQLite would play it into the new one, and what was
// committed last may be in it alone. An empty log holds nothing.
func logLeft(path string) error {
	for _, beside := range besides() {
		if info, err := os.Lstat(path + beside); err == nil && info.Size() > 0 && beside != "-shm" {
			return fmt.Errorf("%s is the log of a database that is gone, with what was committed last: put the database back beside it, or move all of it away: %s", path+beside, filesOf(path))
		}
	}
	return nil
}

// statfs is the type of the file system that a folder is on.
func statfs(folder string) (int64, error) {
	var info unix.Statfs_t
	if err := unix.Statfs(folder, &info); err != nil {
		return 0, err
	}
	return int64(uint32(info.Type)), nil // a number of 32 bits, whatever the width and sign of the field
}

// resolve is the one name of a database: who came by way of a link must find the same locks beside it.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path, nil // the folder is not there, which is said when it is used
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}
