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
		if said := strings.Join(h.Messages(t), "\n"); !strings.Contains(said, "trigger-dead") {
			t.Errorf("no alarm in the journal:\n%s", said)
		}
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
	})
}
