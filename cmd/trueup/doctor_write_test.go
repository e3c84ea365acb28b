package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHindrances plants what keeps a ledger from being written, though it can be read: each is told of, with a command.
// It needs root, to mount a disk.
func TestHindrances(t *testing.T) {
	const patience = 300 * time.Millisecond
	file := func(name string) func(*testing.T, string) {
		return func(t *testing.T, ledger string) { write(t, ledger+name, "") }
	}
	folder := func(name string) func(*testing.T, string) {
		return func(t *testing.T, ledger string) {
			os.Remove(ledger + name)
			if err := os.Mkdir(ledger+name, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		plant    func(t *testing.T, ledger string)
		what, do string // empty where all is well
	}{
		"well":         {func(*testing.T, string) {}, "", ""},
		"lock":         {folder(".lock"), ".lock is no regular file", "mv "},
		"fence":        {folder(".fence"), ".fence is no regular file", "mv "},
		"sessions":     {file(".sessions"), ".sessions is no folder", "mv "},
		"link":         {func(t *testing.T, ledger string) { os.Remove(ledger + ".fence"); link(t, "/dev/null", ledger+".fence") }, ".fence is no regular file", "mv "},
		"through link": {func(t *testing.T, ledger string) { rename(t, ledger, ledger+".real"); link(t, ledger+".real", ledger) }, "", ""},
		"pipe":         {func(t *testing.T, ledger string) { os.Remove(ledger); pipe(t, ledger) }, "ledger.db is no regular file", "mv "},
		"immutable":    {immutable, "ledger.db has been made immutable", "chattr -i "},
		"read-only":    {readOnlyDisk, "mounted read-only", "findmnt -T "},
		"locked":       {held, "kept the write lock", "fuser -v "},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "ledger.db")
			for _, beside := range []string{"", "-wal", "-shm", ".lock", ".fence"} {
				write(t, ledger+beside, "")
			}
			c.plant(t, ledger)
			found := hindrances(t.Context(), ledger, patience)
			if c.what == "" {
				if len(found) > 0 {
					t.Errorf("told of %v", found)
				}
				return
			}
			if len(found) != 1 || !strings.Contains(found[0].What, c.what) || !strings.HasPrefix(found[0].Do, c.do) {
				t.Errorf("told of %v, want %q, do %q", found, c.what, c.do)
			}
		})
	}
}

// A commit that is under way is no hindrance.
func TestLockHeldForAMomentIsNone(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger.db")
	write(t, ledger, "")
	lock := locked(t, ledger)
	time.AfterFunc(50*time.Millisecond, func() { lock.Close() })
	if found := hindrances(t.Context(), ledger, time.Minute); len(found) > 0 {
		t.Errorf("told of %v", found)
	}
}

func locked(t *testing.T, ledger string) *os.File {
	f, err := os.OpenFile(ledger+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err = errors.Join(err, unix.Flock(int(f.Fd()), unix.LOCK_EX)); err != nil {
		t.Fatal(err)
	}
	return f
}

func held(t *testing.T, ledger string) {
	lock := locked(t, ledger)
	t.Cleanup(func() { lock.Close() })
}

func link(t *testing.T, to, at string) {
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func pipe(t *testing.T, path string) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// immutable does as chattr +i does.
func immutable(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const flag = 0x10 // FS_IMMUTABLE_FL
	set := func(flags int) error { return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) }
	t.Cleanup(func() { // or nobody can remove it
		if err := errors.Join(set(0), f.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := set(flag); err != nil {
		t.Fatal(err)
	}
}

// readOnlyDisk mounts one over the ledger's folder.
func readOnlyDisk(t *testing.T, ledger string) {
	folder := filepath.Dir(ledger)
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_RDONLY, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
