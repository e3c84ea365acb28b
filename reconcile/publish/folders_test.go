package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// readOnly makes a folder read-only, with what is in it, until the returned function is called.
func readOnly(t *testing.T, dir string) (mend func()) {
	t.Helper()
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("binding %s: %v; run the tests as root", dir, err)
	}
	mend = func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }
	t.Cleanup(mend)
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return mend
}

// A file system that has become read-only takes neither looks nor what they remember away.
func TestRememberedElsewhere(t *testing.T) {
	f := Folders{t.TempDir(), filepath.Join(t.TempDir(), "run")}
	saved := func(text string) error {
		return f.Save(Memory{Version: 1, Fault: text})
	}
	is := func(want string) {
		t.Helper()
		if m, err := f.Read(); err != nil || m.Fault != want {
			t.Errorf("it reads %q, %v; want %q", m.Fault, err, want)
		}
	}
	is("")
	if err := saved("well"); err != nil {
		t.Fatal(err)
	}
	is("well")
	mend := readOnly(t, f[0])
	release, refused, err := f.Hold()
	if err != nil || !errors.Is(refused, syscall.EROFS) {
		t.Fatalf("holding says %v, %v", refused, err)
	}
	if _, _, err := f.Hold(); !errors.Is(err, ErrBusy) {
		t.Errorf("a second look: %v", err)
	}
	release()
	is("well")
	if err := saved("read-only"); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "noted in "+f[1]) {
		t.Errorf("saving says %v", err)
	}
	is("read-only")
	mend()
	if err := saved("mended"); err != nil {
		t.Fatal(err)
	}
	is("mended")
	if _, err := os.Lstat(filepath.Join(f[1], memoryFile)); err == nil {
		t.Error("what was noted meanwhile is left")
	}
}
