package protocol

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// Floods: other files in the spool for 5 s, folders and renames among them, a thousand touches a second, 100,000
// foreign names that stay. The trigger may die of it on some versions (F11), and is back within one sweep; what it
// costs is bounded (A4, A6; PATH-06, PATH-08, TRG-05).
func floods(t *testing.T, m *nspawn.Machine) {
	for _, g := range gates {
		if g.service != "" && !proving() {
			continue // who the gate runs as makes no difference to systemd, which does the work
		}
		t.Run(g.name, func(t *testing.T) {
			v := victimise(t, g.place(m), options{name: "flood-" + g.name, service: g.service})
			t.Run("other files", func(t *testing.T) { v.flooded(t, otherFiles) })
			t.Run("touches", func(t *testing.T) { v.flooded(t, touches) })
			t.Run("foreign names", func(t *testing.T) { v.hoards(t) })
		})
	}
}

// TestFloodOfWatch is the same on trueup watch.
func TestFloodOfWatch(t *testing.T) {
	t.Parallel()
	v := victimise(t, watchPlace{}, options{name: "flood"})
	t.Run("other files", func(t *testing.T) { v.flooded(t, otherFiles) })
	t.Run("touches", func(t *testing.T) { v.flooded(t, touches) })
}

// otherFiles makes, renames and removes files and folders as fast as it can.
func otherFiles(t *testing.T, v *victim, i int) {
	path := fmt.Sprintf("%s/other-%d", v.folders.Spool, i%64)
	if i%8 == 0 {
		check(t, os.MkdirAll(path+"/a/b/c", 0o755))
	} else if fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644); err == nil {
		unix.Close(fd)
	}
	check(t, os.Rename(path, path+".renamed"))
	check(t, os.RemoveAll(path+".renamed"))
}

// touches makes a thousand touches a second.
func touches(t *testing.T, v *victim, i int) {
	check(t, trigger.Touch(v.folders.Spool))
	if i%20 == 0 {
		<-time.After(20 * time.Millisecond)
	}
}

func (v *victim) flooded(t *testing.T, drop func(t *testing.T, v *victim, i int)) {
	const long = 5 * time.Second
	v.settlesDown(t)
	since, cpu, count := uptime(), v.cpu(t), 0
	for ; uptime() < since+long; count++ {
		drop(t, v, count)
	}
	used := (v.cpu(t) - cpu).Seconds() / long.Seconds()
	t.Logf("%d in %v; systemd and all it started used %.0f %% of a core; %d activations", count, long, 100*used, len(v.starts(t, since)))
	if used > 1 {
		t.Errorf("systemd and the gate used %.0f %% of a core", 100*used)
	}
	v.eventually(t, v.patience(), "the trigger lives after the flood", func() bool { return v.manager() == nil || v.alive(t) == nil })
	v.recovers(t)
	v.settlesDown(t)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}

// hoards leaves 100,000 names in the spool that nobody asked for.
func (v *victim) hoards(t *testing.T) {
	v.settlesDown(t)
	since, cpu := uptime(), v.cpu(t)
	many := 100_000
	if v.manager().IsUser() && !proving() {
		many = 10_000 // systemd's code is the same; it alone needs seconds for the rest
	}
	names := make([]string, many)
	for i := range names {
		names[i] = fmt.Sprintf("%s/foreign-%d", v.folders.Spool, i)
		fd, err := unix.Open(names[i], unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		check(t, err)
		unix.Close(fd)
	}
	t.Logf("made in %v; systemd used %v", (uptime() - since).Round(10*time.Millisecond), v.cpu(t)-cpu)
	v.recovers(t)
	v.recovers(t)
	for _, name := range names {
		check(t, unix.Unlink(name))
	}
	v.eventually(t, v.patience(), "the trigger lives", func() bool { return v.alive(t) == nil })
	v.recovers(t)
	v.settlesDown(t)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}

// cpu is what the manager has used, and the processes of it that have ended; of trueup watch, the watch.
func (v *victim) cpu(t *testing.T) time.Duration {
	t.Helper()
	pid := 0
	switch g := v.manager(); {
	case g == nil:
		pid = v.pids()[0]
	case g.IsUser():
		pid = must(strconv.Atoi(strings.TrimSpace(g.Machine().MustExec(t, "pgrep", "-o", "-u", "op", "-x", "systemd"))))
		stat, err := os.ReadFile(g.Machine().Live("/proc") + "/" + strconv.Itoa(pid) + "/stat")
		check(t, err)
		return cpuOf(string(stat))
	default:
		pid = g.Machine().Leader()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(t, err)
	return cpuOf(string(stat))
}

// cpuOf adds utime, stime, cutime and cstime of proc(5).
func cpuOf(stat string) (used time.Duration) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for _, ticks := range fields[14-3 : 18-3] {
		used += time.Duration(must(strconv.Atoi(ticks))) * 10 * time.Millisecond
	}
	return used
}
