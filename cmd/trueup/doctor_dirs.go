package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dirFacts is what can be seen of one folder.
type dirFacts struct {
	role, path string
	acl        acl
	label      string // SELinux's
	mounts     int    // how many are mounted at this very place
	disk       unix.Statfs_t
	err        error // it is not there, which status tells
}

// hostFacts is what the judgement of the folders depends on beside them.
type hostFacts struct {
	selinux bool
	runsAs  *identity // whom the service runs as; nil where that is not known
}

func (a *patient) lookAtDirs() {
	_, err := os.Stat("/sys/fs/selinux/enforce")
	a.host.selinux = err == nil
	if a.exam != nil {
		a.host.runsAs = identityOf(a.exam.User, a.user)
	}
	mounted := mountPoints()
	f := a.folders
	for _, d := range []dirFacts{{role: "spool", path: f.Spool}, {role: "requests", path: filepath.Join(f.Spool, "requests")},
		{role: "state", path: f.State}, {role: "outbox", path: f.Outbox}} {
		if d.path != "" && d.path != "requests" {
			a.dirs = append(a.dirs, d.look(mounted))
		}
	}
}

func (d dirFacts) look(mounted map[string]int) dirFacts {
	var st unix.Stat_t
	if d.err = unix.Lstat(d.path, &st); d.err != nil {
		return d
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK && d.role != "requests" { // a link at requests is the web app's, and is not followed
		if d.err = unix.Stat(d.path, &st); d.err != nil {
			return d
		}
	}
	d.acl = readACL(d.path, st)
	d.label = strings.TrimRight(attribute(d.path, "security.selinux"), "\x00")
	d.mounts = mounted[d.path]
	d.err = unix.Statfs(d.path, &d.disk)
	return d
}

// attribute is an extended attribute, empty where there is none.
func attribute(path, name string) string {
	value := make([]byte, 64<<10) // the kernel's own bound
	n, err := unix.Lgetxattr(path, name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

// mountPoints counts what is mounted at each place of this mount namespace.
func mountPoints() map[string]int {
	text, _ := os.ReadFile("/proc/self/mountinfo") // where it cannot be read nothing is known of mounts
	points := map[string]int{}
	for line := range strings.Lines(string(text)) {
		const point = 4
		if fields := strings.Fields(line); len(fields) > point {
			points[unescaped(fields[point])]++
		}
	}
	return points
}

// unescaped undoes the kernel's \040 for a space and its like.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
