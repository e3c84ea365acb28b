package protocol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A guard sees what is done to a folder that nothing may touch: by its listing, with the times that nobody can
// set, and by fanotify, which tells who opened what. systemd itself is let pass: it follows the links that it finds
// under the names that a path unit watches, looks, and changes nothing. Closings tell nothing that openings do not,
// and come late: what the test itself had open, a process that it is just starting closes once more.
type guard struct {
	dir    string
	fd     int
	before []string
	linked bool // a hard link from the spool changes the bait's own times
}

func watchOver(t *testing.T, dir string, linked bool) *guard {
	t.Helper()
	g := &guard{dir: dir, linked: linked, before: listing(t, dir, !linked)}
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC|unix.FAN_NONBLOCK, unix.O_RDONLY|unix.O_CLOEXEC)
	check(t, err)
	g.fd = fd
	t.Cleanup(func() { unix.Close(fd) })
	const mask = unix.FAN_OPEN | unix.FAN_ACCESS | unix.FAN_MODIFY | unix.FAN_ONDIR | unix.FAN_EVENT_ON_CHILD
	for _, sub := range []string{dir, dir + "/folder"} {
		check(t, unix.FanotifyMark(fd, unix.FAN_MARK_ADD, mask, unix.AT_FDCWD, sub))
	}
	return g
}

// untouched is the verdict.
func (g *guard) untouched(t *testing.T) {
	t.Helper()
	if seen := g.events(t); len(seen) > 0 {
		t.Errorf("outside the spool was opened or changed: %s", strings.Join(seen, ", "))
	}
	if after := listing(t, g.dir, !g.linked); !slices.Equal(after, g.before) {
		t.Errorf("outside the spool:\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(g.before, "\n"))
	}
}

func (g *guard) events(t *testing.T) (seen []string) {
	t.Helper()
	buf := make([]byte, 64<<10)
	n, err := unix.Read(g.fd, buf)
	if err == unix.EAGAIN {
		return nil
	}
	check(t, err)
	for rest := buf[:n]; len(rest) >= int(unsafe.Sizeof(unix.FanotifyEventMetadata{})); {
		var e unix.FanotifyEventMetadata
		check(t, binary.Read(bytes.NewReader(rest), binary.NativeEndian, &e))
		rest = rest[e.Event_len:]
		what, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", e.Fd))
		unix.Close(int(e.Fd))
		if who, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", e.Pid)); string(who) != "systemd\n" {
			seen = append(seen, fmt.Sprintf("%s by %d %q (mask %#x)", what, e.Pid, who, e.Mask))
		}
	}
	return seen
}

// listing describes everything in a folder: owner, mode, size, links, and when it was last changed in any way.
func listing(t *testing.T, dir string, exact bool, except ...string) (lines []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		if slices.Contains(except, name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		line := fmt.Sprintf("%s %o %d:%d", name, st.Mode, st.Uid, st.Gid)
		if exact || !d.Type().IsRegular() {
			line += fmt.Sprintf(" %d %d %d", st.Size, st.Nlink, unix.TimespecToNsec(st.Ctim))
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

// immutable sets or clears what chattr +i does.
func immutable(t *testing.T, path string, on bool) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
