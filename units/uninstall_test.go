package units_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// A sweep in progress ends with what it has started, and nothing starts it anew.
func uninstallRunning(t *testing.T, h host) {
	got := h.install(t, h.installation(t, "busy", "setsid sleep 1000 &\nsleep 1000"))
	h.touch(t, got)
	h.eventually(t, "a sweep", func() bool { return h.read(t, h.log("inst-busy")) == "run\n" })
	h.eventually(t, "what it has started", func() bool { return len(h.PIDs(t, "trueup-busy.service")) == 3 })
	done := h.uninstall(t, uninstall{Name: "busy", Purge: true})
	if !slices.Contains(done.ops(), "stop trueup-busy.service") {
		t.Errorf("it did %q", done.ops())
	}
	h.ended(t, "busy", got)
}

// A gate that waits goes too: nobody is left to ask.
func uninstallWaiting(t *testing.T, h host) {
	wish := h.installation(t, "wait", "")
	wish.Policy = trigger.Policy{Floor: time.Minute, RetryMax: time.Minute, Sweep: time.Hour}
	got := h.install(t, wish)
	h.touch(t, got)
	h.swept(t, "wait", 1)
	h.touch(t, got)
	h.state(t, "trueup-wait.service", "activating/start-pre")
	h.uninstall(t, uninstall{Name: "wait", Purge: true})
	h.ended(t, "wait", got)
}

// ended shows that nothing of an instance that has swept once is left, nor shown as failed.
func (h host) ended(t *testing.T, name string, a answer) {
	t.Helper()
	unit := "trueup-" + name + ".service"
	if pids := h.PIDs(t, unit); len(pids) > 0 {
		t.Errorf("%s has processes %v", unit, pids)
	}
	if props := h.Show(t, unit, "LoadState", "ActiveState"); props["LoadState"] != "not-found" || props["ActiveState"] != "inactive" {
		t.Errorf("systemd still has %s: %v", unit, props)
	}
	if text := h.read(t, h.log("inst-"+name)); text != "run\n" {
		t.Errorf("it swept again:\n%s", text)
	}
	h.gone(t, a)
}

// What cannot be installed is refused with a reason, and nothing is left of it.
func installRefuses(t *testing.T, h host) {
	before := h.unitFolders(t)
	refused := func(i units.Installation, kind, want string) {
		t.Helper()
		got := h.drive(t, "install", i)
		if got.Kind != kind || !strings.Contains(got.Error, want) {
			t.Errorf("want %s %q, got %s %q", kind, want, got.Kind, got.Error)
		}
		h.same(t, before)
	}
	wish := h.installation(t, "no", "")
	for _, c := range []struct {
		change     func(*units.Installation)
		kind, want string
	}{
		{func(i *units.Installation) { i.Name = "../x" }, "usage", "is no name"},
		{func(i *units.Installation) { i.Name = "x@" }, "usage", "is no name"},
		{func(i *units.Installation) { i.Hardening = "root" }, "usage", `unknown hardening "root"`},
		{func(i *units.Installation) { i.Config = "" }, "usage", "no absolute path"},
		{func(i *units.Installation) { i.Config = "/etc/trueup/none.yaml" }, "other", "no such file"},
		{func(i *units.Installation) { i.Ledger = "/a\nb" }, "usage", "ledger"},
		{func(i *units.Installation) { i.Program = "/etc/passwd" }, "refusal", "no program"},
		{func(i *units.Installation) { i.Policy.Floor = 1 }, "usage", "floor"},
	} {
		i := wish
		c.change(&i)
		refused(i, c.kind, c.want)
	}
	if h.IsUser() {
		return // runs nothing as root
	}
	h.MustExec(t, "chown", "op", wish.Config)
	refused(wish, "refusal", wish.Config+" is not root's")
	h.MustExec(t, "chown", "root", wish.Config)
	lent := wish
	lent.Program = "/tmp/stand-in"
	h.MustExec(t, "cp", standIn, lent.Program)
	refused(lent, "refusal", "/tmp is writable by others")
	hidden := wish
	hidden.Hardening = "api"
	hidden.Config = "/root/trueup.yaml"
	h.Write(t, hidden.Config, "", 0o644)
	refused(hidden, "refusal", "hides the configuration")
}

// Services of somebody else's under our name are left alone: a file, a vendor's, a mask, an adopted one.
func installForeign(t *testing.T, h host) {
	wish := h.installation(t, "theirs", "")
	refused := func(want string) {
		t.Helper()
		if got := h.drive(t, "install", wish); got.Kind != "refusal" || !strings.Contains(got.Error, want+" is not ours") || got.Hint == "" {
			t.Errorf("want a refusal of %s, got %s %q", want, got.Kind, got.Error)
		}
	}
	own, vendor := h.UnitDir()+"/trueup-theirs.service", "/usr/lib/systemd/"+h.String()+"/trueup-theirs.service"
	text := h.oneshot("theirs", "")
	h.WriteUnit(t, "trueup-theirs.service", text)
	refused(own)
	h.adopt(t, units.Adoption{Unit: "trueup-theirs", Policy: quick})
	if got := h.drive(t, "uninstall", uninstall{Name: "theirs"}); got.Kind != "refusal" || !strings.Contains(got.Hint, "unadopt") {
		t.Errorf("uninstalling an adopted service: %+v", got)
	}
	h.unadopt(t, "trueup-theirs", true)
	if h.read(t, own) != text {
		t.Error("somebody else's service has changed")
	}
	h.MustExec(t, "rm", own)

	h.Machine().WriteFile(t, vendor, text, 0o644)
	h.MustSystemctl(t, "daemon-reload")
	refused(strings.TrimPrefix(vendor, "/usr")) // /lib on a merged system
	h.MustSystemctl(t, "mask", "trueup-theirs.service")
	refused(own)
	h.MustSystemctl(t, "unmask", "trueup-theirs.service")
	h.Machine().System().MustExec(t, "rm", vendor)
	h.MustSystemctl(t, "daemon-reload")
}

// What only adopting finds out leaves the service as it was: none, or the one before.
func installTakesBack(t *testing.T, h host) {
	before := h.unitFolders(t)
	wish := h.installation(t, "late", "")
	wish.Ledger = h.Home() + "/made/ledger"
	bad := wish
	bad.Folders.Spool = "/tmp/spool"
	if got := h.drive(t, "install", bad); got.Kind != "refusal" || !strings.Contains(got.Error, "/tmp") || len(got.ops()) > 0 {
		t.Errorf("a spool in /tmp: %+v", got)
	}
	h.same(t, before)
	if left := h.Sh(t, "ls -d "+h.Home()+"/made 2>/dev/null || true"); left != "" {
		t.Errorf("left is %s", left)
	}
	h.install(t, wish)
	installed := h.unitFolders(t)
	bad.Config = h.config(t, "late-other", "")
	if got := h.drive(t, "install", bad); got.Kind != "refusal" {
		t.Errorf("a spool in /tmp: %+v", got)
	}
	h.same(t, installed)
	h.looksAlive(t, "trueup-late")
	h.uninstall(t, uninstall{Name: "late", Purge: true})
	h.MustExec(t, "rm", "-r", h.Home()+"/made")
}
