package role

import (
	"os"
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// releases are the systems that the role is for.
var releases = []nspawn.Version{nspawn.V252, nspawn.V257}

// each runs f on a machine of each release.
func each(t *testing.T, f func(t *testing.T, v nspawn.Version, m *nspawn.Machine)) {
	t.Helper()
	t.Parallel()
	if _, err := nspawn.EnsureRoots(releases...); err != nil {
		t.Fatal(err)
	}
	for _, v := range releases {
		t.Run("systemd-"+v.String(), func(t *testing.T) {
			t.Parallel()
			f(t, v, nspawn.Boot(t, v))
		})
	}
}

func proving() bool { return os.Getenv("TRUEUP_PROVE") == "1" }

// A flavour is a way to have trueup, and an account that has it.
type flavour struct {
	name    string
	account string // its units and files are this account's
	home    string
	state   string // the folder with spool, state and outbox
	args    arguments
	conns   string // how the controller comes in, as more variables of the inventory
}

// The app is a web app as user 33 of its container. The user's is a new account, whose container is op's.
func flavours() map[nspawn.Version]flavour {
	system := flavour{name: "system", account: "root", home: "/root", state: "/var/lib/trueup/trueup", args: arguments{
		"trueup_web_group": "app", "trueup_web_gid": 2033}, conns: ", ansible_user: root"}
	user := flavour{name: "user", account: "app", home: "/home/app", state: "/home/app/.local/state/trueup/trueup", args: arguments{
		"trueup_scope": "user", "trueup_user": "app", "trueup_web_uid": 33, "trueup_web_container_user": "op"},
		conns: ", ansible_user: deploy"}
	return map[nspawn.Version]flavour{nspawn.V252: system, nspawn.V257: user}
}

// TestRole is what an operator does with a host over the years.
// It answers USR-01, USR-02, USR-03, USR-07, USR-11, CTR-02, CTR-09 and CTR-10.
func TestRole(t *testing.T) {
	each(t, func(t *testing.T, v nspawn.Version, m *nspawn.Machine) {
		for at, f := range flavours() {
			if at == v || proving() {
				t.Run(f.name, func(t *testing.T) { newStory(t, m, f).tell(t) })
			}
		}
	})
}

// A story is one flavour on one machine.
type story struct {
	*controller
	flavour
}

func newStory(t *testing.T, m *nspawn.Machine, f flavour) story {
	t.Helper()
	s := story{newController(t, m, f.conns), f}
	m.Sh(t, `id deploy 2>/dev/null || { useradd -m deploy; echo 'deploy ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/deploy; }`)
	m.WriteFile(t, "/etc/systemd/user/trueup.service.d/05-container.conf", "[Service]\nProtectKernelLogs=no\n", 0o644) // fails in nspawn alone
	s.args = s.args.with(s.programs(t, "v1")).with(arguments{
		"trueup_credentials":   []arguments{{"name": "token", "content": secret}},
		"trueup_alarms_config": arguments{"version": 1, "command": []string{"/bin/true"}},
		"trueup_config": arguments{"version": 1, "trigger": arguments{"floor": "1s"}, "targets": []arguments{{
			"kind": "command", "name": "kept", "check": arguments{"shell": "test -e " + f.home + "/kept || exit 2"},
			"apply": arguments{"shell": `cp "$CREDENTIALS_DIRECTORY/token" ` + f.home + "/kept"}}}},
	})
	return s
}

func (s story) tell(t *testing.T) {
	clean := s.picture(t)
	s.refuses(t, arguments{"trueup_state": "gone", "trueup_credentials": []arguments{{"name": "token"}}},
		"value of trueup_state must be one of", "missing required arguments: content found in trueup_credentials")
	if r := s.play(t, "install", s.args, "--check", "--diff"); r.changed == 0 {
		t.Errorf("a check before the first play finds nothing to do:\n%s", r.said)
	}
	s.same(t, clean, "a check")

	s.play(t, "install", s.args)
	s.works(t)
	s.quiet(t, "install")
	s.quiet(t, "install", "--check", "--diff")
	spool := s.inode(t)

	s.args = s.args.with(s.programs(t, "v2"))
	if r := s.play(t, "install", s.args); r.changed != 1 || !strings.HasPrefix(s.trueup(t, "version"), "trueup v2 ") {
		t.Errorf("an upgrade changed %d, and made it %q", r.changed, s.trueup(t, "version"))
	}

	s.play(t, "backout", s.args)
	s.isPath(t, "disabled")
	ticket := strings.TrimSpace(s.touch(t))
	s.play(t, "return", s.args)
	s.trueup(t, "wait", "--unit", "trueup.service", "--timeout", "1m", ticket)
	s.works(t)
	if now := s.inode(t); now != spool {
		t.Errorf("the spool was folder %s, and is folder %s: containers still have the former", spool, now)
	}

	s.play(t, "uninstall", s.args.with(arguments{"trueup_purge": true, "trueup_uninstall_programs": true}))
	s.m.Sh(t, "rm -f "+s.home+"/kept")
	s.same(t, clean, "uninstalling")
}
