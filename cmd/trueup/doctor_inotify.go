package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// perTrigger is how many inotify instances systemd takes for one path unit of ours.
const perTrigger = 3

// inotifyFacts are the kernel's limits for the manager's user, and what of them is in use as far as can be seen.
type inotifyFacts struct {
	instances, watches usage
}

// A usage is how much of a limit is taken.
type usage struct{ used, most int }

// lookAtInotify counts over all processes of the manager's user. Who may not look into a process counts less.
func lookAtInotify(own bool) (f inotifyFacts) {
	uid := 0
	if own {
		uid = os.Getuid()
	}
	f.instances.most, f.watches.most = inotifyLimit("instances"), inotifyLimit("watches")
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is sound
	for _, process := range processes {
		if info, err := os.Stat(process); err != nil || !belongs(info, uid) {
			continue
		}
		fds, _ := os.ReadDir(process + "/fd")
		for _, fd := range fds {
			if kind, err := os.Readlink(process + "/fd/" + fd.Name()); err != nil || kind != "anon_inode:inotify" {
				continue
			}
			f.instances.used++
			info, _ := os.ReadFile(process + "/fdinfo/" + fd.Name()) // it may be over
			f.watches.used += strings.Count(string(info), "inotify wd:")
		}
	}
	return f
}

func belongs(info os.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}

// inotifyLimit is 0 where it cannot be read.
func inotifyLimit(of string) int {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_" + of)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// check judges whether another path unit would still find room (F12).
func (f inotifyFacts) check(c *checks) {
	f.instances.check(c, "instances", perTrigger)
	f.watches.check(c, "watches", 8*perTrigger)
}

func (u usage) check(c *checks, of string, needed int) {
	const raised = 1024
	id, key := "systemd.inotify-"+of, "fs.inotify.max_user_"+of
	do := "sysctl " + key + "=" + strconv.Itoa(max(raised, 2*u.most)) + " # and in /etc/sysctl.d, for the next boot"
	switch left := u.most - u.used; {
	case u.most == 0:
		c.add(isNote, id, "sysctl "+key, "%s cannot be read", key)
	case u.used == 0: // PID 1 alone has some
		c.add(isNote, id, "run trueup doctor as root, and outside of a container", "%s=%d, and nobody may see here how much of it is in use", key, u.most)
	case left <= 0:
		c.add(isWrong, id, do, "all of %s=%d is in use: the next path unit that watches anew dies", key, u.most)
	case left < needed || u.used > u.most/10*9:
		c.add(isWarning, id, do, "%d of %s=%d are in use: path units die when it is reached", u.used, key, u.most)
	default:
		c.ok(id, "%d of %s=%d in use, as far as can be seen", u.used, key, u.most)
	}
}
