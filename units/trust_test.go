package units

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLock shows that nobody but the owner can take the lock, and that waiting for it ends and says for what.
func TestLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock is %v, %v", info, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lockFile(ctx, file); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), file) {
		t.Errorf("a lock that is taken: %v", err)
	}
	unlock()
	if unlock, err = lockFile(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestUntrusted finds what another than root could change on the way to a program.
func TestUntrusted(t *testing.T) {
	if place, why := untrusted("/bin/sh"); why != "" {
		t.Errorf("%s %s", place, why)
	}
	open := t.TempDir()
	if err := errors.Join(os.Chmod(open, 0o777|fs.ModeSticky), os.Symlink("/bin/sh", open+"/sh")); err != nil {
		t.Fatal(err)
	}
	grouped := t.TempDir() // as older Debians make /usr/local, and as nobody should
	for gid, want := range map[int]bool{0: true, 50: true, 12345: false} {
		if err := errors.Join(os.Chown(grouped, 0, gid), os.Chmod(grouped, 0o775)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(grouped)
		if err != nil {
			t.Fatal(err)
		}
		if why := changeable(info); (why == "") != want {
			t.Errorf("a folder that group %d may write: %q", gid, why)
		}
	}
	for _, path := range []string{open + "/sh", open + "/nothing", "/nothing/there"} {
		if _, why := untrusted(path); why == "" {
			t.Errorf("%s is trusted", path)
		}
	}
}

// TestProbeDropped shows that the probe keeps the whole sandbox.
func TestProbeDropped(t *testing.T) {
	for key, want := range map[string]bool{"ExecStart": true, "ExecStartPre": true, "ExecStopPost": true, "ExecReload": true,
		"ExecPaths": false, "NoExecPaths": false, "ExecSearchPath": false, "ProtectSystem": false} {
		if got := probeDropped(key); got != want {
			t.Errorf("%s is dropped: %t", key, got)
		}
	}
}
