package publish

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestMemoryIsDamaged(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", "{", `{"version":2}`, `{"version":1,"alarms":[null]}`, `{"version":1,"alarms":[{"alarm":"disk"}]}`,
		`{"version":1,"alarms":[{"alarm":"disk","unit":"a.service","pending":[null]}]}`} {
		if err := os.WriteFile(filepath.Join(dir, memoryFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := Read(dir); err == nil || len(m.Alarms) > 0 || m.Version != 1 {
			t.Errorf("%q reads as %+v, %v", text, m, err)
		}
	}
	if m, err := Read(filepath.Join(dir, "none")); err != nil || m.Version != 1 {
		t.Errorf("nothing reads as %+v, %v", m, err)
	}
}

// A pipe in the place of the memory is damage, and nobody waits for what it may say; nor is a file read that has no end.
func TestMemoryIsNoPlainFile(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"link":   func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		dir := t.TempDir()
		if err := plant(filepath.Join(dir, memoryFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || errors.Is(err, os.ErrPermission) {
			t.Errorf("a %s reads as a memory: %v", name, err)
		}
		if err := (Memory{Version: 1}).Save(dir); (err == nil) == (name == "folder") {
			t.Errorf("saving in the place of a %s: %v", name, err)
		}
	}
}
