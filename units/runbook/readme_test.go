package runbook

import (
	"os"
	"path/filepath"
	"strings"
)

func readmeWords() map[string]string {
	return map[string]string{"NAME": "accounts", "SPOOL": "/var/lib/trueup/accounts/spool"}
}

func readmeSections() []section {
	return []section{
		{readme, "The two commands", func(s *stage) {
			s.pass("make demo", "the scripts of cmd/trueup run the demo")
			s.pass("make test", "this is part of it")
		}},
		{readme, "From web app to host, in four steps", fourSteps},
		{readme, "The reconciler: what has to be so, in one file", oneFile},
		{readme, "Is it well?", isItWell},
		{readme, "Backing out", func(s *stage) {
			s.run("systemctl disable --now accounts.path")
			s.run("systemctl stop accounts.service")
			s.sh("touch /var/lib/trueup/accounts/spool/sentinel")
			s.run("systemctl enable --now accounts.path")
			s.until("the touch is taken", "test ! -e /var/lib/trueup/accounts/spool/sentinel")
			s.well("accounts")
		}},
		inotifyExhausted(),
		{readme, "Uninstall", func(s *stage) {
			s.run("sudo trueup unadopt accounts.service ")
			s.sh("test -d /var/lib/trueup/accounts/spool; trueup adopt accounts.service")
			s.run("sudo trueup unadopt accounts.service --purge")
			s.sh("test ! -e /var/lib/trueup/accounts/spool; trueup uninstall --purge")
			s.host("sudo make uninstall", s.makes()...)
			s.sh("test ! -e /usr/local/bin/trueup; systemctl start accounts.service")
		}},
	}
}

// makes is what has make install its programs into the machine.
func (s *stage) makes() []string {
	if s.m == nil {
		return nil
	}
	return []string{"DESTDIR=" + s.m.Dir, "OUT=" + filepath.Dir(s.deb) + "/made/"}
}

func fourSteps(s *stage) {
	s.write("/etc/systemd/system/accounts.service", s.part.files["ini"])
	s.sh("printf '#!/bin/sh\\ntest ! -e /run/broken\\n' >/usr/local/bin/sync-accounts; chmod +x /usr/local/bin/sync-accounts; systemctl daemon-reload")
	s.host("make build && sudo make install", s.makes()...)
	s.run("sudo trueup adopt accounts.service --web-group web")
	s.pass("podman run", "there is no podman in the machine; what it mounts is mounted for the next two")
	s.container("# 1. the database transaction is committed", "/var/lib/trueup/accounts")
	s.until("the touch is taken", `grep -q '"settled":1,' /var/lib/trueup/accounts/outbox/status.json`)
	s.container("trueup touch --spool /spool --outbox /outbox --wait", "/var/lib/trueup/accounts")
	s.sh("trueup adopt accounts.service --floor 1s")
	s.container("trueup touch --wait", "/var/lib/trueup/accounts", "TRUEUP_SPOOL=/spool", "TRUEUP_OUTBOX=/outbox")
}

func oneFile(s *stage) {
	const file = "docs/examples/hello/trueup.yaml"
	example, err := os.ReadFile("../../" + file)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(example), s.part.files["yaml"]) {
		s.t.Errorf("the page shows another file than %s:\n%s", file, example)
	}
	s.write(sources+"/"+file, string(example))
	s.host("make build && sudo make install", s.makes()...)
	s.run("sudo install -Dm644 " + file)
	s.run("sudo trueup touch --unit trueup.service --wait && sudo trueup show")
	s.sh("grep -x 'trued up' /etc/motd")
	s.says(s.mention(0, "trueup history"), "command:motd")
	s.let("FILE", "/root/copy.db")
	s.mention(0, "trueup ledger backup FILE")
	s.says(s.mention(0, "journalctl TRUEUP_UNIT=accounts.service"), "claim 1 settled")
}

func isItWell(s *stage) {
	s.sees(0, "trueup status --unit accounts.service")
	s.sh("touch /run/broken; trueup touch --unit accounts.service")
	s.sees(1, "trueup status --unit accounts.service")
	s.sh("rm /run/broken")
	s.well("accounts")
}
