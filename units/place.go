package units

import (
	"errors"
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

// inLayer tells whether a folder is where Docker, Podman or containerd keep the layers of images and containers. What a container
// writes goes into a copy of its own, and a watch stays with the original (CTR-19). Volumes are elsewhere.
func inLayer(path string) bool {
	for _, store := range []string{"/overlay2/", "/containers/storage/overlay/", "/io.containerd.snapshotter.v1.overlayfs/"} {
		if strings.Contains(path+"/", store) {
			return true
		}
	}
	return false
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
	if inLayer(real) {
		return false, &Refusal{Unit: unit, Reason: fmt.Sprintf("the %s %s is in a layer of a container's image, where nobody notices what the container writes", role, path),
			Hint: "choose a folder outside with --" + role + ", and mount it into the container"}
	}
	there, _ := existing(path)
	name, err := fileSystem(there)
	if err != nil {
		return false, &FolderError{Path: path, Err: fmt.Errorf("finding its file system: %w", err)}
	}
	if name == "tmpfs" {
		return true, nil
	}
	if name != "" {
		return false, &Refusal{Unit: unit, Reason: fmt.Sprintf("the %s %s is on %s, where systemd would not notice a touch", role, path, name),
			Hint: "choose a folder on a local disk with --" + role}
	}
	return false, nil
}

// fileSystem names what a folder is on where that matters: tmpfs, or one of those that are refused.
func fileSystem(dir string) (name string, err error) {
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		return "", err
	}
	switch info.Type {
	case unix.TMPFS_MAGIC:
		return "tmpfs", nil
	case unix.OVERLAYFS_SUPER_MAGIC: // some container's root; a host whose own root is one is fine
		var here, root unix.Stat_t // statfs may give the same number for all overlays on one disk
		if err := errors.Join(unix.Stat(dir, &here), unix.Stat("/", &root)); err != nil {
			return "", err
		}
		if here.Dev != root.Dev {
			return "overlay", nil
		}
	}
	return filesystems[int64(info.Type)], nil
}
