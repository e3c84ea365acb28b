package units

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// filesystems on which inotify sees no change made elsewhere, or nothing lasts (PATH-15).
var filesystems = map[int64]string{
	unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.CGROUP2_SUPER_MAGIC: "cgroup2",
	unix.NFS_SUPER_MAGIC: "nfs", unix.V9FS_MAGIC: "9p", unix.FUSE_SUPER_MAGIC: "fuse or virtiofs",
	unix.SMB_SUPER_MAGIC: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x5346414f: "afs", 0x00c36400: "ceph",
	unix.DEBUGFS_MAGIC: "debugfs", unix.DEVPTS_SUPER_MAGIC: "devpts", unix.SECURITYFS_MAGIC: "securityfs",
}

// existing is the nearest ancestor of path that is there, links resolved, and what of path lies below it.
func existing(path string) (real, rest string) {
	for there := path; ; there = filepath.Dir(there) {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			return real, strings.TrimPrefix(path, there)
		}
		if there == "/" || there == "." {
			return path, ""
		}
	}
}

// resolved is path with the links in what there is of it resolved.
func resolved(path string) string { return filepath.Join(existing(path)) }

// refusePlace refuses folders on file systems that cannot carry a trigger. tmpfs says that it would forget.
func refusePlace(unit, role, path string) (tmpfs bool, err error) {
	real := resolved(path)
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if within(real, dir) {
			return false, &Refusal{Unit: unit, Reason: fmt.Sprintf("the %s %s is in %s, which is cleaned by age", role, path, dir),
				Hint: "choose a lasting folder with --" + role}
		}
	}
	var info, root unix.Statfs_t
	there, _ := existing(path)
	if err := unix.Statfs(there, &info); err != nil {
		return false, &FolderError{Path: path, Err: fmt.Errorf("finding its file system: %w", err)}
	}
	name := filesystems[int64(info.Type)]
	if info.Type == unix.OVERLAYFS_SUPER_MAGIC && unix.Statfs("/", &root) == nil && info.Fsid != root.Fsid {
		name = "overlay" // a layer of some container image; a host whose own root is one is fine
	}
	if name != "" {
		return false, &Refusal{Unit: unit, Reason: fmt.Sprintf("the %s %s is on %s, where systemd would not notice a touch", role, path, name),
			Hint: "choose a folder on a local disk with --" + role}
	}
	return info.Type == unix.TMPFS_MAGIC, nil
}
