package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
)

// CTR-17: wait ends also where the kernel tells it of nothing: a sandbox that hears no changes of what is mounted, or a mount
// that was made anew. Here it watches a folder in which nothing happens, since its name has become another's.
func TestWaitHearsNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for name, settled := range map[string]int{"before": 1, "after": 8} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"version":1,"unit":"web.service","epoch":"EPOCHEPOCH","claims":8,"settled":%d,"state":"idle"}`, settled)
		if err := os.WriteFile(filepath.Join(base, name, "status.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outbox, next := filepath.Join(base, "outbox"), filepath.Join(base, "next")
	for link, to := range map[string]string{outbox: "before", next: "after"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := await(t.Context(), outbox, trigger.Ticket{Epoch: "EPOCHEPOCH", N: 7}, nil, time.Minute)
		ended <- err
	}()
	awaitWatch(t, filepath.Join(base, "before"))
	if err := os.Rename(next, outbox); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// awaitWatch returns once this process watches a folder.
func awaitWatch(t *testing.T, dir string) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	watched := fmt.Sprintf(" ino:%x ", st.Ino)
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(20 * time.Second); ; {
		files, err := filepath.Glob("/proc/self/fdinfo/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), watched) {
				return
			}
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s is not watched", dir)
		}
	}
}
