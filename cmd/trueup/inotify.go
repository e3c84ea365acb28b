package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"trueup/units/heal"
)

// unwatched tells whether the manager certainly does not watch the folder that stands at the path: something was
// mounted over it since, which systemd does not notice (F10). The kernel shows who watches what, to root and to the
// manager's own user; where it does not, there is nothing to tell.
func unwatched(user bool, path string) bool {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	// A watch of our own shows how the kernel writes this very folder down: stat's numbers may be others (overlayfs).
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_DELETE_SELF|unix.IN_ONLYDIR); err != nil {
		return false
	}
	ours, theirs := map[string]bool{}, map[string]bool{}
	addWatches(ours, fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	manager := managerPID(user)
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", manager))
	for _, fd := range fds {
		if kind, err := os.Readlink(fd); err == nil && strings.Contains(kind, "inotify") {
			addWatches(theirs, strings.Replace(fd, "/fd/", "/fdinfo/", 1))
		}
	}
	for folder := range ours {
		return len(theirs) > 0 && !theirs[folder]
	}
	return false
}

// addWatches collects what an inotify instance watches, as "ino:HEX sdev:HEX".
func addWatches(to map[string]bool, fdinfo string) {
	info, err := os.Open(fdinfo)
	if err != nil {
		return
	}
	defer info.Close()
	for lines := bufio.NewScanner(info); lines.Scan(); {
		const inode, device = 2, 3
		if fields := strings.Fields(lines.Text()); len(fields) > device && fields[0] == "inotify" {
			to[fields[inode]+" "+fields[device]] = true
		}
	}
}

// managerPID is who listens at the manager's socket. Who goes away there without a word leaves a line in the journal, so it
// is greeted.
func managerPID(user bool) (pid int) {
	if !user {
		return 1
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: heal.Socket(user), Net: "unix"})
	if err != nil {
		return 0
	}
	defer conn.Close()
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				pid = int(peer.Pid)
			}
		})
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprintf(conn, "\x00AUTH EXTERNAL %x\r\n", strconv.Itoa(os.Getuid()))
	_, _ = conn.Read(make([]byte, 100)) // its answer does not matter
	return pid
}
