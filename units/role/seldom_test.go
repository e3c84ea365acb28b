package role

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// seldom are cases that a host meets now and then. Each has a machine that others have used.
var seldom = []struct {
	name string
	run  func(*testing.T, story)
}{
	{"bad arguments", badArguments}, {"other programs", otherPrograms}, {"bad configuration", badConfiguration},
	{"adopted", adopted}, {"cycles", cycles}, {"several", several}, {"dead timer", deadTimer}, {"by su", bySu},
	{"own account", ownAccount}, {"package", fromPackage},
}

// TestRoleSeldom answers TMR-03, USR-06, USR-11 and CTR-06.
func TestRoleSeldom(t *testing.T) {
	if !proving() {
		return
	}
	each(t, func(t *testing.T, v nspawn.Version, m *nspawn.Machine) {
		for _, c := range seldom {
			t.Run(c.name, func(t *testing.T) {
				s := newStory(t, m, flavours()[nspawn.V252])
				c.run(t, s)
				s.play(t, "uninstall", s.args.with(arguments{"trueup_purge": true, "trueup_uninstall_programs": true}))
			})
		}
	})
}

// Arguments that do not fit together are refused before anything on the host is looked at.
func badArguments(t *testing.T, s story) {
	clean := s.picture(t)
	for _, c := range []struct {
		more arguments
		want string
	}{
		{arguments{"trueup_scope": "user"}, "say in trueup_user whose manager it is"},
		{arguments{"trueup_adopt": "x.service"}, "are for trueup's"},
		{arguments{"trueup_floor": "1s"}, "are in trueup_config"},
		{arguments{"trueup_floor": []string{"1s"}}, "trueup_floor: one word"},
		{arguments{"trueup_sha256": "abc"}, "trueup_sha256 and trueup_gate_sha256"},
		{arguments{"trueup_source": "package"}, "name trueup_package"},
		{arguments{"trueup_user": "root"}, "trueup_user is root"},
		{arguments{"trueup_credentials": []arguments{{"name": "../x", "content": "y"}}}, "each name once"},
	} {
		r, err := s.try(t, "install", s.args.with(c.more))
		if err == nil || r.ok > 1 || r.changed > 0 || !strings.Contains(r.said, c.want) {
			t.Errorf("%v: %v, %d tasks went well, and it does not say %q:\n%s", c.more, err, r.ok, c.want, r.said)
		}
	}
	s.refuses(t, arguments{"trueup_web_uid": "www-data"}, "cannot be converted to an int")
	s.refuses(t, arguments{"trueup_config": "version: 1"}, "unable to convert to dict")
	s.same(t, clean, "refusals")
}

// Programs with another checksum do not reach the host.
func otherPrograms(t *testing.T, s story) {
	clean := s.picture(t)
	r, err := s.try(t, "install", s.args.with(arguments{"trueup_sha256": strings.Repeat("0", 64), "trueup_web_group": ""}))
	if err == nil || r.changed > 0 || !strings.Contains(r.said, "what was asked for has 000") {
		t.Errorf("other programs: %v\n%s", err, r.said)
	}
	s.same(t, clean, "a refusal")
}

// A configuration that is at fault is told, and what was there goes on.
func badConfiguration(t *testing.T, s story) {
	s.play(t, "install", s.args)
	const all = "cd /etc/trueup; ls -A; sha256sum *.yaml"
	good := s.m.Sh(t, all)
	for _, variable := range []string{"trueup_config", "trueup_alarms_config", "trueup_alarms_config"} { // again, it is no better
		r, err := s.try(t, "install", s.args.with(arguments{variable: arguments{"version": 1, "typo": true}}))
		if err == nil || !strings.Contains(r.said, `unknown key \"typo\"`) && !strings.Contains(r.said, `unknown key "typo"`) {
			t.Errorf("%s: %v\n%s", variable, err, r.said)
		}
	}
	if now := s.m.Sh(t, all); now != good {
		t.Errorf("in the place of\n%sthere is\n%s", good, now)
	}
	s.works(t)
	s.quiet(t, "install")
}

// A service that is there gets a trigger, and is left as it was.
func adopted(t *testing.T, s story) {
	const unit = "[Service]\nType=oneshot\nTimeoutStartSec=60\nExecStart=/bin/sh -c 'echo run >>/var/log/there'\n"
	s.m.WriteFile(t, "/etc/systemd/system/there.service", unit, 0o644)
	s.m.Sh(t, "systemctl daemon-reload")
	clean := s.picture(t)
	s.args = s.programs(t, "v1").with(arguments{"trueup_adopt": "there.service", "trueup_floor": "1s", "trueup_web_group": "app"})
	s.play(t, "install", s.args, "--check")
	s.same(t, clean, "a check")
	s.play(t, "install", s.args)
	s.quiet(t, "install")
	s.quiet(t, "install", "--check")
	s.trueup(t, "touch", "--unit", "there.service", "--wait", "--timeout", "1m")
	s.play(t, "uninstall", s.args.with(arguments{"trueup_purge": true, "trueup_uninstall_programs": true}))
	s.same(t, clean, "uninstalling")
	if got := s.m.ReadFile(t, "/etc/systemd/system/there.service"); got != unit {
		t.Errorf("the service is now\n%s", got)
	}
	s.m.Sh(t, "rm /etc/systemd/system/there.service; systemctl daemon-reload")
}

// Uninstalled and installed again, the folders are those that containers have mounted.
func cycles(t *testing.T, s story) {
	s.play(t, "install", s.args)
	spool := s.inode(t)
	for range 2 {
		s.play(t, "uninstall", s.args)
		s.quiet(t, "uninstall")
		s.quiet(t, "backout")
		s.play(t, "install", s.args)
		s.works(t)
	}
	if now := s.inode(t); now != spool {
		t.Errorf("the spool was folder %s, and is folder %s", spool, now)
	}
}

// Several services on a host know nothing of each other.
func several(t *testing.T, s story) {
	s.write(t, "site.yml", "- hosts: all\n  become: true\n  gather_facts: false\n  roles:\n"+
		"    - {role: trueup.trueup.trueup, trueup_name: a, trueup_config: {version: 1, ledger: {runs: 9}}}\n"+
		"    - {role: trueup.trueup.trueup, trueup_name: b, trueup_config: {version: 1}}\n")
	s.args = s.args.with(nil)
	delete(s.args, "trueup_config") // -e would win over the roles' own
	s.play(t, "site.yml", s.args)
	s.quiet(t, "site.yml")
	for _, unit := range []string{"trueup-a.service", "trueup-b.service"} {
		s.trueup(t, "touch", "--unit", unit, "--wait", "--timeout", "2m")
	}
}

// A timer that is active and has no next time is no timer.
func deadTimer(t *testing.T, s story) {
	const dropin = "/etc/systemd/system/trueup.timer.d/dead.conf"
	s.m.WriteFile(t, dropin, "[Timer]\nOnActiveSec=\nOnUnitInactiveSec=\nOnBootSec=1ms\n", 0o644)
	r, err := s.try(t, "install", s.args)
	if err == nil || !strings.Contains(r.said, "Verify that touches are heard and sweeps come") {
		t.Errorf("a timer that never fires again was not found: %v\n%s", err, r.said)
	}
	s.m.Sh(t, "rm "+dropin+"; systemctl daemon-reload; systemctl restart trueup.timer")
	s.quiet(t, "install")
}

// The account is entered by su, which says nothing of its manager.
func bySu(t *testing.T, s story) {
	f := flavours()[nspawn.V257]
	f.conns = ", ansible_user: root, ansible_become_method: su"
	by := newStory(t, s.m, f)
	by.m.Sh(t, "loginctl disable-linger app 2>/dev/null || true")
	by.play(t, "install", by.args)
	by.works(t)
	by.quiet(t, "install")
	by.play(t, "uninstall", by.args.with(arguments{"trueup_purge": true}))
}

// The service of the system may run as an account of its own, which is made.
func ownAccount(t *testing.T, s story) {
	s.args = s.args.with(arguments{"trueup_user": "keeper", "trueup_hardening": "api", "trueup_config": arguments{"version": 1}})
	s.play(t, "install", s.args)
	s.quiet(t, "install")
	s.trueup(t, "touch", "--unit", "trueup.service", "--wait", "--timeout", "1m")
	if user := s.m.Sh(t, "stat -c %U "+s.state+"/state"); user != "keeper\n" {
		t.Errorf("the state is %s's", user)
	}
}

// The programs may come as a package.
func fromPackage(t *testing.T, s story) {
	dir := t.TempDir()
	build := exec.Command("units/packages/build", dir, "amd64")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "VERSION=1.0.0", "SOURCE_DATE_EPOCH=1700000000", "MAINTAINER=nobody <root@localhost>")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the package: %v\n%s", err, out)
	}
	found, err := filepath.Glob(dir + "/*.deb")
	if err != nil || len(found) != 1 {
		t.Fatalf("building the package made %q: %v", found, err)
	}
	s.args = s.args.with(arguments{"trueup_source": "package", "trueup_package": found[0], "trueup_package_sha256": checksum(t, found[0])})
	if r := s.play(t, "install", s.args, "--check"); r.changed == 0 {
		t.Errorf("a check finds nothing to do:\n%s", r.said)
	}
	s.play(t, "install", s.args)
	s.quiet(t, "install")
	s.m.MustExec(t, "/usr/bin/trueup", "touch", "--unit", "trueup.service", "--wait", "--timeout", "1m")
	s.play(t, "uninstall", s.args.with(arguments{"trueup_purge": true, "trueup_uninstall_programs": true}))
	if left := s.m.Sh(t, "dpkg -s trueup 2>/dev/null || true; ls /usr/bin/trueup* 2>/dev/null || true"); left != "" {
		t.Errorf("the package is still there: %s", left)
	}
}
