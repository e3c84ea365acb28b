package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/publish"
)

// Where alarms cannot be remembered is an alarm itself.
func TestAlarmsOfTheirOwnFolder(t *testing.T) {
	w := watchman{folders: publish.Folders{t.TempDir()}}
	own := func(refused error) string {
		found := w.lookAtOwn(refused, &publish.Memory{})
		if len(found) == 0 {
			return ""
		}
		if found[0].ID != (publish.ID{Name: publish.Disk, Unit: "trueup-check.service"}) || found[0].Do == "" {
			t.Errorf("%+v", found)
		}
		return found[0].Text
	}
	if got := own(nil); got != "" {
		t.Errorf("one that is well: %q", got)
	}
	if got := own(errors.New("locking the alarms: input/output error")); got != "locking the alarms: input/output error" {
		t.Errorf("one that refuses: %q", got)
	}
	if err := unix.Mount("tmpfs", w.folders[0], "tmpfs", unix.MS_RDONLY, "size=1m"); err != nil {
		t.Fatalf("mounting: %v; run the tests as root", err)
	}
	defer func() { _ = unix.Unmount(w.folders[0], unix.MNT_DETACH) }()
	if got := own(unix.EROFS); got != w.folders[0]+": read-only file system" {
		t.Errorf("a read-only one: %q", got)
	}
}

// A look by hand and alarms disable do not undo each other's notes.
func TestUnlookWaitsForLooks(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	folders, err := alarmsFolders(true)
	if err != nil {
		t.Fatal(err)
	}
	release, _, err := folders.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := folders.Save(publish.Memory{Version: 1, Looked: noon}); err != nil {
		t.Fatal(err)
	}
	looked := func() time.Time {
		memory, err := folders.Read()
		if err != nil {
			t.Error(err)
		}
		return memory.Looked
	}
	if f, ok := errors.AsType[*failure](unlook(true)); !ok || f.code != exitTimeout || !looked().Equal(noon) {
		t.Errorf("while somebody looks it ends with %v, and the last look was at %v", f, looked())
	}
	release()
	if err := unlook(true); err != nil || !looked().IsZero() {
		t.Errorf("it ends with %v, and the last look was at %v", err, looked())
	}
}

// A look waits until the one that is on has told, and then looks; one that hangs it does not wait out.
func TestLookWaitsForLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watchman{folders: publish.Folders{t.TempDir()}}
		first, _, err := w.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(tellingTime, first)
		began := time.Now()
		second, _, err := w.hold(t.Context())
		if took := time.Since(began); err != nil || took < tellingTime || took > tellingTime+time.Second {
			t.Fatalf("after %s: %v", took, err)
		}
		defer second()
		if _, _, err := w.hold(t.Context()); !errors.Is(err, publish.ErrBusy) {
			t.Errorf("where it does not end: %v", err)
		}
	})
}
