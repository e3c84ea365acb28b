package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile"
)

// TestRemoteDisk refuses what statfs calls remote, by name (SQL-05, SQL-06, SQL-08, LCK-09).
func TestRemoteDisk(t *testing.T) {
	t.Parallel()
	for kind, name := range map[int64]string{
		0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb", 0x01021997: "9p", 0x65735546: "fuse or virtiofs",
	} {
		err := localDisk("/somewhere", func(string) (int64, error) { return kind, nil })
		if err == nil || !strings.Contains(err.Error(), "on "+name) {
			t.Errorf("%#x: %v, want it refused as %s", kind, err, name)
		}
	}
	for _, kind := range []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC} {
		if err := localDisk("/somewhere", func(string) (int64, error) { return kind, nil }); err != nil {
			t.Errorf("%#x: %v", kind, err)
		}
	}
	if kind, err := statfs("/proc"); err != nil || kind != unix.PROC_SUPER_MAGIC {
		t.Errorf("statfs of /proc: %#x, %v", kind, err)
	}
}

// tmpfs mounts a small file system for the length of the test.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatalf("mounting a tmpfs, as root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// unwritten wants one line that says what is wrong, of an error that stops the sweep.
func unwritten(t *testing.T, err error, says string) {
	t.Helper()
	if !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got error %v, want one line of reconcile.ErrUnwritable that says %q", err, says)
	}
}

// TestDiskFull: what does not fit is not written in part, and nobody needs to mend anything once there is room (SQL-09,
// SQL-12, SQL-13).
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := tmpfs(t, "size=2m")
	s := reopen(t, filepath.Join(dir, "state.db"))
	if err := s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	crowded := crowd(s)
	big := make([]byte, 100_000)
	batch := reconcile.Batch{
		Ask:     []reconcile.Ask{{Targets: []reconcile.Key{"test:two"}}},
		Records: []reconcile.Write{{Family: "marker", Key: "k", Value: big}},
	}
	unwritten(t, s.Commit(t.Context(), batch), "the disk is full")
	unwritten(t, crowded, "the disk is full")
	standings, err := s.Standings(t.Context())
	if err != nil || len(standings) != 1 {
		t.Errorf("standings %+v, %v; want the one that was written", standings, err)
	}
	_, err = Open(t.Context(), filepath.Join(dir, "other.db"), Options{})
	unwritten(t, err, "other.db")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), batch); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	if got, err := s.Records(t.Context(), "marker", "k"); err != nil || len(got) != 1 || len(got[0].Value) != len(big) {
		t.Errorf("records %d, %v", len(got), err)
	}
}

// crowd grants so many leases that they do not fit.
func crowd(s *Store) error {
	var bids []reconcile.Bid
	for _, key := range keys(2000) {
		bids = append(bids, reconcile.Bid{Target: key})
	}
	_, err := s.Grant(context.Background(), bids, time.Minute)
	return err
}

// fill takes all the room that is left but a page.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); ; {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadOnlyDisk is a file system that was remounted after an error (SQL-13).
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	dir := tmpfs(t, "size=4m")
	path := filepath.Join(dir, "state.db")
	s := reopen(t, path)
	try(t, s, "test:one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	unwritten(t, err, "read-only file system")
	_, err = Open(t.Context(), filepath.Join(dir, "new.db"), Options{})
	unwritten(t, err, "read-only file system")
	r, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Runs(t.Context(), "", 10); err != nil {
		t.Errorf("reading from a read-only disk: %v", err)
	}
	unwritten(t, r.Commit(t.Context(), reconcile.Batch{}), "opened for reading")
}

// TestFolder names the folder that is not there or not writable.
func TestFolder(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "none", "state.db"), Options{})
	unwritten(t, err, "no such file or directory")
	path := filepath.Join(t.TempDir(), "state.db")
	_, err = Open(t.Context(), path, Options{ReadOnly: true})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening no ledger for reading: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) > 0 {
		t.Errorf("reading made %v, %v", entries, err)
	}
}

// TestOtherUser reads a ledger that it may not write, while nobody has it open and while somebody writes, and is told
// plainly when it tries to write.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/var/tmp", "ledger") // a folder that others may enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ask := reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}
	if err := s.Commit(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	during := start(t, "reader", path, nobody)
	if got := during.ask("look"); got != "1" {
		t.Errorf("beside a writer: %s standings, want 1", got)
	}
	ask.Ask[0].Targets = append(ask.Ask[0].Targets, "test:two")
	if err := s.Commit(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if got := during.ask("look"); got != "2" {
		t.Errorf("after the writer's next commit: %s standings, want 2", got)
	}
	during.kill()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := start(t, "reader", path, nobody).ask("look"); got != "2" {
		t.Errorf("with no writer: %s standings, want 2", got)
	}
}

// TestOthersFolder: in a folder of somebody else root writes nothing, since that one could have it write anywhere; reading is
// all right. Whoever the folder belongs to writes there.
func TestOthersFolder(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	dir, err := os.MkdirTemp("/var/tmp", "ledger")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state.db")
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "sudo -u '#65534'") {
		t.Errorf("root in the folder of another: %v", err)
	}
	if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
		t.Errorf("made all the same: %v, %v", made, err)
	}
	user := start(t, "holder", path, nobody)
	user.take("test:two")
	reader, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if held, err := reader.Leases(t.Context()); err != nil || len(held) != 1 {
		t.Errorf("root reads %v, %v", held, err)
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	write := func(f *os.File) error { return reader.Export(t.Context(), f) }
	for name, err := range map[string]error{
		"a backup":                  reader.Backup(t.Context(), filepath.Join(dir, "backup.db")),
		"an export":                 NewFile(filepath.Join(dir, "export.jsonl"), 0o600, write),
		"an import":                 Import(t.Context(), filepath.Join(dir, "new.db"), strings.NewReader("")),
		"a backup by way of a link": reader.Backup(t.Context(), filepath.Join(link, "backup.db")),
	} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("%s by root into the folder of another: %v", name, err)
		}
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("made all the same: %v, %v", after, err)
	}
}

// TestByLink opens one database by two names, one of them with everything in it that means something in a URL.
func TestByLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "odd ?name#100%&é.db"), filepath.Join(t.TempDir(), "link.db")
	s := reopen(t, path)
	try(t, s, "test:one")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	taken(t, reopen(t, link), "test:one", true)
	if err := os.Symlink(dir, link+".d"); err != nil {
		t.Fatal(err)
	}
	taken(t, reopen(t, filepath.Join(link+".d", filepath.Base(path))), "test:one", true)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
