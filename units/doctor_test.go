package units_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/units"
	"trueup/units/nspawn"
)

// TestDoctor plants faults that only a real systemd shows, and looks that doctor calls each wrong and that the command
// which it gives mends it. One version, since doctor asks what the other tests show on all.
func TestDoctor(t *testing.T) {
	t.Parallel()
	m := nspawn.Boot(t, nspawn.V252)
	for _, name := range []string{"trueup", "trueup-gate", "drive"} {
		m.CopyIn(t, filepath.Join(programs, name), "/usr/local/bin/"+name, 0o755)
	}
	for _, g := range m.Managers() {
		t.Run(g.String(), func(t *testing.T) {
			t.Parallel()
			newWard(t, host{g}).rounds(t)
		})
	}
}

// A ward is an adopted service with whom all is well.
type ward struct {
	host
	units.Adoption
	own string // what its unit has beside the ordinary
}

func newWard(t *testing.T, h host) ward {
	w := ward{host: h, own: "User=web\nGroup=web\n"}
	h.Sh(t, "install -m 666 /dev/null "+h.log("ward"))
	if h.IsUser() {
		w.own = ""
	} else {
		h.Sh(t, "chmod 711 /root")
	}
	h.WriteUnit(t, "ward.service", h.oneshot("ward", w.own))
	w.Adoption = h.adopt(t, units.Adoption{Unit: "ward", Policy: quick, NoTimer: true}).Changes.Adoption
	return w
}

func (w ward) rounds(t *testing.T) {
	if found := append(w.examine(t), w.examine(t)...); len(found) > 0 || w.read(t, w.log("ward")) != "" {
		t.Fatalf("of a trigger with which all is well it says %v, and the runs are %q", found, w.read(t, w.log("ward")))
	}
	if found := w.examine(t, "--round-trip"); len(found) > 0 {
		t.Fatalf("after a round trip it says %v", found)
	}
	w.awaitRuns(t, "ward", 1)
	root := w.Machine().System()
	path, f := w.UnitDir()+"/"+w.Path(), w.Folders
	w.wrong(t, "trigger.path", func() { // F4
		w.MustExec(t, "ln", "-s", "sentinel", f.Spool+"/sentinel")
		w.state(t, w.Path(), "failed/failed")
	})
	w.state(t, w.Path(), "active/waiting")
	w.wrong(t, "trigger.path", func() {
		w.MustSystemctl(t, "stop", w.Path())
		w.MustExec(t, "rm", path)
		w.MustSystemctl(t, "mask", w.Path())
	})
	w.wrong(t, "trigger.drift", func() {
		w.WriteUnit(t, "ward.service", w.oneshot("ward", w.own+"ExecStartPre=/bin/true\n"))
	})
	w.wrong(t, "folders.mode", func() { w.MustExec(t, "chmod", "0555", f.Outbox) })
	if !w.IsUser() { // a user could not give it back
		w.wrong(t, "folders.state", func() { w.MustExec(t, "chown", "nobody", f.State) })
	}
	w.spoiled(t)
	root.MustExec(t, "mount", "-t", "tmpfs", "tmpfs", f.Spool) // F10
	if found := w.examine(t); !slices.ContainsFunc(found, func(c finding) bool {
		return c.ID == "trigger.path" && c.Do == "systemctl "+w.flag()+"restart ward.path"
	}) {
		t.Errorf("of a mount over the spool it says %v", found)
	}
	root.MustExec(t, "umount", f.Spool)
	if w.IsUser() {
		w.lingers(t, root)
	} else if found := w.examine(t); len(found) > 0 {
		t.Errorf("in the end it says %v", found)
	}
}

// spoiled breaks most rules at once, none of which would let the unit be adopted anew.
func (w ward) spoiled(t *testing.T) {
	const later = "ward.service.d/90-later.conf"
	w.Write(t, w.UnitDir()+"/"+later, "[Service]\nNotifyAccess=none\n", 0o644)
	w.WriteUnit(t, "ward.service", w.oneshot("ward", w.own+"RemainAfterExit=yes\nRestrictAddressFamilies=AF_INET\nTimeoutStartSec=infinity\n"+
		"SuccessExitStatus=3\n[Unit]\nConditionPathExists=/\nRequires=ward-not.service\n"))
	w.Write(t, w.UnitDir()+"/"+w.Path(), w.read(t, w.UnitDir()+"/"+w.Path())+"\n", 0o644)
	want := []string{"trigger.type", "trigger.conditions", "trigger.requires", "trigger.sockets", "trigger.later", "trigger.timeout", "trigger.success", "systemd.reload"}
	if !w.IsUser() {
		w.MustExec(t, "chown", "web", gate)
		want = append(want, "trigger.gate-file")
	}
	found := w.look(t)
	for _, id := range want {
		if !slices.ContainsFunc(found, func(c finding) bool { return c.ID == id && (c.Verdict == "wrong" || c.Verdict == "warning") }) {
			t.Errorf("it says nothing of %s", id)
		}
	}
	if !w.IsUser() {
		w.MustExec(t, "chown", "root", gate)
	}
	w.MustExec(t, "rm", w.UnitDir()+"/"+later)
	w.WriteUnit(t, "ward.service", w.oneshot("ward", w.own))
	w.adopt(t, units.Adoption{Unit: "ward"})
	w.mended(t, "adopting anew")
}

// lingers takes from a user what keeps the manager alive, and then the manager.
func (w ward) lingers(t *testing.T, root *nspawn.Manager) {
	mended := func(id string) {
		t.Helper()
		found := w.examine(t)
		i := slices.IndexFunc(found, func(c finding) bool { return c.ID == id })
		if i < 0 {
			t.Fatalf("it says %v, want %s", found, id)
		}
		root.Sh(t, found[i].Do) // only root may
		w.mended(t, found[i].Do)
	}
	root.MustExec(t, "rm", "/var/lib/systemd/linger/op")
	mended("systemd.linger")
	root.MustExec(t, "systemctl", "stop", "user@1000.service")
	mended("systemd.manager")
}

// A finding is a check that doctor --json calls wrong.
type finding struct{ ID, Verdict, What, Do string }

// wrong plants a fault, looks that doctor finds it, does what doctor says, and looks that all is well.
func (w ward) wrong(t *testing.T, id string, plant func()) {
	t.Helper()
	plant()
	found := w.examine(t)
	i := slices.IndexFunc(found, func(c finding) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("it says %v, want %s", found, id)
	}
	w.Sh(t, found[i].Do)
	w.mended(t, found[i].Do)
}

// mended waits until nothing is wrong.
func (w ward) mended(t *testing.T, do string) {
	t.Helper()
	var left []finding
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if nspawn.Poll(ctx, func() bool { left = w.examine(t); return len(left) == 0 }) != nil {
		t.Fatalf("after %q it still says %v", do, left)
	}
}

func (w ward) flag() string {
	if w.IsUser() {
		return "--user "
	}
	return ""
}

// examine is what doctor calls wrong.
func (w ward) examine(t *testing.T, flags ...string) []finding {
	t.Helper()
	return slices.DeleteFunc(w.look(t, flags...), func(c finding) bool { return c.Verdict != "wrong" })
}

// look is everything that doctor says.
func (w ward) look(t *testing.T, flags ...string) []finding {
	t.Helper()
	said := w.Sh(t, "trueup doctor --json "+w.flag()+strings.Join(flags, " ")+" || test $? = 1")
	var answer struct {
		Units []struct{ Checks []finding }
	}
	if err := json.Unmarshal([]byte(said), &answer); err != nil || len(answer.Units) != 1 {
		t.Fatalf("it says %v, %q", err, said)
	}
	return answer.Units[0].Checks
}
