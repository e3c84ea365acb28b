package runbook

import (
	"fmt"
	"os/exec"
	"strings"
)

func triggerSections() []section {
	return []section{
		{runbook, "Nothing happens on touch", nothingHappens},
		{runbook, "Path failed", pathFailed},
		{runbook, "Spool mounted over or replaced", func(s *stage) {
			s.sh("mount -t tmpfs -o uid=1000,gid=2000,mode=2770 tmpfs SPOOL; mkdir -m 2770 SPOOL/requests; chown op:web SPOOL/requests")
			s.sees(1, "trueup status")
			s.says(s.run("findmnt"), "SPOOL tmpfs")
			s.run("systemctl restart NAME.path")
			s.well("app")
			s.sh("trueup touch --unit NAME --wait --timeout 1m; systemctl stop NAME.service; umount SPOOL; systemctl restart NAME.path")
		}},
		{runbook, "Service activating", func(s *stage) {
			s.sh("trueup touch --unit NAME --wait --timeout 1m; trueup adopt NAME.service --floor 30s; trueup touch --unit NAME")
			s.says(s.sees(0, "systemctl show -p StatusText"), "floor")
			s.sees(0, "systemctl show -p SubState")
			if failed := s.mention(0, "systemctl --failed"); strings.Contains(failed, "app.service") {
				s.t.Errorf("a unit that waits counts as failed:\n%s", failed)
			}
			s.sh("trueup adopt NAME.service --floor 1s")
			s.well("app")
		}},
		{runbook, "Drifted", func(s *stage) {
			s.write("/etc/systemd/system/NAME.service.d/09-own.conf", "[Service]\nExecStartPre=/bin/true\n")
			s.sh("systemctl daemon-reload")
			s.sees(1, "trueup status")
			s.run("trueup adopt")
			s.well("app")
		}},
		{runbook, "No timer", func(s *stage) {
			s.sh("systemctl stop NAME.timer")
			s.sees(1, "trueup status")
			s.run("systemctl enable")
			s.well("app")
			s.sh("systemctl disable --now NAME.timer")
			s.until("it is said", "trueup status --unit NAME | grep '^no timer: nothing heals'")
			s.run("trueup adopt")
			s.well("app")
		}},
		{runbook, "The run fails", func(s *stage) {
			s.breaks()
			s.sees(1, "trueup status")
			s.says(s.run("journalctl"), "NAME.service: Failed with result 'exit-code'")
			s.mends()
			s.run("trueup touch")
			s.well("app")
			s.breaks()
			s.until("a claim stands", "test -e STATE/claim")
			s.run("systemctl disable")
			s.run("systemctl stop")
			s.run("rm STATE/claim")
			s.mends()
			s.sh("systemctl enable --now NAME.path")
			s.well("app")
		}},
		{runbook, "Run hangs", func(s *stage) {
			s.write("/etc/systemd/system/NAME.service.d/50-hang.conf", "[Service]\nTimeoutStartSec=infinity\nExecStart=\nExecStart=/bin/sleep infinity\n")
			s.sh("systemctl daemon-reload; trueup touch --unit NAME")
			s.until("it hangs", "systemctl show -p SubState NAME.service | grep -x SubState=start")
			s.run("mkdir -p")
			s.run("printf")
			s.sh("rm /etc/systemd/system/NAME.service.d/50-hang.conf") // the cause is mended
			s.run("systemctl daemon-reload")
			s.run("systemctl stop")
			s.run("systemctl show")
			s.until("it has run again", "test ! -e STATE/claim")
			s.well("app")
		}},
		{runbook, "State folder full, read-only, or lost", func(s *stage) {
			s.sh("mount -t tmpfs -o size=64k,uid=1000,gid=1000,mode=700 tmpfs STATE; dd if=/dev/zero of=STATE/big bs=4k 2>/dev/null || true; trueup touch --unit NAME")
			s.sees(1, "trueup status")
			s.run("df")
			s.says(s.mention(0, "findmnt -T STATE"), "tmpfs")
			s.sh("rm STATE/big")
			s.well("app")
			s.sh("systemctl stop NAME.path NAME.service; umount STATE; rm -r STATE")
			s.run("trueup adopt")
			s.sh("trueup touch --unit NAME --wait --timeout 1m")
			s.well("app")
		}},
		{runbook, "The spool cannot be emptied", func(s *stage) {
			s.sh("touch SPOOL/sentinel; chattr +i SPOOL/sentinel")
			s.sees(1, "trueup status")
			s.says(s.run("lsattr"), "----i---")
			s.run("chattr -i")
			s.well("app")
			const cannot = "trueup status --unit NAME | grep '^the spool cannot be emptied'"
			s.sh("chown root:web SPOOL; chmod 1777 SPOOL; touch SPOOL/sentinel")
			s.until("a sticky folder is seen", cannot)
			s.run("chmod -t")
			s.sh("chown op:web SPOOL; chmod 2770 SPOOL")
			s.well("app")
			s.sh("chmod 0550 SPOOL; touch SPOOL/sentinel")
			s.until("a folder that cannot be written is seen", cannot)
			s.run("chmod u+w")
			s.until("it is emptied", "test ! -e SPOOL/sentinel")
			s.well("app")
		}},
		{runbook, "Spool not writable", func(s *stage) {
			s.sh("chgrp op SPOOL SPOOL/requests; chmod 0750 SPOOL SPOOL/requests")
			s.run("trueup adopt")
			s.run("stat")
			s.run("setfacl")
			s.says(s.sh("getfacl -cn SPOOL"), "user:100999:rwx")
			s.sh("setfacl -b SPOOL SPOOL/requests")
		}},
		{runbook, "SELinux", func(s *stage) {
			for _, command := range []string{"semanage", "semanage", "restorecon", "ausearch"} {
				s.pass(command, "no SELinux in the machine")
			}
		}},
		{runbook, "AppArmor", func(s *stage) { s.pass("journalctl -k", "no kernel's log in a container") }},
		{runbook, "Lost linger", lostLinger},
	}
}

func nothingHappens(s *stage) {
	s.says(s.run("trueup doctor --unit NAME --round-trip"), "a request was taken after")
	s.sh("systemctl disable --now NAME.path; touch SPOOL/sentinel")
	s.says(s.exits(3, "systemctl status"), "inactive (dead)")
	s.says(s.run("ls -la"), "sentinel")
	s.says(s.run("findmnt"), "overlay")
	s.says(s.run("systemctl cat"), "PathExists=SPOOL/sentinel")
	s.sh("systemctl enable --now NAME.path")
	s.run("trueup touch")
	s.well("app")
}

func pathFailed(s *stage) {
	s.sh("trueup adopt NAME.service --floor 30s; mv /usr/bin/trueup-gate /run/gate; touch SPOOL/sentinel")
	s.sees(1, "trueup status")
	s.says(s.run("systemctl show"), "Result=unit-start-limit-hit")
	s.says(s.run("journalctl"), "Start request repeated too quickly")
	s.says(s.run("systemctl cat"), "/usr/bin/trueup-gate claim")
	s.sh("mv /run/gate /usr/bin/trueup-gate")
	s.run("trueup-gate --version")
	s.run("systemctl reset-failed")
	s.sh("trueup adopt NAME.service --floor 1s")
	s.well("app")
	s.sh("ln -s sentinel SPOOL/sentinel")
	s.until("the path dies of a link", "systemctl show -p Result NAME.path | grep -x Result=resources")
	s.run("systemctl start --no-block")
	s.until("the path is alive again", "systemctl is-active NAME.path")
	s.well("app")
}

func lostLinger(s *stage) {
	s.write("/home/op/.config/systemd/user/NAME.service", "[Service]\nType=oneshot\nExecStart=/bin/true\nTimeoutStartSec=60\n")
	s.sh("chown -R op: /home/op")
	s.as("op", "systemctl --user daemon-reload; trueup adopt --user NAME.service")
	s.logged = true
	s.sh("loginctl disable-linger op")
	s.until("the manager has ended", "! systemctl is-active user@1000.service")
	s.run("ls /var/lib/systemd/linger")
	s.run("loginctl enable-linger")
	s.run("ls /var/lib/systemd/linger")
	s.user, s.logged = "op", false
	s.sees(0, "trueup status --user")
	s.run("trueup touch --user")
	s.says(s.mention(0, "trueup doctor --user"), "linger")
}

// inotifyExhausted is played where the machine has limits of its own.
func inotifyExhausted() section {
	return section{runbook, "inotify exhausted", func(s *stage) {
		s.instances("0")
		s.sh("touch SPOOL/sentinel")
		s.until("the path dies", "systemctl show -p Result NAME.path | grep -x Result=resources")
		s.run("sysctl fs.inotify")
		s.pass("sysctl -w", "a container may not; it is given room from outside")
		s.instances("1024")
		s.run("systemctl reset-failed")
		s.well("accounts")
		s.run("printf")
	}}
}

// instances sets how many inotify instances the machine's processes may have.
func (s *stage) instances(limit string) {
	s.t.Helper()
	if s.m == nil {
		return
	}
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(s.m.Leader()), "-U", "--", "sh", "-c",
		"echo "+limit+" >/proc/sys/user/max_inotify_instances").CombinedOutput()
	if err != nil {
		s.t.Fatalf("setting the limit: %v\n%s", err, out)
	}
}
