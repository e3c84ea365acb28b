package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWatchedLock: whatever stands in the lock's place is neither followed nor waited for.
func TestWatchedLock(t *testing.T) {
	cases := map[string]struct {
		plant  func(path string) error
		want   watching
		broken bool
	}{
		"none":   {func(string) error { return nil }, watchOff, false},
		"file":   {func(path string) error { return os.WriteFile(path, nil, 0o600) }, watchOff, false},
		"FIFO":   {func(path string) error { return unix.Mkfifo(path, 0o600) }, watchUnknown, true},
		"link":   {func(path string) error { return os.Symlink("/etc/passwd", path) }, watchUnknown, true},
		"folder": {func(path string) error { return os.Mkdir(path, 0o700) }, watchUnknown, true},
		"socket": {func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o600, 0) }, watchUnknown, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state := t.TempDir()
			if err := c.plant(filepath.Join(state, "watch.lock")); err != nil {
				t.Fatal(err)
			}
			if got, _, err := watched(state); got != c.want || (err != nil) != c.broken {
				t.Errorf("got %v, %v; want %v, an error: %v", got, err, c.want, c.broken)
			}
		})
	}
}

func TestFull(t *testing.T) {
	for _, c := range []struct {
		name string
		disk unix.Statfs_t
		want bool
	}{
		{"room", unix.Statfs_t{Blocks: 10, Bavail: 1, Files: 10, Ffree: 1}, false},
		{"no blocks", unix.Statfs_t{Blocks: 10, Files: 10, Ffree: 1}, true},
		{"no inodes", unix.Statfs_t{Blocks: 10, Bavail: 1, Files: 10}, true},
		{"neither counted", unix.Statfs_t{}, false},
	} {
		if err := full(c.disk); (err != nil) != c.want {
			t.Errorf("%s: got %v, want an error: %v", c.name, err, c.want)
		}
	}
}

// TestAskedSince looks at spools that ask and at those that do not, and hangs at none.
func TestAskedSince(t *testing.T) {
	write := func(path string) error { return os.WriteFile(path, nil, 0o600) }
	for name, c := range map[string]struct {
		plant func(spool string) error
		asks  bool
	}{
		"empty":        {func(string) error { return nil }, false},
		"sentinel":     {func(spool string) error { return write(spool + "/sentinel") }, true},
		"link to none": {func(spool string) error { return os.Symlink("none", spool+"/sentinel") }, true},
		"FIFO":         {func(spool string) error { return unix.Mkfifo(spool+"/sentinel", 0o600) }, true},
		"request":      {func(spool string) error { return write(spool + "/requests/web:one") }, true},
		"stray":        {func(spool string) error { return write(spool + "/requests/a b") }, false},
		"requests/ away": {func(spool string) error {
			return os.Rename(spool+"/requests", spool+"/elsewhere")
		}, false},
		"FIFO for requests/": {func(spool string) error {
			if err := os.Remove(spool + "/requests"); err != nil {
				return err
			}
			return unix.Mkfifo(spool+"/requests", 0o600)
		}, false},
		"link for requests/": {func(spool string) error {
			if err := os.Remove(spool + "/requests"); err != nil {
				return err
			}
			return os.Symlink("/etc", spool+"/requests")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spool := t.TempDir()
			if err := os.Mkdir(spool+"/requests", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.plant(spool); err != nil {
				t.Fatal(err)
			}
			since := askedSince(spool)
			if since.IsZero() == c.asks || time.Since(since) > time.Hour && c.asks {
				t.Errorf("asked since %v, want that it asks: %v", since, c.asks)
			}
		})
	}
}
