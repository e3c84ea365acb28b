package protocol

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// Out of inotify watches or instances: the path unit dies, the sweeps go on, status and the alarm name the limit,
// and once there is room again the next sweep brings prompt mode back (A6, I7; PATH-19, PATH-20, F12).
//
// The machine has a user namespace of its own, whose limits are nobody else's.
func TestInotifyExhausted(t *testing.T) {
	t.Parallel()
	nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
		install(t, m)
		for _, g := range m.Managers() {
			if g.IsUser() && !proving() && m.Version < 260 {
				continue
			}
			v := victimise(t, systemdPlace{g}, options{name: "inotify-" + g.String()})
			for _, kind := range []string{"instances", "watches"} {
				t.Run(g.String()+"/"+kind, func(t *testing.T) { v.exhausts(t, kind) })
			}
		}
	}, nspawn.Nspawn("--private-users=identity"))
}

func (v *victim) exhausts(t *testing.T, kind string) {
	v.settlesDown(t)
	since := uptime()
	before := limit(t, v.manager().Machine(), kind, "0")
	t.Cleanup(func() { limit(t, v.manager().Machine(), kind, before) })
	v.number++
	v.write(t, v.number)
	v.awaitCopied(t, v.number, v.patience())
	if result := v.dies(t); result != "resources" {
		t.Errorf("the path died of %s", result)
	}
	v.pageSays(t, "dead", "inotify")
	v.number++ // touches go unheard, and the sweeps take them
	ticket := v.write(t, v.number)
	v.eventually(t, v.patience(), "a sweep has taken the touch", func() bool { return v.status(t).Covers(ticket) })
	v.isAlarmed(t, since)
	if alarms := strings.Join(v.said(t, since, trigger.MsgDead, ""), "\n"); !strings.Contains(alarms, "fs.inotify.max_user_") {
		t.Errorf("the alarm does not name the limit: %s", alarms)
	}
	limit(t, v.manager().Machine(), kind, before)
	v.rearms(t)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}

// limit sets a limit of the machine's user namespace, and returns what it was.
func limit(t *testing.T, m *nspawn.Machine, kind, value string) (before string) {
	t.Helper()
	file := "/proc/sys/user/max_inotify_" + kind
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(m.Leader()), "-U", "--",
		"sh", "-euc", "cat "+file+"; echo "+value+" >"+file).CombinedOutput()
	if err != nil {
		t.Fatalf("setting %s in %s: %v: %s", file, m.Name, err, out)
	}
	return strings.TrimSpace(string(out))
}
