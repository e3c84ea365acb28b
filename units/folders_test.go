package units

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// TestKeeping shows that what is not given stays as it was.
func TestKeeping(t *testing.T) {
	had := adoptionOf("web.service", "/srv/web").Adoption
	had.Policy = trigger.Policy{Floor: time.Minute, RetryMax: time.Hour, Sweep: 2 * time.Hour}
	had.WebGroup, had.NoTimer, had.Gate = "web", true, "/bin/true"
	complete := func(a Adoption) Adoption {
		t.Helper()
		a.Gate = "/bin/true"
		got, err := a.keeping(had).complete("/var/lib/trueup")
		if err != nil {
			t.Fatal(err)
		}
		got.AddTimer = false // it is a wish, and leaves no trace
		return got
	}
	if got := complete(Adoption{Unit: "web.service"}); !reflect.DeepEqual(got, had) {
		t.Errorf("it kept\n%+v, had\n%+v", got, had)
	}
	wish := Adoption{Unit: "web.service", Folders: trigger.Folders{Spool: "/a", State: "/b", Outbox: "/c"}, WebGroup: "other",
		Policy: trigger.Policy{Floor: time.Second, RetryMax: 2 * time.Second, Sweep: 3 * time.Second}}
	want := wish
	want.Gate, want.NoTimer = "/bin/true", true
	if got := complete(wish); !reflect.DeepEqual(got, want) {
		t.Errorf("given is\n%+v, it took\n%+v", want, got)
	}
	if got := complete(Adoption{AddTimer: true}); got.NoTimer {
		t.Error("a timer that is asked for is still declined")
	}
	had.Policy = trigger.DefaultPolicy()
	if got := complete(Adoption{Policy: trigger.Policy{Floor: 10 * time.Minute}}); got.Policy.RetryMax != 10*time.Minute {
		t.Errorf("a greater floor leaves %+v", got.Policy)
	}
}

// TestWantsTimer shows that ours stays, and comes only where there is no other.
func TestWantsTimer(t *testing.T) {
	for _, c := range []struct {
		declined, had bool
		foreign       []string
		want          bool
	}{
		{want: true},
		{foreign: []string{"other.timer"}},
		{had: true, foreign: []string{"other.timer"}, want: true},
		{had: true, foreign: []string{"web.timer"}}, // it took the place of ours
		{declined: true, had: true},
	} {
		j := adopting{rec: adoptionOf("web.service", "/srv/web"), had: record{OwnTimer: c.had}}
		j.rec.NoTimer = c.declined
		if got := j.wantsTimer(c.foreign); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestUsage tells a wish that cannot be from a unit that cannot have it.
func TestUsage(t *testing.T) {
	for name, a := range map[string]Adoption{
		"floor":    {Policy: trigger.Policy{Floor: time.Nanosecond}},
		"relative": {Folders: trigger.Folders{Spool: "spool"}},
		"line":     {Folders: trigger.Folders{Spool: "/a\nb"}},
		"timer":    {NoTimer: true, AddTimer: true},
	} {
		a.Unit, a.Gate = "web.service", "/bin/true"
		if _, err := a.complete("/var/lib/trueup"); !isUsage(err) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}

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
