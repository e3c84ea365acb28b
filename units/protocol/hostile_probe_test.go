package protocol

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// probeScript tries to write in many places, and again in one that is mounted while it runs. What it could write, it
// says on its last lines.
const probeScript = `#!/bin/bash
cd "$1"
try() { ( : >"$1/.probe" ) 2>/dev/null && { rm -f "$1/.probe"; echo "$1" >>wrote.new; }; }
: >wrote.new
for place in / /boot /etc /etc/systemd/system /home /home/op /home/web /opt /root /run /run/systemd /srv /srv/elsewhere /usr /usr/local/bin \
	/var /var/lib /var/lib/trueup /var/log /tmp /var/tmp /dev /dev/shm /sys /sys/fs/cgroup /proc "$PWD" "$2/spool" "$2/state" "$2/outbox" "$2"; do
	try "$place"
done
for file in /etc/passwd /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/power/state /dev/kmsg; do
	( : >>"$file" ) 2>/dev/null && echo "$file" >>wrote.new
done
( mknod /tmp/device c 1 1 ) 2>/dev/null && echo mknod >>wrote.new
( mount -t tmpfs tmpfs /tmp ) 2>/dev/null && echo mount >>wrote.new
echo ready >ready
for i in {1..200}; do [ -e late ] && break; sleep 0.05; done
try /srv/late
rm -f ready late
mv wrote.new wrote
`

// What the running unit can write under the shipped hardening profiles, tried and not read off the unit's text (SEC-08).
func hardeningHolds(t *testing.T, m *nspawn.Machine) {
	m.WriteFile(t, "/usr/local/bin/probe", probeScript, 0o755)
	m.Sh(t, "mkdir -p /srv/elsewhere /srv/late && chmod 0777 /srv/elsewhere")
	for _, p := range profiles {
		t.Run(p.name, func(t *testing.T) { p.probe(t, m) })
	}
}

// A profile is one of the shipped ones, and what a unit under it may write.
type profile struct {
	name    string
	user    bool
	service string
	may     []string // besides its own folder and the spool, state and outbox
}

var profiles = []profile{
	{"system/api", false, "User=trig", []string{"/tmp", "/var/tmp", "/dev/shm"}},
	{"system/host", false, "", []string{"/", "/etc", "/etc/passwd", "/etc/systemd/system", "/home", "/home/op", "/home/web", "/opt", "/root", "/run",
		"/run/systemd", "/srv", "/srv/elsewhere", "/srv/late", "/usr", "/usr/local/bin", "/var", "/var/lib", "/var/lib/trueup", "/var/log", "/tmp",
		"/var/tmp", "/dev/shm", "own"}},
	// Its /home and /root are empty ones of its own, which older versions let it write.
	{"user/api", true, "", []string{"/tmp", "/var/tmp", "/dev/shm", "/home", "/home/op", "/root", "own"}},
	{"user/host", true, "", []string{"/home/op", "/srv/elsewhere", "/srv/late", "/tmp", "/var/tmp", "/dev/shm", "own"}},
}

func (p profile) probe(t *testing.T, m *nspawn.Machine) {
	g := m.System()
	if p.user {
		g = m.User()
	}
	name := strings.ReplaceAll(p.name, "/", "-")
	dir, base := "/srv/"+name, "/var/lib/trueup/"+name
	if p.user {
		dir, base = filepath.Join(g.Home(), name), filepath.Join(g.Home(), ".local/state/trueup", name)
	}
	g.Mkdir(t, dir)
	if p.service != "" {
		check(t, os.Chown(m.Path(dir), 900, 900))
	}
	text, err := os.ReadFile("../hardening/" + p.name + ".conf")
	check(t, err)
	g.WriteUnit(t, name+".service.d/05-hardening.conf", inContainer(p.user, m.Version, string(text)))
	own := "\nReadWritePaths=" + dir
	if p.name == "user/api" { // its home is an empty one
		own = "\nBindPaths=" + dir
	}
	h := &victim{host: systemdPlace{g}.adopt(t, options{name: name, service: p.service + own + "\nExecStart=\nExecStart=/usr/local/bin/probe " + dir + " " + base})}
	h.touch(t)
	inside := m.Path(dir)
	nspawn.Eventually(t, h.patience(), "the probe is ready", func() bool { return !gone(inside + "/ready") })
	m.MustExec(t, "mount", "-t", "tmpfs", "-o", "mode=0777", "tmpfs", "/srv/late")
	defer m.MustExec(t, "umount", "-l", "/srv/late")
	check(t, os.WriteFile(inside+"/late", nil, 0o644))
	nspawn.Eventually(t, h.patience(), "the probe is over", func() bool { return !gone(inside + "/wrote") })
	may := append([]string{dir, base + "/spool", base + "/state", base + "/outbox"}, p.may...)
	if slices.Contains(may, "own") {
		may = append(may, base)
	}
	wrote := strings.Fields(m.ReadFile(t, dir+"/wrote"))
	for _, place := range wrote {
		if !slices.Contains(may, place) {
			t.Errorf("a unit under %s can write %s", p.name, place)
		}
	}
	for _, place := range may[:4] {
		if !slices.Contains(wrote, place) {
			t.Errorf("a unit under %s cannot write %s", p.name, place)
		}
	}
	t.Logf("%s can write %s", p.name, strings.Join(wrote, " "))
}

// inContainer leaves out what a manager cannot set up inside a container, though it can on a host (F22).
func inContainer(user bool, version int, text string) string {
	out := []string{}
	if user {
		out = append(out, "ProtectKernelLogs=")
	}
	if user && version == 247 {
		out = append(out, "ProtectKernelTunables=", "ProtectControlGroups=", "ProtectProc=", "ProcSubset=")
	}
	var kept []string
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(out, func(key string) bool { return strings.HasPrefix(line, key) }) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
