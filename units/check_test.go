package units_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// enable: the units are sound, come once, and go again byte for byte.
func (o operator) enable(t *testing.T) {
	before := o.unitFolders(t)
	dry := o.run(t, "alarms enable", "--dry-run")
	o.same(t, before)
	if done := o.run(t, "alarms enable"); "would "+strings.ReplaceAll(strings.TrimSpace(done), "\n", "\nwould ") != strings.TrimSpace(dry) {
		t.Errorf("enable did\n%s, and was to do\n%s", done, dry)
	}
	if again := o.run(t, "alarms enable"); again != "nothing to change\n" {
		t.Errorf("enabled again, it did %s", again)
	}
	o.verify(t, "trueup-check.service", "trueup-check.timer")
	o.state(t, "trueup-check.timer", "active/waiting")
	o.forgetful(t)
	o.run(t, "alarms disable")
	o.same(t, before)
	if got := o.run(t, "alarms disable"); got != "nothing to change\n" {
		t.Errorf("disabled again, it did %s", got)
	}
	o.packaged(t)
	o.same(t, before)
	o.refused(t)
	o.same(t, before)
}

// forgetful: where the folder of alarms has become read-only the service looks all the same, and tells it once. The folder is
// bound to itself, as it is.
func (o operator) forgetful(t *testing.T) {
	t.Helper()
	dir := "/var/lib/trueup-check"
	if o.IsUser() {
		dir = o.Home() + "/.local/state/trueup-check"
	}
	systemctl := "systemctl " + o.userFlag()
	looks := func(want string) {
		t.Helper()
		o.Sh(t, fmt.Sprintf("%[1]s reset-failed trueup-check.service || true; %[1]s start trueup-check.service || true", systemctl))
		if got := o.Show(t, "trueup-check.service", "ExecMainStatus")["ExecMainStatus"]; got != want {
			t.Errorf("a look ended with %q, want %s", got, want)
		}
	}
	looks("0")
	o.Machine().Sh(t, "mount --bind "+dir+" "+dir+" && mount -o remount,bind,ro "+dir)
	looks("74")
	looks("74")
	o.Machine().Sh(t, "umount "+dir)
	looks("0")
	looks("0")
	if got := o.read(t, o.told); got != "raised disk trueup-check.service\ncleared disk trueup-check.service\n" {
		t.Errorf("the command was told %q", got)
	}
	o.Sh(t, "rm "+o.told)
}

// packaged: units that a package brought are enabled and started, and disabled, and are otherwise the package's.
func (o operator) packaged(t *testing.T) {
	t.Helper()
	vendor, from := "/usr/lib/systemd/system/", "files/trueup-check.service"
	if o.IsUser() {
		vendor, from = "/usr/lib/systemd/user/", "files/trueup-check.user.service"
	}
	for name, from := range map[string]string{"trueup-check.service": from, "trueup-check.timer": "files/trueup-check.timer"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		o.Machine().WriteFile(t, vendor+name, strings.NewReplacer("@PROGRAM@", o.trueup[0], "@RECORD@\n", "").Replace(string(text)), 0o644)
	}
	o.MustSystemctl(t, "daemon-reload")
	if got := o.run(t, "alarms enable"); got != "enable trueup-check.timer\nstart trueup-check.timer\n" {
		t.Errorf("enabling a package's units did\n%s", got)
	}
	o.verify(t, "trueup-check.service", "trueup-check.timer")
	o.state(t, "trueup-check.timer", "active/waiting")
	o.run(t, "alarms disable")
	if o.IsUser() { // systemctl disable leaves them as well
		o.MustExec(t, "rmdir", "-p", "--ignore-fail-on-non-empty", o.UnitDir())
	}
	o.Machine().MustExec(t, "rm", vendor+"trueup-check.service", vendor+"trueup-check.timer")
	o.MustSystemctl(t, "daemon-reload")
}

// refused: units of somebody else are left alone, and an instance cannot take their name.
func (o operator) refused(t *testing.T) {
	t.Helper()
	o.WriteUnit(t, "trueup-check.timer", "[Timer]\nOnActiveSec=1h\n")
	o.MustSystemctl(t, "daemon-reload")
	for _, verb := range []string{"alarms enable", "alarms disable"} {
		if got := o.Sh(t, strings.Join(o.trueup, " ")+" "+verb+" "+o.userFlag()+" 2>&1 || echo exit $?"); !strings.Contains(got, "trueup-check.timer is not ours\n") || !strings.HasSuffix(got, "exit 65\n") {
			t.Errorf("%s beside another's timer: %s", verb, got)
		}
	}
	o.MustExec(t, "rm", o.UnitDir()+"/trueup-check.timer")
	if o.IsUser() {
		o.MustExec(t, "rmdir", "-p", "--ignore-fail-on-non-empty", o.UnitDir())
	}
	o.MustSystemctl(t, "daemon-reload")
	if got := o.Sh(t, strings.Join(o.trueup, " ")+" install --name check -c /etc/hostname "+o.userFlag()+" 2>&1 || echo exit $?"); !strings.Contains(got, "exit ") {
		t.Errorf("an instance called check: %s", got)
	}
}
