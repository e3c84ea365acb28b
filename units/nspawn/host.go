package nspawn

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// reserve takes the locks that a machine holds for as long as it exists: that
// of its root, a place on this host, and its share in being alone.
func reserve(ctx context.Context, base string, v Version, alone bool) ([]*os.File, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	single, err := await(ctx, filepath.Join(base, "alone"), how)
	if err != nil {
		return nil, err
	}
	root, err := await(ctx, filepath.Join(home(), "."+suites[v]+".lock"), syscall.LOCK_SH)
	if err != nil {
		single.Close()
		return nil, err
	}
	place, err := slot(ctx, base)
	if err != nil {
		mine.Add(-1)
		single.Close()
		root.Close()
		return nil, err
	}
	locks := []*os.File{single, root}
	if place != nil {
		locks = append(locks, place)
	}
	return locks, nil
}

// roomForInotify raises the kernel's limit on inotify instances for one user,
// 128 by default, which the machines share with one another and the host. One
// takes from 6 to 30, and a path unit that gets none fails.
func roomForInotify() error {
	const file, enough = "/proc/sys/fs/inotify/max_user_instances", 1024
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || limit >= enough {
		return err
	}
	return os.WriteFile(file, []byte(strconv.Itoa(enough)), 0)
}
