package units

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An info is a folder of that mode and owner.
type info struct {
	fs.FileInfo
	mode     fs.FileMode
	uid, gid uint32
}

func (i info) Mode() fs.FileMode { return fs.ModeDir | i.mode }
func (i info) Sys() any          { return &syscall.Stat_t{Uid: i.uid, Gid: i.gid} }

// TestMend shows what is set right about a folder of a unit that ran as user 7 and now runs as user 8, and what is
// left as an operator made it.
func TestMend(t *testing.T) {
	const setgid = fs.ModeSetgid
	to := owner{8, 80}
	nothing := mending{owner: owner{-1, -1}}
	spool := folder{path: "/s", mode: 0o755, owner: to, mine: true, shared: true, was: 7}
	grouped := folder{path: "/s", mode: 0o770 | setgid, owner: owner{8, 90}, insist: true, mine: true, shared: true, was: 7}
	elsewhere := grouped
	elsewhere.mine = false
	state := folder{path: "/t", mode: 0o700, owner: to, mine: true, was: 7}
	theirs := folder{path: "/t", mode: 0o700, owner: to, was: 7}
	for _, c := range []struct {
		name string
		f    folder
		is   info
		want mending
	}{
		{"spool as made", spool, info{mode: 0o755, uid: 8, gid: 80}, nothing},
		{"spool of the former user", spool, info{mode: 0o755, uid: 7, gid: 70}, mending{owner: to}},
		{"spool with an access list", spool, info{mode: 0o775, uid: 8, gid: 80}, nothing},
		{"spool with an access list, former user", spool, info{mode: 0o775 | setgid, uid: 7}, mending{to, 0o775 | setgid}},
		{"spool given to a web app", spool, info{mode: 0o755, uid: 1000}, nothing},
		{"spool of a killed adopt", spool, info{mode: 0o700}, mending{owner: to}},
		{"spool of root's, open to a group", spool, info{mode: 0o775}, nothing},
		{"spool that its owner cannot write", spool, info{mode: 0o555, uid: 8}, mending{owner{-1, -1}, 0o755}},
		{"group as made", grouped, info{mode: 0o770 | setgid, uid: 8, gid: 90}, nothing},
		{"another group", grouped, info{mode: 0o755, uid: 7, gid: 80}, mending{owner{8, 90}, 0o770 | setgid}},
		{"another group elsewhere", elsewhere, info{mode: 0o755, uid: 7, gid: 80}, mending{owner{-1, 90}, 0o770 | setgid}},
		{"state as made", state, info{mode: 0o700, uid: 8}, nothing},
		{"state of anybody", state, info{mode: 0o700, uid: 1000}, mending{owner: to}},
		{"state that others may read", state, info{mode: 0o750, uid: 8}, nothing},
		{"state that others may write", state, info{mode: 0o720, uid: 8}, mending{owner{-1, -1}, 0o700}},
		{"state in a folder of the operator's", theirs, info{mode: 0o777, uid: 7}, nothing},
	} {
		if got := c.f.mend(c.is); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestMake makes folders with a umask that would hide them, and none through a link.
func TestMake(t *testing.T) {
	base := t.TempDir()
	defer syscall.Umask(syscall.Umask(0o077))
	spool := folder{path: base + "/a/b/spool", mode: 0o755, owner: owner{-1, -1}, shared: true}
	requests := spool
	requests.path += "/requests"
	for _, f := range []folder{spool, requests} {
		if err := f.make(Create); err != nil {
			t.Fatal(err)
		}
	}
	unit := base + "/etc/x.service.d/10-trueup.conf"
	if err := writeInNewDir(unit, "text"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base + "/a", base + "/a/b", spool.path, requests.path, base + "/etc", filepath.Dir(unit)} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}

	elsewhere := t.TempDir()
	if err := errors.Join(os.RemoveAll(spool.path), os.Symlink(elsewhere, spool.path)); err != nil {
		t.Fatal(err)
	}
	if err := requests.make(Create); err == nil {
		t.Error("requests were made through a link")
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("through a link it made %v, %v", left, err)
	}
}
