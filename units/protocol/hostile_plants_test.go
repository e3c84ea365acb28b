package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	webUser = 2000 // web's, in every machine
	noUser  = 4242 // nobody's
)

// A plant is one thing that a hostile web app leaves in its spool.
type plant struct {
	name   string
	put    func(t *testing.T, v *victim)
	mend   func(t *testing.T, v *victim) // what a person does about it; nil where nobody is needed
	only   func(v *victim) bool          // where it is hostile at all; nil: anywhere
	stuck  func(v *victim) bool          // where the gate cannot remove it: one run a floor, said aloud
	passes bool                          // a claim for everything takes it away after all
	silent bool                          // it does not fire the path unit by itself
	linked bool                          // it changes the bait's own times
	kills  bool                          // it kills the path unit, which the next sweep heals
	says   string                        // what the journal and status say; empty where nothing is out of order
}

func anyGate(*victim) bool { return true }

func (p plant) sticks(v *victim) bool { return p.stuck != nil && p.stuck(v) }

// unprivileged tells whether the gate is anybody but root.
func unprivileged(v *victim) bool { return v.uid != 0 }

// sentinel plants something in the sentinel's place, as the web app's.
func sentinel(put func(t *testing.T, v *victim, path string)) func(*testing.T, *victim) {
	return func(t *testing.T, v *victim) {
		t.Helper()
		put(t, v, v.folders.Spool+"/sentinel")
	}
}

func file(t *testing.T, path string, uid int) {
	t.Helper()
	check(t, os.WriteFile(path, []byte("not read"), 0o600))
	check(t, os.Lchown(path, uid, uid))
}

// instead removes an entry of the spool and plants another thing under a name that is not watched, renamed into
// place whole.
func instead(t *testing.T, v *victim, name string, put func(path string)) {
	t.Helper()
	path := v.folders.Spool + "/" + name
	check(t, os.RemoveAll(path))
	put(path)
}

var sentinelPlants = []plant{
	{name: "regular file", put: sentinel(func(t *testing.T, v *victim, path string) { file(t, path, webUser) })},
	{name: "empty folder", says: "a folder", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Mkdir(path, 0o755))
	})},
	{name: "tree", says: "a folder", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.MkdirAll(path+"/a/b/c", 0o755))
		file(t, path+"/a/b/file", webUser)
	})},
	{name: "0700 tree of another user", says: "a folder", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.MkdirAll(path+".tmp/a", 0o700))
		check(t, os.Chown(path+".tmp", noUser, noUser))
		check(t, os.Rename(path+".tmp", path))
	})},
	{name: "a path of 200 folders", says: "a folder", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.MkdirAll(path+".tmp/"+strings.Repeat("d/", 200), 0o755))
		check(t, os.Rename(path+".tmp", path))
	})},
	{name: "fifo", says: "a FIFO", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, unix.Mkfifo(path, 0o600))
	})},
	{name: "socket", says: "a socket", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, unix.Mknod(path, unix.S_IFSOCK|0o600, 0))
	})},
	{name: "link to etc passwd", says: "a symbolic link", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink("/etc/passwd", path))
	})},
	{name: "link to a file outside", says: "a symbolic link", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink(v.bait+"/file", path))
	})},
	{name: "link to a folder outside", says: "a symbolic link", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink(v.bait, path))
	})},
	{name: "dangling link", silent: true, says: "a symbolic link", put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink("nowhere", path))
	})},
	{name: "link to itself", says: "a symbolic link", kills: true, silent: true, put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink("sentinel", path))
	})},
	{name: "hard link", linked: true, put: sentinel(func(t *testing.T, v *victim, path string) {
		check(t, os.Link(v.canary+"/file", path))
	})},
	{name: "file of another user in a sticky spool", says: "cannot be emptied", stuck: unprivileged, only: unprivileged,
		put: sentinel(func(t *testing.T, v *victim, path string) {
			check(t, os.Chown(v.folders.Spool, noUser, webUser))
			check(t, os.Chmod(v.folders.Spool, 0o777|os.ModeSticky))
			file(t, path, webUser)
		}), mend: mendSpool},
	{name: "immutable file", says: "cannot be emptied", stuck: anyGate,
		put: sentinel(func(t *testing.T, v *victim, path string) {
			file(t, path+".tmp", webUser)
			immutable(t, path+".tmp", false)
			check(t, os.Rename(path+".tmp", path))
			immutable(t, path, true)
		}), mend: sentinel(func(t *testing.T, v *victim, path string) {
			immutable(t, path, false)
			check(t, os.Remove(path))
		})},
	{name: "0555 spool", says: "cannot be emptied", stuck: unprivileged, only: unprivileged,
		put: sentinel(func(t *testing.T, v *victim, path string) {
			check(t, os.Chmod(v.folders.Spool, 0o555))
			file(t, path, webUser)
		}), mend: mendSpool},
}

// mendSpool gives the spool back to the gate.
func mendSpool(t *testing.T, v *victim) {
	t.Helper()
	check(t, os.Chown(v.folders.Spool, v.uid, webUser))
	check(t, os.Chmod(v.folders.Spool, 0o770|os.ModeSetgid))
}

// soften makes what was put aside removable again, so that the machine is.
func (v *victim) soften(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"/requests/stone", "/.aside-*/stone"} {
		for _, path := range must(filepath.Glob(v.folders.Spool + pattern)) {
			immutable(t, path, false)
		}
	}
}

// requests plants something in the place of requests/.
func requests(put func(t *testing.T, v *victim, path string)) func(*testing.T, *victim) {
	return func(t *testing.T, v *victim) {
		t.Helper()
		instead(t, v, "requests", func(path string) { put(t, v, path) })
	}
}

var requestPlants = []plant{
	{name: "requests a link to etc", says: "requests/ was made anew", put: requests(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink("/etc", path))
	})},
	{name: "requests a link to a folder outside", says: "requests/ was made anew", put: requests(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink(v.bait+"/folder", path))
	})},
	{name: "requests a link to the spool", says: "requests/ was made anew", silent: true, put: requests(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink(".", path))
	})},
	{name: "requests a link to itself", says: "requests/ was made anew", silent: true, put: requests(func(t *testing.T, v *victim, path string) {
		check(t, os.Symlink("requests", path))
	})},
	{name: "requests a file", says: "requests/ was made anew", silent: true, put: requests(func(t *testing.T, v *victim, path string) {
		file(t, path, webUser)
	})},
	{name: "requests a fifo", says: "requests/ was made anew", silent: true, put: requests(func(t *testing.T, v *victim, path string) {
		check(t, unix.Mkfifo(path, 0o600))
	})},
	{name: "requests missing", silent: true, put: requests(func(*testing.T, *victim, string) {})},
	{name: "requests 0700 of another user", says: "requests/ was made anew", only: unprivileged,
		put: requests(func(t *testing.T, v *victim, path string) {
			check(t, os.Mkdir(path, 0o700))
			file(t, path+"/request", noUser)
			check(t, os.Chown(path, noUser, noUser))
		})},
	{name: "requests an undeletable tree", says: "cannot be emptied", stuck: anyGate,
		put: requests(func(t *testing.T, v *victim, path string) {
			check(t, os.Mkdir(path, 0o755))
			file(t, path+"/stone", webUser)
			immutable(t, path, true)
		}), mend: inRequests(func(t *testing.T, v *victim, path string) {
			immutable(t, path, false)
			check(t, os.RemoveAll(path))
		})},
	// Until a claim for everything takes the whole folder away.
	{name: "an immutable request", says: "cannot be emptied", stuck: anyGate, passes: true,
		put: inRequests(func(t *testing.T, v *victim, path string) {
			file(t, v.folders.Spool+"/stone", webUser)
			immutable(t, v.folders.Spool+"/stone", false)
			check(t, os.Rename(v.folders.Spool+"/stone", path+"/stone"))
			immutable(t, path+"/stone", true)
		}), mend: func(t *testing.T, v *victim) { v.soften(t) }},
	{name: "names that are no requests", says: "what cannot be a request", put: inRequests(func(t *testing.T, v *victim, path string) {
		for _, name := range []string{"..x", "...", "a b", "a\nb", "-rf", "ä", "\xff\xfe", ".hidden", "x~", "$(reboot)", strings.Repeat("n", 255)} {
			file(t, v.folders.Spool+"/.next", webUser)
			check(t, os.Rename(v.folders.Spool+"/.next", path+"/"+name))
		}
	})},
	{name: "requests that are folders fifos and links", says: "what cannot be a request", put: inRequests(func(t *testing.T, v *victim, path string) {
		check(t, unix.Mkfifo(path+"/fifo", 0o600))
		check(t, os.Symlink(v.bait, path+"/link"))
		check(t, os.Symlink("self", path+"/self"))
		check(t, os.MkdirAll(path+"/folder/x/y", 0o755))
		check(t, os.MkdirAll(path+"/no name/x", 0o755))
	})},
	{name: "5000 requests", put: inRequests(func(t *testing.T, v *victim, path string) {
		for i := range 5000 {
			fd, err := unix.Open(fmt.Sprintf("%s/r%d", path, i), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			check(t, err)
			unix.Close(fd)
		}
	})},
}

// inRequests plants something inside requests/.
func inRequests(put func(t *testing.T, v *victim, path string)) func(*testing.T, *victim) {
	return func(t *testing.T, v *victim) {
		t.Helper()
		put(t, v, v.folders.Spool+"/requests")
	}
}
