package runbook

import "fmt"

func runbookWords() map[string]string {
	return map[string]string{"NAME": "app", "GROUP": "web", "USER": "op", "VERSION": version, "OTHER": "1.1.0", "TARGET": "command:web",
		"SPOOL": "/var/lib/trueup/app/spool", "STATE": "/var/lib/trueup/app/state", "OUTBOX": "/var/lib/trueup/app/outbox"}
}

// app is the service that is adopted.
const app = `[Service]
Type=oneshot
User=op
ExecStart=/bin/sh -c 'test ! -e /run/broken'
TimeoutStartSec=60
`

// well wants what was wrong with a unit to be over: no person is needed, and no alarm stands.
func (s *stage) well(unit string) {
	s.t.Helper()
	s.until(unit+" is well", look+"trueup status --unit "+unit+".service")
}

// breaks has the unit's runs fail.
func (s *stage) breaks() { s.sh("touch /run/broken; trueup touch --unit NAME") }

// mends ends that.
func (s *stage) mends() { s.sh("rm -f /run/broken") }

// packaged puts the package where it is typed.
func (s *stage) packaged() {
	if s.m != nil {
		s.m.CopyIn(s.t, s.deb, fmt.Sprintf("%s/trueup_%s_amd64.deb", sources, version), 0o644)
	}
}

func beginSections() []section {
	return []section{
		{runbook, "Packages", func(s *stage) {
			s.packaged()
			s.run("apt-get install")
			s.run("trueup version")
			s.run("systemctl is-active trueup-check.timer")
		}},
		{runbook, "Fedora and RHEL", func(s *stage) {
			s.pass("dnf install", "no Fedora is booted; units/packages installs the .rpm with rpm")
			s.pass("restorecon", "no SELinux in the machine")
		}},
		{runbook, "Ansible", func(s *stage) { s.pass("ansible-playbook", "units/role plays it") }},
		{runbook, "Adopt", func(s *stage) {
			s.write("/etc/systemd/system/NAME.service", app)
			s.sh("systemctl daemon-reload")
			s.run("trueup adopt NAME.service --web-group GROUP --dry-run")
			s.sh("test ! -e /etc/systemd/system/NAME.path")
			s.run("trueup adopt NAME.service --web-group GROUP")
		}},
		{runbook, "First touch", func(s *stage) {
			s.run("trueup touch --unit NAME --wait")
			s.sees(0, "trueup status")
			s.sh("trueup adopt NAME.service --floor 1s") // what follows need not wait for half a minute
		}},
		{runbook, "Runbook", func(s *stage) {
			s.sees(0, "trueup status")
			s.says(s.run("trueup doctor"), "nothing is wrong")
			s.says(s.run("journalctl"), "Finished NAME.service") // lines of what ends in a moment may be missing
			s.says(s.mention(0, "journalctl TRUEUP_UNIT=NAME.service"), "claim 1 settled")
			s.mention(0, "systemctl list-timers NAME.timer")
		}},
		{runbook, "Harden the service", func(s *stage) {
			s.run("mkdir -p")
			s.run("trueup hardening api")
			s.run("systemctl daemon-reload")
			s.run("trueup adopt")
			s.says(s.run("systemd-analyze security"), "Overall exposure level for NAME.service: 1.")
			s.run("trueup touch")
			s.says(s.mention(0, "trueup hardening api --user"), "PrivateUsers=yes")
			s.sh("rm /etc/systemd/system/NAME.service.d/05-hardening.conf; systemctl daemon-reload; trueup adopt NAME.service")
		}},
		{runbook, "Upgrade", func(s *stage) {
			s.sh("dpkg-deb -R trueup_VERSION_amd64.deb /run/other; sed -i s/^Version:.*/Version:OTHER/ /run/other/DEBIAN/control; " +
				"dpkg-deb -Znone -b /run/other trueup_OTHER_amd64.deb; rm -r /run/other")
			s.run("apt-get install")
			s.says(s.sh("dpkg-query -W trueup"), "OTHER")
			s.run("trueup heal")
			s.sees(0, "trueup status")
		}},
		{runbook, "Moving a container or its folders", func(s *stage) {
			s.run("trueup adopt NAME.service --spool")
			s.sh("trueup touch --spool /srv/NAME/spool --outbox /srv/NAME/outbox --wait --timeout 1m")
			s.sh("trueup adopt NAME.service --spool SPOOL --outbox OUTBOX")
			s.well("app")
		}},
		{runbook, "Back out", func(s *stage) {
			s.run("systemctl disable --now NAME.path")
			s.run("systemctl stop NAME.service")
			s.sees(0, "trueup status")
			s.mention(0, "systemctl reset-failed NAME.service")
			s.run("systemctl disable --now NAME.timer")
			s.sh("touch SPOOL/sentinel")
		}},
		{runbook, "Come back", func(s *stage) {
			s.sh("test -e SPOOL/sentinel")
			s.run("systemctl enable --now NAME.timer NAME.path")
			s.until("the touch is taken", "test ! -e SPOOL/sentinel")
			s.well("app")
		}},
	}
}

func endSections() []section {
	return []section{
		{runbook, "Take trueup away", func(s *stage) {
			s.write("/etc/trueup/trueup.yaml", own)
			s.sh("trueup install")
			s.run("trueup unadopt")
			s.run("trueup uninstall")
			s.sh("test ! -e /etc/systemd/system/NAME.path; test ! -e /etc/systemd/system/trueup.service; systemctl start NAME.service")
			s.run("apt-get remove")
			s.sh("test ! -e /usr/bin/trueup; test -d STATE")
			s.run("apt-get purge")
			s.sh("test ! -e STATE; test -e /etc/trueup/trueup.yaml")
		}},
	}
}
