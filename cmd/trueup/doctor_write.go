package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockedFor is how long doctor waits for the ledger's write lock: a commit holds it for a moment.
const lockedFor = 3 * time.Second

// hindrances are what keeps a ledger from being written that may well be read.
func hindrances(ctx context.Context, path string, patience time.Duration) (found []finding) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if folder := filepath.Dir(path); readOnly(folder) != nil {
		return []finding{{folder + " is on a file system that is mounted read-only", "findmnt -T " + quoted(folder)}}
	}
	for _, f := range []struct {
		path string
		kind fs.FileMode
		is   string
	}{
		{filepath.Dir(path), fs.ModeDir, "folder"}, {path, 0, "regular file"}, {path + "-wal", 0, "regular file"}, {path + "-shm", 0, "regular file"},
		{path + ".lock", 0, "regular file"}, {path + ".fence", 0, "regular file"}, {path + ".sessions", fs.ModeDir, "folder"},
	} {
		switch info, err := os.Lstat(f.path); {
		case err != nil: // they come and go
		case info.Mode().Type() != f.kind:
			found = append(found, finding{f.path + " is no " + f.is, "mv " + quoted(f.path) + " " + quoted(f.path+".aside") + " # and docs/ledger.md#when-it-cannot-be-written"})
		case errors.Is(unix.Access(f.path, unix.W_OK), unix.EPERM):
			found = append(found, finding{f.path + " has been made immutable", "chattr -i " + quoted(f.path)})
		}
	}
	if found == nil && !unlocked(ctx, path+".lock", patience) {
		found = []finding{{"somebody has kept the write lock for " + span(patience) + ": " + path + ".lock", "fuser -v " + quoted(path+".lock") + " # who has it open; a prune by hand may take longer"}}
	}
	return found
}

// unlocked waits until nobody holds a lock. One that cannot be asked for counts as free.
func unlocked(ctx context.Context, path string, patience time.Duration) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd) // and with it the lock
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for {
		if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != unix.EWOULDBLOCK {
			return true
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return true
		case <-late:
			return false
		}
	}
}
