package packages_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// asker is a web app: it commits a number, touches, and goes on until it is told to stop.
const asker = `i=0
while [ ! -e /run/enough ]; do
	i=$((i + 1))
	echo $i >/root/asked.new && mv /root/asked.new /root/asked
	: >/var/lib/trueup/load/spool/.ask && mv /var/lib/trueup/load/spool/.ask /var/lib/trueup/load/spool/sentinel
	sleep 0.02
done`

// slow is a configuration whose one target is applied once it is allowed to.
const slow = `version: 1
targets:
  - kind: command
    name: slow
    check: {shell: test -e /etc/slow || exit 2}
    apply: {shell: "until [ -e /etc/go ]; do sleep 0.1; done; touch /etc/slow"}
`

// TestUpgradeUnderLoad upgrades while a web app touches all the time, a gate waits and a sweep runs. No touch is lost, no
// process is disturbed; what had died lives again, what had drifted is set right, and what was disabled stays so.
func TestUpgradeUnderLoad(t *testing.T) {
	m := boot(t, nspawn.V257)
	g := m.System()
	m.Sh(t, "dpkg -i /root/"+older+".deb")
	prepareLoad(t, m)
	prepareSick(t, m)
	awaitState(t, g, "trueup.service", "activating/start")
	awaitState(t, g, "patient.service", "activating/start-pre")
	sweep, gate := g.Show(t, "trueup.service", "MainPID", "InvocationID"), g.Show(t, "patient.service", "ControlPID", "InvocationID")

	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*soon)
	defer cancel()
	go func() {
		_, err := m.Exec(ctx, "bash", "-euc", asker)
		ended <- err
	}()
	nspawn.Eventually(t, soon, "the web app asks", func() bool { return m.Sh(t, "cat /root/asked 2>/dev/null || true") != "" })
	if said := m.Sh(t, "dpkg -i /root/"+newer+".deb 2>&1"); strings.Contains(said, "warning") || !strings.Contains(said, "sick.path") {
		t.Errorf("the upgrade says\n%s", said)
	}
	m.Sh(t, "touch /run/enough")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	for what, is := range map[string][2]string{
		"the sweep": {fmt.Sprint(sweep), fmt.Sprint(g.Show(t, "trueup.service", "MainPID", "InvocationID"))},
		"the gate":  {fmt.Sprint(gate), fmt.Sprint(g.Show(t, "patient.service", "ControlPID", "InvocationID"))},
	} {
		if is[0] != is[1] {
			t.Errorf("%s was %s, and is %s", what, is[0], is[1])
		}
	}
	m.Sh(t, "trueup version | grep -q v"+newer+" && touch /etc/go")
	nspawn.Eventually(t, soon, "the last number that was asked for is done", func() bool {
		return m.Sh(t, "cmp /root/asked /root/load.done || true") == ""
	})
	nspawn.Eventually(t, soon, "the sweep has ended well", func() bool {
		return strings.Contains(m.Sh(t, "cat /var/lib/trueup/trueup/outbox/status.json"), `"settled":1,`)
	})
	if failed := m.Sh(t, "journalctl -u load.service -u trueup.service -u patient.service -g 'Failed|attempt [2-9]' --quiet || true"); failed != "" {
		t.Errorf("the upgrade has disturbed a run:\n%s", failed)
	}
	lookSick(t, m)
}

// prepareLoad adopts one service for the web app, one whose gate waits for ten minutes, and trueup's own.
func prepareLoad(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	g := m.System()
	g.WriteUnit(t, "load.service", "[Service]\nType=oneshot\nTimeoutStartSec=60\nExecStart=/bin/sh -c 'cat /root/asked >/root/load.new && mv /root/load.new /root/load.done'\n")
	service(t, g, "patient", "")
	m.WriteFile(t, "/etc/trueup/trueup.yaml", slow, 0o644)
	m.Sh(t, `trueup adopt load.service --floor 1s
		trueup adopt patient.service --floor 10m
		trueup touch --unit patient.service --wait --timeout 1m
		trueup touch --unit patient.service
		trueup install
		trueup touch --unit trueup.service`)
}

// prepareSick leaves behind what an upgrade has to set right, and what it has to leave.
func prepareSick(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	for _, g := range m.Managers() {
		for _, name := range []string{"sick", "off", "drifted", "old"} {
			service(t, g, name, "ExecStartPre=/bin/true one")
			g.MustExec(t, "trueup", "adopt", fmt.Sprintf("--user=%t", g.IsUser()), name+".service", "--floor", "1s")
		}
		for _, name := range []string{"sick", "off"} {
			g.MustExec(t, "ln", "-s", "sentinel", spool(g, name)+"/sentinel") // F4
			awaitState(t, g, name+".path", "failed/failed")
		}
		for _, name := range []string{"old.path", "old.timer"} { // as another version wrote them
			g.MustExec(t, "sed", "-i", "/^DirectoryNotEmpty=/{h;d};/^Unit=/{x;/./G};s/^AccuracySec=.*/AccuracySec=7s/", g.UnitDir()+"/"+name)
		}
		g.MustSystemctl(t, "daemon-reload")
		g.MustSystemctl(t, "disable", "off.path")
		g.MustSystemctl(t, "disable", "--now", "drifted.path")
		service(t, g, "drifted", "ExecStartPre=/bin/true two")
	}
}

func spool(g *nspawn.Manager, name string) string {
	if g.IsUser() {
		return g.Home() + "/.local/state/trueup/" + name + "/spool"
	}
	return "/var/lib/trueup/" + name + "/spool"
}

func lookSick(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	for _, g := range m.Managers() {
		awaitState(t, g, "sick.path", "active/waiting")
		awaitState(t, g, "off.path", "failed/failed")
		awaitState(t, g, "drifted.path", "inactive/dead")
		if text := m.ReadFile(t, g.UnitDir()+"/drifted.service.d/10-trueup.conf"); !strings.Contains(text, "/bin/true two") {
			t.Errorf("%s: the drop-in that had drifted is as it was:\n%s", g, text)
		}
		path, timer := m.ReadFile(t, g.UnitDir()+"/old.path"), m.ReadFile(t, g.UnitDir()+"/old.timer")
		if strings.Index(path, "\nDirectoryNotEmpty=") > strings.Index(path, "\nPathExists=") || strings.Contains(timer, "=7s") {
			t.Errorf("%s: the units of another version are as they were:\n%s\n%s", g, path, timer)
		}
		if unread := g.Show(t, "old.path", "NeedDaemonReload", "ActiveState"); unread["NeedDaemonReload"] != "no" || unread["ActiveState"] != "active" {
			t.Errorf("%s: old.path is %v", g, unread)
		}
		if again := g.MustExec(t, "trueup", "heal", fmt.Sprintf("--user=%t", g.IsUser()), "--json"); strings.Count(again, `"changes": [],`) != strings.Count(again, `"unit"`) || strings.Contains(again, `"error"`) {
			t.Errorf("%s: healing again says %s", g, again)
		}
		g.MustExec(t, "touch", spool(g, "sick")+"/sentinel")
		awaitRuns(t, g, "sick", 2) // one was the healing's
	}
}
