package packages_test

import (
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// hello is a configuration with one target.
const hello = "version: 1\ntargets:\n  - {kind: command, name: hello, check: {shell: test -e /etc/hello || exit 2}, apply: {shell: touch /etc/hello}}\n"

// TestThreeCommands installs, adopts and touches on a clean Debian. Then the package is removed under adopted services,
// which stay what they were before; is purged beside another trueup, which keeps what it needs; comes back; and is purged.
func TestThreeCommands(t *testing.T) {
	for name, v := range map[string]nspawn.Version{"bookworm": nspawn.V252, "trixie": nspawn.V257} {
		t.Run(name, func(t *testing.T) {
			m := boot(t, v)
			g := m.System()
			service(t, g, "accounts", "")
			for _, command := range []string{
				"dpkg -i /root/" + newer + ".deb",
				"trueup adopt accounts.service --floor 1s",
				"touch /var/lib/trueup/accounts/spool/sentinel",
			} {
				m.Sh(t, command)
			}
			awaitRuns(t, g, "accounts", 1)
			installed(t, m)
			removed(t, m)
			reinstalled(t, m)
			purged(t, m)
		})
	}
}

// installed looks at what came with the package.
func installed(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	for command, want := range map[string]string{
		"trueup version":                                                                      "trueup v" + newer + " linux/amd64 ",
		"trueup-gate --version":                                                               "trueup-gate v" + newer,
		"zcat /usr/share/man/man1/trueup.1.gz":                                                ".TH TRUEUP 1 \"\" \"trueup v" + newer,
		"zcat /usr/share/man/man1/trueup-gate.1.gz":                                           "trueup\\-gate \\- ",
		"zcat /usr/share/doc/trueup/changelog.gz":                                             "trueup (" + newer + ") stable",
		"cat /usr/share/doc/trueup/NOTICES":                                                   "modernc.org/sqlite v",
		"cat /usr/share/doc/trueup/trueup.cdx.json":                                           "pkg:golang/modernc.org/sqlite@v",
		"cat /usr/share/doc/trueup/trueup-gate.cdx.json":                                      "pkg:golang/github.com/godbus/dbus/v5@v",
		"cat /usr/share/bash-completion/completions/trueup":                                   "complete",
		"ls /usr/share/zsh/vendor-completions /usr/share/trueup/hardening/user":               "api.conf",
		"systemctl is-enabled trueup-check.timer":                                             "enabled",
		"systemctl is-active trueup-check.timer":                                              "active",
		"systemctl start trueup-check.service; systemctl show -P Result trueup-check.service": "success",
		"dpkg -V trueup; echo unchanged":                                                      "unchanged",
	} {
		if out := m.Sh(t, command); !strings.Contains(out, want) {
			t.Errorf("%s says\n%s, want %q in it", command, out, want)
		}
	}
}

// removed removes the package under three adoptions.
func removed(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	system, user := m.System(), m.User()
	m.WriteFile(t, "/etc/trueup/trueup.yaml", hello, 0o644)
	m.Sh(t, "trueup install && trueup touch --unit trueup.service --wait --timeout 1m")
	service(t, user, "own", "")
	user.MustExec(t, "trueup", "adopt", "--user", "own.service")
	user.MustExec(t, "trueup", "alarms", "enable", "--user")
	const away = "/home/web/.config/systemd/user/away.service.d/10-trueup.conf" // of a user whose systemd does not run
	m.WriteFile(t, away, "# trueup: gate=/usr/bin/trueup-gate\n", 0o644)
	service(t, system, "other", "") // of a trueup beside the package's
	m.Sh(t, "cp /usr/bin/trueup /usr/bin/trueup-gate /usr/local/bin && /usr/local/bin/trueup adopt other.service --floor 1s")

	out, err := m.Exec(t.Context(), "sh", "-c", "chattr +i /etc/systemd/system/trueup.path; dpkg -r trueup 2>&1")
	if err == nil || !strings.Contains(out, "\nhint: mend that and remove the package again") {
		t.Errorf("a removal that cannot take a trigger away ends with %v:\n%s", err, out)
	}
	said := m.Sh(t, "chattr -i /etc/systemd/system/trueup.path; dpkg -r trueup 2>&1; rm "+away)
	if !strings.Contains(said, "warning: /home/web: ") || strings.Contains(said, "warning: /home/op: ") {
		t.Errorf("a removal under the service of a user whose systemd does not run says\n%s", said)
	}
	awaitState(t, user, "trueup-check.timer", "inactive/dead")
	gone(t, m, user.UnitDir()+"/timers.target.wants/trueup-check.timer")
	gone(t, m, "/usr/bin/trueup", "/usr/bin/trueup-gate", "/etc/systemd/system/accounts.path", "/etc/systemd/system/trueup.service",
		system.UnitDir()+"/accounts.service.d", user.UnitDir()+"/own.service.d", "/etc/systemd/system/timers.target.wants/trueup-check.timer")
	system.MustSystemctl(t, "start", "accounts.service") // without the gate
	user.MustSystemctl(t, "start", "own.service")
	m.Sh(t, "touch /var/lib/trueup/other/spool/sentinel")
	awaitRuns(t, system, "other", 1)
	m.Sh(t, "/usr/local/bin/trueup alarms enable")
	if said := m.Sh(t, "dpkg -i /root/"+newer+".deb >/dev/null && dpkg -P trueup 2>&1"); !strings.Contains(said, "other.service.d/10-trueup.conf") {
		t.Errorf("a purge beside another trueup says\n%s", said)
	}
	m.Sh(t, "touch /var/lib/trueup/other/spool/sentinel")
	awaitRuns(t, system, "other", 2)
	m.Sh(t, "systemctl is-enabled trueup-check.timer && systemctl is-active trueup-check.timer") // they are the other one's
	m.Sh(t, "trueup alarms disable && trueup unadopt other.service --purge && rm /usr/local/bin/trueup /usr/local/bin/trueup-gate")
	if failed := system.MustSystemctl(t, "list-units", "--plain", "--no-legend", "--state=failed,not-found", "*trueup*", "accounts*"); failed != "" {
		t.Errorf("after the removal systemd still has\n%s", failed)
	}
	m.Sh(t, "test -d /var/lib/trueup/accounts/spool && test -s /var/lib/trueup/trueup/state/ledger.db && test -s /etc/trueup/trueup.yaml")
}

// reinstalled goes on from where it was: the ledger, and the numbers of the claims.
func reinstalled(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	install := "dpkg -i /root/" + newer + ".deb"
	m.Sh(t, install+" && dpkg -r trueup && "+install+" && systemctl is-enabled trueup-check.timer && systemctl is-active trueup-check.timer")
	m.Sh(t, "trueup alarms disable && dpkg -r trueup && "+install+" && ! systemctl is-enabled trueup-check.timer")
	m.Sh(t, "trueup adopt accounts.service --floor 1s && trueup install")
	before := m.Sh(t, "trueup history")
	if !strings.Contains(before, "command:hello") {
		t.Errorf("the ledger was lost: history says %q", before)
	}
	m.Sh(t, "trueup touch --unit accounts.service --wait --timeout 1m")
	if status := m.ReadFile(t, "/var/lib/trueup/accounts/outbox/status.json"); strings.Contains(status, `"claims":1,`) {
		t.Errorf("the numbers of the claims have begun anew: %s", status)
	}
}

// purged leaves nothing that is trueup's, but where the operator led it elsewhere.
func purged(t *testing.T, m *nspawn.Machine) {
	t.Helper()
	m.Sh(t, "dpkg -r trueup; mv /var/lib/trueup-check /srv/alarms; ln -s /srv/alarms /var/lib/trueup-check; mount --bind /var/lib/trueup /var/lib/trueup")
	said := m.Sh(t, "dpkg -P trueup 2>&1")
	m.Sh(t, "umount /var/lib/trueup && rmdir /var/lib/trueup && test -d /srv/alarms && rm /var/lib/trueup-check")
	if !strings.Contains(said, "warning: /var/lib/trueup-check leads to /srv/alarms, which is kept") {
		t.Errorf("a purge beside a link says\n%s", said)
	}
	if left := m.Sh(t, "find / -xdev -name '*trueup*' ! -path '/etc/trueup*' ! -path '/proc/*' ! -path '/home/*' ! -path '*/journald.conf.d/*' ! -path '/var/log/*'"); left != "" {
		t.Errorf("a purge leaves\n%s", left)
	}
	m.Sh(t, "test -s /etc/trueup/trueup.yaml && systemctl start accounts.service")
}
