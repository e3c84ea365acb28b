package trigger

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// plant is one thing that a hostile web app leaves in its spool.
type plant struct {
	name  string
	put   func(t *testing.T, spool, outside string)
	stays bool // nobody can remove it: one run a floor, said aloud
	odd   bool // the sentinel is no file, which is said
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func immutable(t *testing.T, path string, on bool) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW, 0)
	check(t, err)
	defer unix.Close(fd)
	const immutableFlag = 0x10 // FS_IMMUTABLE_FL
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	check(t, err)
	flags &^= immutableFlag
	if on {
		flags |= immutableFlag
	}
	check(t, unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags))
}

var plants = []plant{
	{name: "regular file", put: func(t *testing.T, spool, _ string) {
		check(t, os.WriteFile(spool+"/sentinel", []byte("not read"), 0o644))
	}},
	{name: "empty folder", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.Mkdir(spool+"/sentinel", 0o755))
	}},
	{name: "tree", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.MkdirAll(spool+"/sentinel/a/b/c", 0o755))
		check(t, os.WriteFile(spool+"/sentinel/a/b/file", nil, 0o644))
	}},
	{name: "0700 tree of another user", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.MkdirAll(spool+"/sentinel/a", 0o700))
		check(t, os.Chown(spool+"/sentinel", 12345, 12345))
	}},
	{name: "a path of 200 folders", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.MkdirAll(spool+"/sentinel/"+strings.Repeat("d/", 200), 0o755))
	}},
	{name: "fifo", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, unix.Mkfifo(spool+"/sentinel", 0o600))
	}},
	{name: "socket", odd: true, put: func(t *testing.T, spool, _ string) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: spool + "/sentinel", Net: "unix"})
		check(t, err)
		l.SetUnlinkOnClose(false)
		check(t, l.Close())
	}},
	{name: "link to a file outside", odd: true, put: func(t *testing.T, spool, outside string) {
		check(t, os.Symlink(outside+"/file", spool+"/sentinel"))
	}},
	{name: "link to a folder outside", odd: true, put: func(t *testing.T, spool, outside string) {
		check(t, os.Symlink(outside, spool+"/sentinel"))
	}},
	{name: "dangling link", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.Symlink("nowhere", spool+"/sentinel"))
	}},
	{name: "link to itself", odd: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.Symlink("sentinel", spool+"/sentinel"))
	}},
	{name: "hard link", put: func(t *testing.T, spool, outside string) {
		check(t, os.Link(outside+"/file", spool+"/sentinel"))
	}},
	{name: "immutable file", stays: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.WriteFile(spool+"/sentinel", nil, 0o644))
		immutable(t, spool+"/sentinel", true)
		t.Cleanup(func() { immutable(t, spool+"/sentinel", false) })
	}},
	{name: "requests a link to a folder outside", put: func(t *testing.T, spool, outside string) {
		check(t, os.RemoveAll(spool+"/requests"))
		check(t, os.Symlink(outside, spool+"/requests"))
	}},
	{name: "requests a link to the spool", put: func(t *testing.T, spool, _ string) {
		check(t, os.RemoveAll(spool+"/requests"))
		check(t, os.Symlink(".", spool+"/requests"))
	}},
	{name: "requests a file", put: func(t *testing.T, spool, _ string) {
		check(t, os.RemoveAll(spool+"/requests"))
		check(t, os.WriteFile(spool+"/requests", nil, 0o644))
	}},
	{name: "requests a fifo", put: func(t *testing.T, spool, _ string) {
		check(t, os.RemoveAll(spool+"/requests"))
		check(t, unix.Mkfifo(spool+"/requests", 0o600))
	}},
	{name: "requests missing", put: func(t *testing.T, spool, _ string) {
		check(t, os.RemoveAll(spool+"/requests"))
	}},
	{name: "names that are no requests", put: func(t *testing.T, spool, _ string) {
		for _, name := range []string{"..x", "a b", "a\nb", "-rf", "ä", "\xff\xfe", ".hidden", "x~", "$(reboot)", strings.Repeat("n", 255)} {
			check(t, os.WriteFile(filepath.Join(spool, "requests", name), nil, 0o644))
		}
	}},
	{name: "requests that are folders, fifos and links", put: func(t *testing.T, spool, outside string) {
		check(t, os.MkdirAll(spool+"/requests/folder/x/y", 0o755))
		check(t, os.MkdirAll(spool+"/requests/no name/x", 0o755))
		check(t, unix.Mkfifo(spool+"/requests/fifo", 0o600))
		check(t, os.Symlink(outside, spool+"/requests/link"))
		check(t, os.Symlink("self", spool+"/requests/self"))
	}},
	{name: "5,000 requests", put: func(t *testing.T, spool, _ string) {
		for i := range 5000 {
			check(t, os.WriteFile(fmt.Sprintf("%s/requests/r%d", spool, i), nil, 0o644))
		}
	}},
	{name: "an immutable request", put: func(t *testing.T, spool, _ string) {
		check(t, os.WriteFile(spool+"/requests/stone", nil, 0o644))
		immutable(t, spool+"/requests/stone", true)
		t.Cleanup(func() {
			stone, err := filepath.Glob(spool + "/.aside-*/stone")
			check(t, err)
			immutable(t, stone[0], false)
		})
	}},
	{name: "an immutable tree for requests", stays: true, put: func(t *testing.T, spool, _ string) {
		check(t, os.RemoveAll(spool+"/requests"))
		check(t, os.Mkdir(spool+"/requests", 0o755))
		check(t, os.WriteFile(spool+"/requests/stone", nil, 0o644))
		immutable(t, spool+"/requests", true)
		t.Cleanup(func() { immutable(t, spool+"/requests", false) })
	}},
	{name: "20,000 foreign names", put: func(t *testing.T, spool, _ string) {
		for i := range 20_000 {
			fd, err := unix.Open(fmt.Sprintf("%s/foreign-%d", spool, i), unix.O_CREAT|unix.O_WRONLY, 0o644)
			check(t, err)
			unix.Close(fd)
		}
	}},
}

// Whatever the spool holds: the first claim takes it or says that it cannot, nothing outside is changed, and an
// honest touch afterwards is claimed and covered (A4, I3, I5; PATH-06, PATH-24, SEC-01, SEC-03, SEC-05, TRG-05).
func TestHostileSpool(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			h := newHost(t)
			outside := t.TempDir()
			check(t, os.WriteFile(outside+"/file", []byte("precious"), 0o600))
			before := describe(t, outside)
			p.put(t, h.Folders.Spool, outside)

			h.claim()
			h.settle()
			if after := describe(t, outside); after != before {
				t.Errorf("outside the spool:\n%s\nwas\n%s", after, before)
			}
			if still := asks(h.Folders.Spool); still != p.stays {
				t.Errorf("asks on: %v, want %v", still, p.stays)
			}
			if h.logged(MsgStuck) != p.stays {
				t.Errorf("said that it is stuck: %v, want %v", !p.stays, p.stays)
			}
			said := slices.ContainsFunc(h.events, func(e Event) bool { return strings.HasPrefix(e.Message, "the sentinel was ") })
			if said != p.odd {
				t.Errorf("said that the sentinel is no file: %v, want %v", said, p.odd)
			}
			if trouble, err := ReadTrouble(h.Folders.State); err != nil || (len(trouble.Needs) > 0) != p.stays {
				t.Errorf("left for status: %q, %v", trouble.Needs, err)
			}
			h.clock.pass(h.Policy.Sweep)
			ticket := h.touch()
			h.claim()
			if h.settle(); !h.covers(ticket) {
				t.Error("an honest touch afterwards is not covered")
			}
		})
	}
}

// describe lists a folder with modes, sizes and times of change, to see whether anything touched it.
func describe(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	check(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			lines = append(lines, fmt.Sprint(path, info.Mode(), info.Size(), info.ModTime().UnixNano()))
		}
		return err
	}))
	return strings.Join(lines, "\n")
}

// Hostile entries in requests/ are removed and said once, with quoted names and their count.
func TestStraysAreCounted(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	h.touch("good")
	for i := range 50 {
		check(t, os.WriteFile(fmt.Sprintf("%s/requests/bad \n%d", h.Folders.Spool, i), nil, 0o644))
	}
	if c := h.claim(); c.All || len(c.Requests) != 1 {
		t.Errorf("claimed all=%v %q, want good alone", c.All, c.Requests)
	}
	var said []Event
	for _, e := range h.events {
		if e.ID == MsgCleaned {
			said = append(said, e)
		}
	}
	if len(said) != 1 || said[0].Fields["TRUEUP_REMOVED"] != "50" || strings.Contains(said[0].Message, "\n") {
		t.Errorf("said %+v, want one line that counts 50", said)
	}
}

// A tree with more entries than one activation may remove is out of the way at once and gone in the end.
func TestBudget(t *testing.T) {
	h := newHost(t)
	for i := range 30 {
		sub := fmt.Sprintf("%s/sentinel/%d", h.Folders.Spool, i)
		check(t, os.MkdirAll(sub, 0o755))
		for j := range 1000 {
			check(t, os.WriteFile(fmt.Sprintf("%s/%d", sub, j), nil, 0o644))
		}
	}
	h.claim()
	h.settle()
	if asks(h.Folders.Spool) {
		t.Error("the tree asks on")
	}
	left, err := filepath.Glob(h.Folders.Spool + "/.aside-*")
	if err != nil || len(left) != 1 {
		t.Errorf("after one activation %d folders are left aside (%v): the work is not bounded", len(left), err)
	}
	h.claim()
	if left, _ = filepath.Glob(h.Folders.Spool + "/.aside-*"); len(left) != 0 {
		t.Errorf("after two activations %q is left", left)
	}
}

// A touch replaces whatever link is planted under its name, and never creates its target (F26).
func TestTouchFollowsNoLink(t *testing.T) {
	h := newHost(t)
	target := filepath.Join(t.TempDir(), "created")
	check(t, os.Symlink(target, h.Folders.Spool+"/sentinel"))
	check(t, os.Symlink(target, h.Folders.Spool+"/requests/a"))
	h.touch()
	h.touch("a")
	if exists(target) {
		t.Error("the touch went through the link")
	}
}

// What a killed toucher leaves goes after a while; what one has just made is left for it to rename.
func TestLeftByAKilledToucher(t *testing.T) {
	h := newHost(t)
	for name, age := range map[string]time.Duration{".touch-left": 2 * time.Hour, ".touch-now": time.Minute, ".other": 2 * time.Hour} {
		path := filepath.Join(h.Folders.Spool, name)
		check(t, os.WriteFile(path, nil, 0o644))
		check(t, os.Chtimes(path, time.Time{}, h.clock.wall.Add(-age)))
	}
	h.claim()
	for name, want := range map[string]bool{".touch-left": false, ".touch-now": true, ".other": true} {
		if is := exists(filepath.Join(h.Folders.Spool, name)); is != want {
			t.Errorf("%s is there: %v, want %v", name, is, want)
		}
	}
}

func TestTouchRefusesNames(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"", ".", "..", "a/b", "a b", "-x", ".x", "ä", strings.Repeat("n", 201)} {
		if err := Touch(h.Folders.Spool, name); err == nil || !strings.Contains(err.Error(), "begins with a letter or digit") {
			t.Errorf("Touch(%q) = %v, want an error that says what a name is", name, err)
		}
	}
}

// A spool that was made anew under a container's bind mount is named until a touch comes through it (CTR-03, CTR-05).
func TestSpoolMadeAnew(t *testing.T) {
	h := newHost(t)
	h.touch()
	h.claim()
	h.settle()
	check(t, os.RemoveAll(h.Folders.Spool))
	check(t, os.MkdirAll(h.Folders.Spool+"/requests", 0o755))
	for range 2 {
		h.trouble = Trouble{}
		h.claim()
		h.settle()
		if trouble, err := ReadTrouble(h.Folders.State); err != nil || len(trouble.Needs) != 1 || !h.logged(MsgMoved) {
			t.Fatalf("left for status: %q, %v; want that the spool was made anew", trouble.Needs, err)
		}
	}
	h.trouble = Trouble{}
	h.touch()
	h.claim()
	h.settle()
	if trouble, err := ReadTrouble(h.Folders.State); err != nil || len(trouble.Needs) != 0 {
		t.Errorf("a touch came through, and status still shows %q, %v", trouble.Needs, err)
	}
}

// Folders that the web app itself names as if they had been put aside, and that cannot be removed, hide no request
// behind them: requests/ goes aside as a whole.
func TestFolderFullOfAsides(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	stones := make([]string, 1100)
	for i := range stones {
		stones[i] = fmt.Sprintf("%s/requests/.aside-%d", h.Folders.Spool, i)
		check(t, os.MkdirAll(stones[i]+"/x", 0o755))
		immutable(t, stones[i], true)
	}
	t.Cleanup(func() {
		left, err := filepath.Glob(h.Folders.Spool + "/.aside-*/.aside-*")
		check(t, err)
		for _, stone := range left {
			immutable(t, stone, false)
		}
	})
	h.touch("one")
	h.claim()
	h.settle()
	if asks(h.Folders.Spool) {
		t.Error("the folder asks on")
	}
	if !h.logged(MsgCleaned) {
		t.Error("nothing was said")
	}
}

// A name that cannot be removed reaches journal and status with its control characters quoted.
func TestHostileNamesAreQuoted(t *testing.T) {
	h := newHost(t)
	stone := h.Folders.Spool + "/requests/\x1b[2Jx"
	check(t, os.WriteFile(stone, nil, 0o644))
	immutable(t, stone, true)
	immutable(t, h.Folders.Spool+"/requests", true)
	t.Cleanup(func() {
		immutable(t, h.Folders.Spool+"/requests", false)
		immutable(t, stone, false)
	})
	h.claim()
	trouble, err := ReadTrouble(h.Folders.State)
	check(t, err)
	if said := strings.Join(trouble.Needs, ""); said == "" || strings.Contains(said, "\x1b") {
		t.Errorf("left for status: %q", said)
	}
	for _, e := range h.events {
		if strings.Contains(e.Message, "\x1b") {
			t.Errorf("logged %q", e.Message)
		}
	}
}
