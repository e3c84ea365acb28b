package runbook

// own is the configuration of trueup's own service. Its targets are in trouble while files are there: one that fails, one that
// cannot be read, one with members to remove.
const own = `version: 1
trigger: {floor: 1s}
targets:
- kind: command
  name: web
  check: {shell: "test ! -e /run/dark || exit 1; test ! -e /run/bad || exit 2"}
  apply: {shell: "echo applying; test ! -e /run/bad"}
- kind: command
  name: accounts
  plan: {shell: "for m in $(ls /srv/members); do echo '{\"id\":\"'$m'\",\"op\":\"-\",\"text\":\"member '$m'\"}'; done"}
  apply: {shell: "rm /srv/members/$TRUEUP_CHANGE"}
`

// asks has trueup's own service run.
func (s *stage) asks() { s.sh("trueup touch --unit trueup.service") }

// last has RUN stand for the last run of a target.
func (s *stage) last(target string) {
	s.let("RUN", s.sh("trueup history | grep -m1 "+target+" | sed 's/ .*//'"))
}

// members has so many members, and one with that name, that their removal waits for a person.
func (s *stage) members(name string) {
	s.sh("cd /srv/members; touch ada bob cy dan eve fay " + name)
	s.asks()
}

func ownSections() []section {
	return []section{
		{runbook, "Install trueup's own service", func(s *stage) {
			s.packaged()
			s.sh("apt-get install -y ./trueup_VERSION_amd64.deb; mkdir -p /srv/members")
			s.write("/etc/trueup/trueup.yaml", own)
			s.run("trueup check")
			s.run("trueup install --web-group GROUP --dry-run")
			s.sh("test ! -e /etc/systemd/system/trueup.service")
			s.run("trueup install --web-group GROUP")
			s.sh("trueup touch --unit trueup.service --wait --timeout 1m")
		}},
		{runbook, "Several units on a host", func(s *stage) {
			s.let("OTHER", "second")
			s.write("/etc/trueup/second.yaml", "version: 1\ntargets:\n- {kind: command, name: none, check: ['true'], apply: ['true']}\n")
			s.run("trueup install --name OTHER")
			s.says(s.sees(0, "trueup status"), "trueup.service", "trueup-second.service")
			s.sees(0, "trueup status --name OTHER")
			s.run("trueup uninstall --name OTHER")
			s.sh("test ! -e /etc/systemd/system/trueup-second.service")
		}},
		{runbook, "Move the ledger", func(s *stage) {
			s.run("systemctl stop")
			s.run("mkdir -p")
			s.run("trueup ledger backup /srv")
			s.run("echo 'state:")
			s.run("trueup install")
			s.run("systemctl start")
			s.run("trueup ledger check")
			s.run("trueup touch")
			s.run("trueup ledger backup /var/backups")
			s.well("trueup")
			s.write("/etc/trueup/trueup.yaml", own)
			s.sh("trueup install")
		}},
	}
}

func targetSections() []section {
	return []section{
		{runbook, "Target held", func(s *stage) {
			s.members("gil")
			s.sees(1, "trueup status")
			s.last("command:accounts")
			s.run("trueup show")
			s.run("trueup approve")
			s.until("they are removed", "test -z \"$(ls /srv/members)\"")
			s.well("trueup")
			s.members("hal")
			s.until("another run holds them", "trueup status --unit trueup.service | grep '^held' | grep -v RUN")
			s.last("command:accounts")
			s.run("trueup reject")
			s.well("trueup")
			s.sh("test -e /srv/members/ada; rm /srv/members/*")
			s.says(s.run("journalctl MESSAGE_ID"), "command:accounts: held: 7 removals")
		}},
		{runbook, "Target failing", func(s *stage) {
			s.sh("touch /run/bad")
			s.asks()
			s.sees(1, "trueup status")
			s.last("command:web")
			s.run("trueup show")
			s.sh("rm /run/bad")
			s.says(s.run("trueup logs"), "applying")
			s.says(s.run("journalctl TRUEUP_TARGET"), "command:web: failing")
			s.sees(0, "trueup tick")
			s.well("trueup")
		}},
		{runbook, "Target unknown", func(s *stage) {
			s.sh("touch /run/dark")
			s.says(s.exits(1, "trueup plan"), "check exited with 1")
			s.sh("rm /run/dark; trueup plan command:web")
		}},
		{runbook, "Target elsewhere", func(s *stage) {
			s.fence(s.sh("trueup work start disk --scope command:web --for 1h"))
			s.asks()
			s.says(s.sees(0, "trueup status"), "disk")
			s.says(s.run("trueup work list"), "disk", "command:web")
			s.pass("sqlite3", "the machine has none; the scripts of cmd/trueup ask the view")
			s.sh("trueup work done disk --fence FENCE")
			s.well("trueup")
		}},
		{runbook, "A target nobody ticks", func(s *stage) {
			s.sh("trueup touch --unit trueup.service command:nobody")
			s.says(s.run("trueup check"), "2 targets")
			s.says(s.run("trueup config show"), "name: accounts")
			s.says(s.run("systemctl list-timers"), "trueup.timer")
			s.until("it is told", "journalctl MESSAGE_ID=1d3b5f7a9c0e4826b4d6f8a0c2e41597 | grep command:nobody")
			s.says(s.run("journalctl"), "command:nobody")
		}},
		{runbook, "The configuration is broken", func(s *stage) {
			s.write("/etc/trueup/trueup.yaml", own+"  chekc: ['true']\n")
			s.asks()
			s.sees(1, "trueup status")
			s.says(s.exits(78, "trueup check"), `did you mean "check"?`)
			s.write("/etc/trueup/trueup.yaml", own)
			s.well("trueup")
		}},
	}
}
