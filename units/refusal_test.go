package units_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// refusesReal shows that systemd gives away what the refusals are decided by, on each version. Their full table
// needs no systemd: TestRefuse.
func refusesReal(t *testing.T, h host) {
	before := h.unitFolders(t)
	cases := []struct{ text, want string }{
		{"[Service]\nExecStart=/bin/true\n", "Type="},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nRemainAfterExit=yes\n", "RemainAfterExit"},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nRootDirectory=/srv\n", "RootDirectory"},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nRestrictAddressFamilies=AF_INET\n", "RestrictAddressFamilies"},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nRestrictAddressFamilies=~AF_UNIX\n", "RestrictAddressFamilies"},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nTemporaryFileSystem=/var/lib /home\n", "TemporaryFileSystem"},
		{"[Service]\nType=oneshot\nExecStart=/bin/true\nExecCondition=/bin/true\n", "ExecCondition"},
		{"[Unit]\nConditionPathExists=/etc\n[Service]\nType=oneshot\nExecStart=/bin/true\n", "ConditionPathExists"},
		{"[Unit]\nAssertPathExists=/etc\n[Service]\nType=oneshot\nExecStart=/bin/true\n", "AssertPathExists"},
		{"[Unit]\nRequires=nosuch.service\n[Service]\nType=oneshot\nExecStart=/bin/true\n", "Requires"},
		{"[Service]\nType=oneshot\n", "cannot load"},
		{"", "no such unit"},
	}
	if !h.IsUser() { // a user's service has no other user
		cases = append(cases, struct{ text, want string }{"[Service]\nType=oneshot\nExecStart=/bin/true\nUser=nemo\n", "nemo"},
			struct{ text, want string }{"[Service]\nType=oneshot\nExecStart=/bin/true\nDynamicUser=yes\n", "DynamicUser"})
	}
	for i, c := range cases {
		unit := fmt.Sprintf("refused%d.service", i)
		if c.text != "" {
			h.Write(t, h.UnitDir()+"/"+unit, c.text, 0o644) // a name that systemd does not know needs no reload
		}
		with := h.unitFolders(t)
		got := h.drive(t, "adopt", units.Adoption{Unit: unit})
		if got.Kind != "refusal" || !strings.Contains(got.Error, c.want) || got.Hint == "" {
			t.Errorf("want a refusal about %s, got %s %q (hint %q)", c.want, got.Kind, got.Error, got.Hint)
		}
		h.same(t, with)
	}
	h.misused(t)
	if !h.IsUser() {
		h.Write(t, h.UnitDir()+"/refused.service", h.oneshot("refused", ""), 0o644)
		var got answer
		out := h.Machine().As("op").MustExec(t, h.driveArgs("adopt", units.Adoption{Unit: "refused"})...)
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Kind != "permission" {
			t.Errorf("adopting as another than root: %s %q, %v", got.Kind, got.Error, err)
		}
	}
	h.Sh(t, "rm "+h.UnitDir()+"/refused*.service")
	h.forget(t, before)
}

// misused asks for what no unit can have.
func (h host) misused(t *testing.T) {
	t.Helper()
	h.Write(t, h.UnitDir()+"/refused.service", h.oneshot("refused", ""), 0o644)
	for want, wish := range map[string]units.Adoption{
		"out of bounds":   {Policy: trigger.Policy{Floor: time.Nanosecond}},
		"is relative":     {Folders: trigger.Folders{Spool: "relative"}},
		"no-such-group":   {WebGroup: "no-such-group"},
		"none in another": {Folders: trigger.Folders{Spool: "/srv/spool", State: "/srv/spool/state"}},
	} {
		wish.Unit = "refused"
		if got := h.drive(t, "adopt", wish); got.Kind != "usage" || !strings.Contains(got.Error, want) {
			t.Errorf("%+v: want a usage error about %q, got %s %q", wish, want, got.Kind, got.Error)
		}
	}
}

// Two units never get one folder, however it is called; nor one where touches are not seen or do not last.
func refusesShared(t *testing.T, h host) {
	h.WriteUnit(t, "one.service", h.oneshot("one", ""))
	h.WriteUnit(t, "two.service", h.oneshot("two", ""))
	one := h.adopt(t, units.Adoption{Unit: "one", Policy: quick}).Changes.Adoption.Folders
	h.MustExec(t, "ln", "-sfn", one.Spool, h.Home()+"/alias")
	h.MustExec(t, "mkdir", "-p", h.Home()+"/shelf/spool")
	h.MustExec(t, "ln", "-sfn", h.Home()+"/shelf/spool", h.Home()+"/link")
	mine := func(f trigger.Folders) trigger.Folders {
		base := h.Home() + "/two/"
		return trigger.Folders{Spool: or(f.Spool, base+"spool"), State: or(f.State, base+"state"), Outbox: or(f.Outbox, base+"outbox")}
	}
	for _, c := range []struct {
		folders trigger.Folders
		want    string
	}{
		{mine(trigger.Folders{Spool: one.Spool}), "one.service"},
		{mine(trigger.Folders{State: one.State}), "one.service"},
		{mine(trigger.Folders{State: one.Spool + "/deeper"}), "one.service"},
		{mine(trigger.Folders{Spool: h.Home() + "/alias"}), "one.service"},
		{mine(trigger.Folders{Spool: h.Home() + "/alias/in/it"}), "one.service"},
		{mine(trigger.Folders{Spool: h.Home() + "/shelf/spool", State: h.Home() + "/link/state"}), "lie in one another"},
		{mine(trigger.Folders{Spool: "/tmp/two"}), "/tmp"},
		{mine(trigger.Folders{State: "/var/tmp/two/state"}), "/var/tmp"},
		{mine(trigger.Folders{Spool: "/proc/self/spool"}), "on proc"},
		{mine(trigger.Folders{Spool: "/srv/overlay2/3f/diff/spool"}), "in a layer of a container's image"},
	} {
		got := h.drive(t, "adopt", units.Adoption{Unit: "two", Folders: c.folders})
		if got.Kind != "refusal" || !strings.Contains(got.Error, c.want) {
			t.Errorf("%+v: want a refusal about %q, got %s %q", c.folders, c.want, got.Kind, got.Error)
		}
	}
	h.unadopt(t, "one", true)
	h.forget(t, "", "one.service", "two.service")
	h.MustExec(t, "rm", "-r", h.Home()+"/alias", h.Home()+"/link", h.Home()+"/shelf")
	h.MustExec(t, "test", "!", "-e", h.Home()+"/two")
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// The gate's access is proved in the sandbox, and the reason found for what it lacks.
func probeSays(t *testing.T, h host) {
	before := h.unitFolders(t)
	for _, c := range []struct{ sandbox, kind, want string }{
		{"ReadWritePaths=/no/such/folder", "refusal", "226/NAMESPACE"},
		{"InaccessiblePaths=/usr/local/bin", "refusal", "203/EXEC"},
		{"SystemCallFilter=@basic-io", "refusal", "SystemCallFilter="},
		{"InaccessiblePaths=" + h.Home(), "folder", "in the sandbox of"},
		{"WorkingDirectory=/no/such/folder", "refusal", "exit status 200"},
	} {
		// Without PrivateUsers=, 247 and 252 leave a user's sandbox out in silence (F21).
		h.WriteUnit(t, "boxed.service", h.oneshot("boxed", "PrivateUsers=yes\nProtectSystem=strict\n"+c.sandbox+"\n"))
		started := time.Now()
		base := h.Home() + "/boxed/"
		got := h.drive(t, "adopt", units.Adoption{Unit: "boxed", Folders: trigger.Folders{Spool: base + "spool", State: base + "state", Outbox: base + "outbox"}})
		if got.Kind != c.kind || !strings.Contains(got.Error, c.want) || got.Hint == "" {
			t.Errorf("%s: want a %s error about %s, got %s %q (hint %q) after %v", c.sandbox, c.kind, c.want, got.Kind, got.Error, got.Hint, time.Since(started))
		}
		h.MustExec(t, "test", "!", "-e", strings.TrimSuffix(base, "/")) // what was made for it is gone
	}
	h.forget(t, before, "boxed.service")
	if left := h.MustSystemctl(t, "list-units", "--all", "--no-legend", "trueup-probe*"); left != "" {
		t.Errorf("probes are left: %s", left)
	}
	h.noProbes(t)
}

// noProbes fails the test when this manager's probes have left anything.
func (h host) noProbes(t *testing.T) {
	t.Helper()
	where := "/run -path /run/user -prune -o"
	if h.IsUser() {
		where = fmt.Sprintf("/run/user/%s", strings.TrimSpace(h.MustExec(t, "id", "-u")))
	}
	if left := h.Machine().Sh(t, "find "+where+" -name '*trueup*' ! -name trueup.lock -print"); left != "" {
		t.Errorf("probes are left: %s", left)
	}
}
