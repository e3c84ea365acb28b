package publish

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever writes at once, all of them succeed, nobody reads half a file, and nothing is left beside it.
func TestReplaceTogether(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "page")
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 10 {
				if err := Replace(path, bytes.Repeat([]byte{'a' + byte(i)}, 1<<18), 0o600); err != nil {
					t.Error(err)
				}
				if text, err := os.ReadFile(path); err != nil || len(text) != 1<<18 || bytes.Count(text, text[:1]) != len(text) {
					t.Errorf("read %d bytes, %v", len(text), err)
				}
			}
		})
	}
	writers.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Root may write where devices are; a file in the place of one would break every program that opens it.
func TestReplaceNoDevice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full")
	if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 7))); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("x"), 0o600); err == nil {
		t.Error("a device is replaced")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("%v, %v", info, err)
	}
}
