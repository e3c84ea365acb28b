package units

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// refuseGate refuses a gate that another than root could replace: systemd runs heal as root, outside the unit's
// sandbox. A user's gate runs as the user, whoever wrote it.
func (m *Manager) refuseGate(a Adoption) error {
	if m.user {
		return nil
	}
	place, why := untrusted(a.Gate)
	if why == "" {
		return nil
	}
	reason := fmt.Sprintf("systemd would run the gate %s as root, and %s %s", a.Gate, place, why)
	return &Refusal{Unit: a.Unit, Reason: reason,
		Hint: "install trueup and trueup-gate where only root can write, as make install does in /usr/local/bin"}
}

// untrusted finds what on the way to a file another than root could change: the file, a folder above it, a link that
// leads to it, or a folder above that. The sticky bit does not help: it keeps no name from being taken first.
func untrusted(path string) (place, why string) {
	const links = 40 // as the kernel's own bound
	at, rest := "/", strings.Split(path, "/")
	for left := links; ; {
		info, err := os.Lstat(at)
		if err != nil {
			return at, "cannot be looked at"
		}
		if why := changeable(info); why != "" {
			return at, why
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(at)
			if left--; err != nil || left == 0 {
				return at, "leads nowhere"
			}
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		}
		if len(rest) == 0 {
			return "", ""
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // "" and ".." as well: what lies at is no link any more
	}
}

// changeable tells why another than root could change a file, a folder's entries, or a link.
func changeable(info os.FileInfo) (why string) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || stat.Uid != 0:
		return "is not root's"
	case info.Mode()&os.ModeSymlink != 0:
		return ""
	case info.Mode().Perm()&0o002 != 0, info.Mode().Perm()&0o020 != 0 && !administrators(stat.Gid):
		return fmt.Sprintf("is writable by others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// administrators tells whether a group's members act for root anyway: root's own, and Debian's staff, to whom older
// releases give /usr/local.
func administrators(gid uint32) bool {
	const root, staff = 0, 50 // fixed numbers in Debian
	if gid == root {
		return true
	}
	group, err := user.LookupGroupId(strconv.Itoa(staff))
	return gid == staff && err == nil && group.Name == "staff"
}

// Changeable finds what on the way to a program another than root could change, and says how; empty where root alone can.
func Changeable(program string) (place, why string) { return untrusted(program) }
