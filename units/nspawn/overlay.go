package nspawn

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	overlayMagic = 0x794c7630
	tmpfsSize    = "size=2g"
)

// overlay mounts a clean writable copy of root beneath dir and returns where.
// It costs a millisecond; what it makes is on the disk of dir, so that an
// fsync costs what it does on that disk.
func overlay(root, dir string) (string, error) {
	base, err := layerable(dir)
	if err != nil {
		return "", err
	}
	upper, work, merged := filepath.Join(base, "upper"), filepath.Join(base, "work"), filepath.Join(dir, "root")
	for _, d := range []string{upper, work, merged} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", root, upper, work)
	if err := syscall.Mount("trueup", merged, "overlay", 0, data); err != nil {
		return "", fmt.Errorf("mounting an overlay on %s (%s): %w", merged, data, err)
	}
	return merged, nil
}

// layerable returns a folder that may hold an overlay's upper layer: dir, or a
// tmpfs inside it when dir is itself on an overlay, as in a container.
func layerable(dir string) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return "", fmt.Errorf("looking at the file system of %s: %w", dir, err)
	}
	if fs.Type != overlayMagic {
		return dir, nil
	}
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		return "", err
	}
	if err := syscall.Mount("trueup", disk, "tmpfs", 0, tmpfsSize); err != nil {
		return "", fmt.Errorf("mounting a tmpfs on %s: %w", disk, err)
	}
	return disk, nil
}
