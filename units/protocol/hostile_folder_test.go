package protocol

import (
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// The spool itself is replaced, hidden or shared (A4; CTR-02, CTR-03, CTR-05, F10).
func spoolReplaced(t *testing.T, m *nspawn.Machine) {
	together(t, gates[:2], func(t *testing.T, g gateOf) {
		v := victimise(t, g.place(m), options{name: "folder-" + g.name, service: g.service})
		mendSpool(t, v)
		t.Run("renamed and made anew", func(t *testing.T) { v.madeAnew(t) })
		t.Run("a mount over it", func(t *testing.T) { v.mountedOver(t) })
		t.Run("renamed under a bind mount", func(t *testing.T) { v.renamedUnderBind(t) })
		if g.service == "" {
			t.Run("given to two units", func(t *testing.T) { v.shared(t) })
		}
	})
}

// madeAnew is noticed at once, and needs nobody.
func (v *victim) madeAnew(t *testing.T) {
	v.settlesDown(t)
	since := uptime()
	check(t, os.Rename(v.folders.Spool, v.folders.Spool+".old"))
	check(t, os.Mkdir(v.folders.Spool, 0o770))
	mendSpool(t, v)
	v.recovers(t)
	v.settlesDown(t)
	v.keptFloor(t, since)
	v.isPrompt(t)
	v.pageIsWell(t)
	check(t, os.RemoveAll(v.folders.Spool+".old"))
}

// mountedOver hides the spool that systemd watches: touches wait for the sweep, and status says so. The sweep makes
// systemd look again, at what stands there now; and so it does after the repair.
func (v *victim) mountedOver(t *testing.T) {
	g, m, timer := v.manager(), v.manager().Machine(), v.name+".timer"
	v.isCalm(t)
	since := uptime()
	unmount := func() { m.MustExec(t, "umount", v.inside("spool")) }
	v.eventually(t, v.patience(), "status says that touches go unheard", func() bool {
		m.MustExec(t, "mount", "-t", "tmpfs", "-o", "mode=0777", "tmpfs", v.inside("spool"))
		text, needed := v.page(t)
		if needed && strings.Contains(text, "unheard: "+v.inside("spool")) {
			return true
		}
		unmount() // some other case's daemon-reload has made systemd look again
		return false
	})
	unmount = sync.OnceFunc(unmount)
	t.Cleanup(unmount)
	v.number++
	v.commit(t, v.number)
	ticket := v.status(t).Ticket()
	check(t, trigger.Touch(m.Live(v.inside("spool"))))
	g.MustSystemctl(t, "start", timer)
	v.eventually(t, v.patience(), "a sweep has taken the touch", func() bool { return v.status(t).Covers(ticket) && v.copied() == v.number })
	unmount()
	v.sweeps(t, 1)
	v.recovers(t)
	v.settlesDown(t)
	v.isPrompt(t)
	v.keptFloor(t, since)
	v.pageIsWell(t)
}

// renamedUnderBind leaves a container with the old folder, where nobody hears it. Bound anew, it is heard.
func (v *victim) renamedUnderBind(t *testing.T) {
	m := v.manager().Machine()
	v.settlesDown(t)
	since := uptime()
	inContainer := "/srv/container-of-" + v.name
	m.Sh(t, "mkdir -p "+inContainer+" && mount --bind "+v.inside("spool")+" "+inContainer)
	t.Cleanup(func() { m.Exec(t.Context(), "umount", inContainer) })
	check(t, trigger.Touch(m.Live(inContainer)))
	v.eventually(t, v.patience(), "a touch through the bind mount is heard", func() bool { return !v.asking() })
	v.isCalm(t) // a gate that has the old folder open would take the touch

	check(t, os.Rename(v.folders.Spool, v.folders.Spool+".old"))
	check(t, os.Mkdir(v.folders.Spool, 0o770))
	mendSpool(t, v)
	check(t, trigger.Touch(m.Live(inContainer))) // into the void
	v.manager().MustSystemctl(t, "start", v.name+".timer")
	v.sweeps(t, 2)
	if _, err := os.Lstat(v.folders.Spool + ".old/sentinel"); err != nil {
		t.Errorf("the touch into the old folder was taken: %v", err)
	}
	v.pageSays(t, "made anew")

	m.Sh(t, "umount "+inContainer+" && mount --bind "+v.inside("spool")+" "+inContainer)
	v.number++
	v.commit(t, v.number)
	ticket := v.status(t).Ticket()
	check(t, trigger.Touch(m.Live(inContainer)))
	v.eventually(t, v.patience(), "a touch through the new mount is heard", func() bool { return v.status(t).Covers(ticket) })
	v.settlesDown(t)
	v.keptFloor(t, since)
	m.MustExec(t, "umount", inContainer)
	check(t, os.RemoveAll(v.folders.Spool+".old"))
}

// shared: adopt refuses one spool for two units, and where hands forced it, status names it.
func (v *victim) shared(t *testing.T) {
	g := v.manager()
	other := victimise(t, v.place, options{name: "second"})
	adopt := []string{"/usr/local/bin/trueup", "adopt", "second.service", "--spool", v.inside("spool")}
	out, err := g.Exec(t.Context(), append(adopt, "--dry-run")...)
	if err == nil || !strings.Contains(err.Error(), "exit status 65") || !strings.Contains(err.Error(), "is the spool of "+v.name+".service") {
		t.Errorf("adopt does not refuse a spool that another unit has: %v\n%s", err, out)
	}
	g.Machine().Sh(t, "sed -i s,"+other.inside("spool")+","+v.inside("spool")+",g "+
		"/etc/systemd/system/second.path /etc/systemd/system/second.service.d/10-trueup.conf && systemctl daemon-reload && systemctl restart second.path")
	v.pageSays(t, "shared", "second.service")
	since := uptime()
	check(t, trigger.Touch(v.folders.Spool))
	v.eventually(t, v.patience(), "one of the two has taken the touch", func() bool { return !v.asking() })
	v.settlesDown(t)
	v.keptFloor(t, since)
	other.keptFloor(t, since)
	g.MustExec(t, "/usr/local/bin/trueup", "adopt", "second.service", "--spool", other.inside("spool"))
	v.recovers(t)
	other.recovers(t)
	v.pageIsWell(t)
}

// A container can only see what the links in its spool lead to, not through them: a device planted by whoever may is
// removed unopened as well (SEC-05).
func TestDeviceInSpool(t *testing.T) {
	v := victimise(t, watchPlace{}, options{name: "device"})
	since := uptime()
	check(t, unix.Mknod(v.folders.Spool+"/sentinel", unix.S_IFCHR|0o600, int(unix.Mkdev(4, 0)))) // a terminal: opening may block
	v.eventually(t, v.patience(), "the spool is emptied", func() bool { return !v.asking() })
	v.settlesDown(t)
	if said := v.said(t, since, trigger.MsgCleaned, "a device"); len(said) == 0 {
		t.Error("nothing is said of the device")
	}
	v.recovers(t)
}
