package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What cannot be recorded is not done (B5): with a ledger on a full or read-only disk a sweep applies nothing, says so and
// fails, so that the claim stays; once there is room again the next one does it all (SQL-12, SQL-13). It needs root, to
// mount the disk.
func TestUnwritableLedger(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, disk string) (mend func()){
		"full": func(t *testing.T, disk string) func() {
			ballast := filepath.Join(disk, "ballast")
			if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); err == nil {
				t.Fatal("the disk is larger than it should be")
			}
			return func() { os.Remove(ballast) }
		},
		"read-only": func(t *testing.T, disk string) func() {
			remount(t, disk, unix.MS_RDONLY)
			return func() { remount(t, disk, 0) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk := filepath.Join(dir, "disk")
			conf := filepath.Join(dir, "trueup.yaml")
			write(t, conf, fmt.Sprintf(`version: 1
trigger: {spool: %[1]s/spool, state: %[1]s/state}
outbox: %[1]s/outbox
state: sqlite://%[1]s/disk/ledger.db
targets:
- {kind: command, name: a, dir: %[1]s, check: {shell: 'cmp -s wanted a || exit 2'}, apply: [cp, wanted, a]}
`, dir))
			for _, folder := range []string{"spool", "state", "outbox", "disk"} {
				if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
				t.Fatalf("mounting a small disk: %v", err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			write(t, filepath.Join(dir, "wanted"), "1")
			if code, said := trueup(t.Context(), "sweep", "-c", conf); code != 0 {
				t.Fatalf("sweep: exit %d: %s", code, said)
			}
			mend := spoil(t, disk)
			write(t, filepath.Join(dir, "wanted"), "2")
			code, said := trueup(t.Context(), "sweep", "-c", conf)
			if code != exitState || !strings.Contains(said, "error: ") || !strings.Contains(said, "ledger") {
				t.Errorf("sweep: exit %d, want %d: %s", code, exitState, said)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "a")); string(got) != "1" {
				t.Errorf("the target is at %q: it was applied although it could not be recorded", got)
			}
			mend()
			if code, said := trueup(t.Context(), "sweep", "-c", conf); code != 0 {
				t.Fatalf("sweep after the repair: exit %d: %s", code, said)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, "a")); string(got) != "2" {
				t.Errorf("after the repair the target is at %q", got)
			}
		})
	}
}

func remount(t *testing.T, disk string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|flags, "size=2m"); err != nil {
		t.Fatal(err)
	}
}
