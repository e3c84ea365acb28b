package runbook

import "regexp"

// look has trueup-check.service look for alarms now, as its timer does each minute.
const look = "systemctl reset-failed trueup-check.service; systemctl start trueup-check.service; "

const ledger = "/var/lib/trueup/trueup/state/ledger.db"

func ledgerSections() []section {
	return []section{
		{runbook, "Ledger unwritable or damaged", func(s *stage) {
			s.sh("systemctl stop trueup.timer trueup.path trueup.service; mount -t tmpfs -o size=1m tmpfs /mnt; trueup ledger backup /mnt/ledger.db")
			s.write("/etc/trueup/trueup.yaml", own+"state: sqlite:///mnt/ledger.db\n")
			s.sh("trueup install; trueup touch --unit trueup.service --wait --timeout 1m; dd if=/dev/zero of=/mnt/big bs=4k 2>/dev/null || true")
			s.members("gil")
			s.until("the disk is full", "journalctl -u trueup.service -n 20 | grep 'disk is full'")
			s.says(s.run("journalctl"), "the disk is full")
			s.let("LEDGER", "/mnt/ledger.db")
			s.says(s.mention(0, "findmnt -T LEDGER"), "tmpfs")
			s.sh("truncate -s 200k /mnt/big; rm /srv/members/*")
			s.run("trueup ledger prune")
			s.well("trueup")
			s.write("/etc/trueup/trueup.yaml", own)
			s.sh("trueup install; umount /mnt")
			s.well("trueup")
		}},
		{runbook, "Damaged", func(s *stage) {
			s.sh("f=/var/backups/trueup-$(date +%F).db; rm -f $f; trueup ledger backup $f; systemctl stop trueup.timer trueup.path trueup.service; " +
				"dd if=/dev/urandom of=" + ledger + " bs=4096 seek=2 count=3 conv=notrunc 2>/dev/null; systemctl start trueup.path")
			s.asks()
			s.exits(74, "trueup ledger check")
			s.run("systemctl stop")
			s.run("mkdir")
			s.run("find")
			s.run("cp")
			s.run("chown")
			s.run("trueup ledger check")
			s.run("systemctl start")
			s.well("trueup")
			s.let("FILE", "/run/lines")
			s.sh("systemctl stop trueup.timer trueup.path trueup.service")
			s.mention(0, "trueup ledger export FILE")
			s.sh("rm -f " + ledger + " " + ledger + "-*")
			s.mention(0, "trueup ledger import FILE")
			s.sh("systemctl start trueup.timer trueup.path")
			s.well("trueup")
		}},
	}
}

func peopleSections() []section {
	return []section{
		{runbook, "Maintenance", func(s *stage) {
			s.run("trueup pause")
			s.says(s.sees(0, "trueup status"), "a new certificate by hand")
			s.run("trueup resume")
			s.fence(s.run("trueup work start disk"))
			s.run("trueup work checkpoint disk")
			s.run("trueup work done disk")
			s.run("trueup work run restore")
			s.sh("test -e /run/restored; trueup work start disk --scope host:web,command:web --for 1s")
			s.sees(1, "trueup status")
			s.run("trueup work show disk")
			s.fence(s.run("trueup work unblock disk"))
			s.run("trueup work done disk")
			s.says(s.mention(1, "trueup work discard disk"), "error: ")
			s.well("trueup")
		}},
		{runbook, "Alarms", func(s *stage) {
			s.let("NAME", "trueup")
			s.run("trueup alarms enable")
			s.sh("printf 'broken: 1\\n' >>/etc/trueup/trueup.yaml")
			s.asks()
			s.until("it is raised", look+"trueup alarms --list | grep '^failing for'")
			s.sees(0, "trueup alarms --list")
			s.write("/etc/trueup/trueup.yaml", own)
			s.well("trueup")
			s.until("the alarm is over", look+"trueup alarms --list | grep 'no alarm stands'")
			s.run("trueup alarms")
			s.until("its end is told", "journalctl TRUEUP_ALARM=failing | grep 'is over'")
			s.run("journalctl")
			s.mention(0, "sudo trueup alarms disable")
		}},
	}
}

// fence has FENCE stand for the fence that a work item's session was given.
func (s *stage) fence(said string) {
	s.t.Helper()
	m := regexp.MustCompile(`fence +(\d+)`).FindStringSubmatch(said)
	if s.m == nil {
		return
	}
	if m == nil {
		s.t.Fatalf("no fence is said in\n%s", said)
	}
	s.let("FENCE", m[1])
}
