package units_test

import (
	"strings"
	"testing"

	"trueup/units"
)

// TestHeal kills the path unit as a hostile web app can, and shows that the next activation revives it, from within
// the service's own activation, and that what an operator switched off stays off.
func TestHeal(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		more := ""
		if !h.IsUser() { // heal runs as root, and none of this may lead it elsewhere
			more = "Environment=MANAGERPID=1 XDG_RUNTIME_DIR=/nowhere TRUEUP_USER=true TRUEUP_PATH=other.path\n"
		}
		h.WriteUnit(t, "sick.service", h.oneshot("sick", more))
		got := h.adopt(t, units.Adoption{Unit: "sick", Policy: quick})
		spool := got.Changes.Adoption.Folders.Spool
		kill := func() { // F4
			h.MustExec(t, "ln", "-s", "sentinel", spool+"/sentinel")
			h.state(t, "sick.path", "failed/failed")
		}
		activate := func() { h.MustSystemctl(t, "start", "sick.service") } // as the timer does

		kill()
		if s := h.drive(t, "trigger", units.Adoption{Unit: "sick"}).Trigger; !s.Dead() || s.Prompt() || s.Path.Result != "resources" {
			t.Errorf("the trigger says %+v", s)
		}
		activate()
		h.state(t, "sick.path", "active/waiting")
		h.eventually(t, "the alarm is in the journal", func() bool { return strings.Contains(strings.Join(h.Messages(t), "\n"), "trigger-dead") })
		h.touch(t, got)
		h.awaitRuns(t, "sick", 2)

		h.MustSystemctl(t, "stop", "sick.path")
		activate()
		h.state(t, "sick.path", "inactive/dead")
		h.MustSystemctl(t, "start", "sick.path")

		kill()
		h.MustSystemctl(t, "disable", "sick.path")
		activate()
		h.state(t, "sick.path", "failed/failed")

		if back := h.adopt(t, units.Adoption{Unit: "sick", Policy: quick}); len(back.ops()) == 0 {
			t.Error("adopt left a dead path unit alone")
		}
		h.state(t, "sick.path", "active/waiting")
		h.unadopt(t, "sick", true)
		holdsBack(t, h)
		if h.IsUser() && h.Machine().Version == 257 { // one version, since the sandbox is the same
			healsWithoutHome(t, h)
		}
	})
}

// holdsBack shows that a gate that refuses its flags keeps the path unit from spinning, and that the touch is heard once
// they are mended.
func holdsBack(t *testing.T, h host) {
	h.WriteUnit(t, "bent.service", h.oneshot("bent", ""))
	got := h.adopt(t, units.Adoption{Unit: "bent", Policy: quick})
	dropin, f := "bent.service.d/10-trueup.conf", got.Changes.Adoption.Folders
	text := h.read(t, h.UnitDir()+"/"+dropin)
	bent := strings.ReplaceAll(text, "--state "+f.State, "--state "+f.Spool+"/state")
	if bent == text {
		t.Fatalf("the drop-in names no state folder:\n%s", text)
	}
	h.WriteUnit(t, dropin, bent)
	h.touch(t, got)
	h.eventually(t, "systemctl status says that the gate refuses", func() bool {
		return strings.Contains(h.Show(t, "bent.service", "StatusText")["StatusText"], "none in another")
	})
	h.state(t, "bent.service", "activating/start-pre")
	h.state(t, "bent.path", "active/running")
	h.WriteUnit(t, dropin, text)
	h.MustSystemctl(t, "stop", "bent.service") // the path starts it again
	h.awaitRuns(t, "bent", 1)
	h.unadopt(t, "bent", true)
}

// healsWithoutHome heals a user's path unit from a sandbox that hides the home, in which the trigger's folders lie. The
// system's manager refuses folders that a user's trigger has, of a unit of the same name too.
func healsWithoutHome(t *testing.T, h host) {
	h.WriteUnit(t, "homeless.service", "[Service]\nType=oneshot\nTimeoutStartSec=60\nPrivateUsers=yes\nProtectHome=yes\n"+
		"ExecStart=/bin/sh -c 'test ! -e %h/.config'\n")
	got := h.adopt(t, units.Adoption{Unit: "homeless", Policy: quick})
	f := got.Changes.Adoption.Folders
	settled := func(n string) {
		t.Helper()
		h.eventually(t, "claim "+n+" is settled", func() bool { return strings.Contains(h.read(t, f.Outbox+"/status.json"), `"settled":`+n) })
		h.state(t, "homeless.service", "inactive/dead")
	}
	h.touch(t, got)
	settled("1")
	h.MustExec(t, "ln", "-s", "sentinel", f.Spool+"/sentinel")
	h.state(t, "homeless.path", "failed/failed")
	h.MustSystemctl(t, "start", "homeless.service")
	h.state(t, "homeless.path", "active/waiting")
	h.touch(t, got)
	settled("3")

	root := host{h.Machine().System()}
	root.WriteUnit(t, "homeless.service", root.oneshot("homeless", "User=op\n"))
	refused := root.drive(t, "adopt", units.Adoption{Unit: "homeless", Folders: f})
	if refused.Kind != "refusal" || !strings.Contains(refused.Error, "homeless.service (user op)") || refused.Hint == "" {
		t.Errorf("root adopting a user's folders: %s %q (hint %q)", refused.Kind, refused.Error, refused.Hint)
	}
	h.unadopt(t, "homeless", true)
}
