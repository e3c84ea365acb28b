package units_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// Adopting again without a word keeps all that was said before, also by root with a umask that hides everything.
func adoptAgain(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "again.service", h.oneshot("again", ""))
	base, group := h.Home()+"/again-folders/", "web"
	if h.IsUser() {
		group = "op"
	}
	wish := units.Adoption{Unit: "again", NoTimer: true, WebGroup: group,
		Policy:  trigger.Policy{Floor: 2 * time.Second, RetryMax: 7 * time.Second, Sweep: time.Hour},
		Folders: trigger.Folders{Spool: base + "spool", State: base + "in/state", Outbox: base + "outbox"}}
	kill := append([]string{"sh", "-c", `umask 077; exec strace -qq -o /dev/null -e inject=fchmod:signal=KILL:when=1 "$@"`, "sh"},
		h.driveArgs("adopt", wish)...)
	if _, err := h.Exec(t.Context(), kill...); err == nil {
		t.Error("adopt was not killed before it set a mode")
	}
	h.MustExec(t, "test", "-d", base)
	first := h.adoptUnder(t, "077", wish)
	adopted := h.unitFolders(t)
	if again := h.adopt(t, units.Adoption{Unit: "again"}); len(again.ops()) > 0 || again.Changes.Adoption != first.Changes.Adoption {
		t.Errorf("a bare adopt did %q and left %+v, not %+v", again.ops(), again.Changes.Adoption, first.Changes.Adoption)
	}
	h.same(t, adopted)
	for dir, want := range map[string]string{base: "755", base + "in": "755", base + "in/state": "700", base + "outbox": "755",
		base + "spool": "2770", base + "spool/requests": "2770", h.UnitDir() + "/again.service.d": "755"} {
		if got := strings.TrimSpace(h.MustExec(t, "stat", "-c%a", dir)); got != want {
			t.Errorf("made with umask 077, %s has mode %s, want %s", dir, got, want)
		}
	}
	h.touch(t, first)
	h.awaitRuns(t, "again", 1)
	h.unadopt(t, "again", true)
	h.MustExec(t, "rmdir", base+"in", strings.TrimSuffix(base, "/"))
	h.forget(t, before, "again.service")
}

// adoptUnder adopts with a umask.
func (h host) adoptUnder(t *testing.T, umask string, a units.Adoption) answer {
	t.Helper()
	argv := append([]string{"sh", "-c", `umask "$0"; exec "$@"`, umask}, h.driveArgs("adopt", a)...)
	got := parseAnswer(t, h.MustExec(t, argv...))
	if got.Error != "" {
		t.Fatalf("adopting %s: %s (%s; %s)", a.Unit, got.Error, got.Kind, got.Hint)
	}
	return got
}

// The unit's own lines change: that shows, and adopting again copies them.
func adoptDrifted(t *testing.T, h host) {
	before := h.unitFolders(t)
	h.WriteUnit(t, "drift.service", h.oneshot("drift", "ExecStartPre=/bin/true one\n"))
	h.adopt(t, units.Adoption{Unit: "drift", Policy: quick})
	drifted := func() bool { return h.drive(t, "trigger", units.Adoption{Unit: "drift"}).Trigger.Drifted }
	if drifted() {
		t.Error("what was just adopted has drifted")
	}
	h.WriteUnit(t, "drift.service", h.oneshot("drift", "ExecStartPre=/bin/true two\n"))
	h.MustSystemctl(t, "daemon-reload")
	if !drifted() {
		t.Error("another ExecStartPre= does not show")
	}
	h.adopt(t, units.Adoption{Unit: "drift"})
	if text := h.read(t, h.UnitDir()+"/drift.service.d/10-trueup.conf"); drifted() || !strings.Contains(text, "/bin/true two") {
		t.Errorf("adopting again has not copied it:\n%s", text)
	}
	for _, file := range []string{"drift.path", "drift.timer"} {
		h.MustExec(t, "sed", "-i", "s/^Description=/&another version's /", h.UnitDir()+"/"+file)
		if !drifted() {
			t.Errorf("another %s does not show", file)
		}
		if h.adopt(t, units.Adoption{Unit: "drift"}); drifted() {
			t.Errorf("adopting again leaves %s as it was", file)
		}
	}
	h.unadopt(t, "drift", true)
	h.forget(t, before, "drift.service")
}

// Another User=: adopting again gives it the folders and the gate's files, and nothing else that lies there.
func adoptOtherUser(t *testing.T, h host) {
	if h.IsUser() {
		return // its services have one user
	}
	before := h.unitFolders(t)
	text := "User=op\nExecStartPre=/bin/true\n"
	write := func(text string) {
		h.WriteUnit(t, "moved.service", "[Service]\nType=oneshot\nTimeoutStartSec=60\nExecStart=/bin/true\n"+text)
		h.MustSystemctl(t, "daemon-reload")
	}
	write(text)
	got := h.adopt(t, units.Adoption{Unit: "moved", Policy: quick})
	f := got.Changes.Adoption.Folders
	settled := func(n string) {
		t.Helper()
		h.eventually(t, "run "+n, func() bool { return strings.Contains(h.read(t, f.Outbox+"/status.json"), `"settled":`+n) })
		h.state(t, "moved.service", "inactive/dead")
	}
	h.touch(t, got)
	settled("1")
	h.MustExec(t, "touch", "/etc/foreign")
	h.MustExec(t, "ln", "/etc/foreign", f.State+"/linked")
	h.MustExec(t, "ln", "-s", "/etc/foreign", f.State+"/link")

	write(strings.Replace(text, "op", "web", 1))
	again := h.adopt(t, units.Adoption{Unit: "moved"})
	for _, dir := range []string{f.Spool, f.Spool + "/requests", f.State, f.Outbox} {
		if !slices.Contains(again.ops(), "update "+dir) {
			t.Errorf("%s was not set right: %q", dir, again.ops())
		}
	}
	if left := h.Sh(t, "find "+path.Dir(f.Spool)+" -mindepth 1 ! -user web ! -name 'link*'; find /etc/foreign ! -user root"); left != "" {
		t.Errorf("with another user, of the wrong owner is\n%s", left)
	}
	if more := h.adopt(t, units.Adoption{Unit: "moved"}); len(more.ops()) > 0 {
		t.Errorf("adopting once more did %q", more.ops())
	}
	h.touch(t, got)
	settled("2")
	h.unadopt(t, "moved", true)
	h.MustExec(t, "rm", "/etc/foreign")
	h.forget(t, before, "moved.service")
}

// A gate that another than root could replace would be run as root.
func refusesGate(t *testing.T, h host) {
	if h.IsUser() {
		return // runs nothing as root
	}
	h.WriteUnit(t, "lent.service", h.oneshot("lent", ""))
	for _, c := range []struct{ prepare, gate, want string }{
		{"cp " + gate + " /tmp/lent", "/tmp/lent", "/tmp is writable by others"},
		{"install -D -o op " + gate + " /opt/lent/gate", "/opt/lent/gate", "/opt/lent/gate is not root's"},
		{"chown root:web /opt/lent/gate && chmod g+w /opt/lent/gate", "/opt/lent/gate", "/opt/lent/gate is writable by others"},
		{"install -d -o op /opt/lent/op && ln -s " + gate + " /opt/lent/op/gate && ln -s /opt/lent/op/gate /opt/lent/link", "/opt/lent/link",
			"/opt/lent/op is not root's"},
	} {
		h.Sh(t, c.prepare)
		got := h.drive(t, "adopt", units.Adoption{Unit: "lent", Policy: quick, Gate: c.gate})
		if got.Kind != "refusal" || !strings.Contains(got.Error, c.want) || got.Hint == "" {
			t.Errorf("%s: want a refusal that %s, got %s %q", c.gate, c.want, got.Kind, got.Error)
		}
	}
	h.Sh(t, "rm -r /tmp/lent /opt/lent")
	h.forget(t, "", "lent.service")
}
