package role

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// refuses plays with arguments that cannot be, and looks that no task ran.
func (s story) refuses(t *testing.T, more arguments, wants ...string) {
	t.Helper()
	r, err := s.try(t, "install", s.args.with(more))
	if err == nil || r.ok > 0 || r.changed > 0 || r.failed != 1 {
		t.Errorf("%v was not refused before any task: %v\n%s", more, err, r.said)
	}
	for _, want := range wants {
		if !strings.Contains(r.said, want) {
			t.Errorf("refusing %v, it does not say %q:\n%s", more, want, r.said)
		}
	}
}

// quiet plays what has nothing left to change.
func (s story) quiet(t *testing.T, playbook string, flags ...string) {
	t.Helper()
	if r := s.play(t, playbook, s.args, flags...); r.changed != 0 {
		t.Errorf("%s %q, again, changes something:\n%s", playbook, flags, r.said)
	}
}

// picture is all that the role may change, but for accounts, which it leaves.
func (s story) picture(t *testing.T) []string {
	t.Helper()
	text := s.m.Sh(t, `cd /; find etc usr var/lib/trueup var/cache home root \( -name .ansible -o -name __pycache__ \) -prune -o \
		-not -regex 'home/app\(/\.\(bash_logout\|bashrc\|profile\|config\|config/systemd\|config/systemd/user\|local\|local/state\)\)?' \
		-not -name '*passwd*' -not -name '*shadow*' -not -name '*group*' -not -name 'subuid*' -not -name 'subgid*' \
		-printf '%p %y %m %u %l\n' 2>/dev/null | sort`)
	return strings.Split(text, "\n")
}

// same looks that the machine is as it was.
func (s story) same(t *testing.T, before []string, after string) {
	t.Helper()
	now := s.picture(t)
	for _, line := range now {
		if !slices.Contains(before, line) {
			t.Errorf("after %s there is %s", after, line)
		}
	}
	for _, line := range before {
		if !slices.Contains(now, line) {
			t.Errorf("after %s there is no more %s", after, line)
		}
	}
}

// trueup runs the program as the account whose service it is.
func (s story) trueup(t *testing.T, verb string, args ...string) string {
	t.Helper()
	argv := []string{"/usr/local/bin/trueup", verb}
	if s.account != "root" && verb != "version" {
		argv = append(argv, "--user")
	}
	return s.m.As(s.account).MustExec(t, append(argv, args...)...)
}

func (s story) isPath(t *testing.T, want string) {
	t.Helper()
	var status struct {
		Trigger struct{ Path, NextSweep string }
	}
	if err := json.Unmarshal([]byte(s.trueup(t, "status", "--json", "--unit", "trueup.service")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Trigger.Path != want {
		t.Errorf("the path is %s, want %s", status.Trigger.Path, want)
	}
}

// touch asks as the web app: from the user, or the group, that its container's process has on the host.
func (s story) touch(t *testing.T) string {
	t.Helper()
	who := "--reuid=65534 --regid=2033 --clear-groups"
	if s.account != "root" { // user 33 of op's containers
		start := strings.Split(s.m.Sh(t, "grep ^op: /etc/subuid"), ":")[1]
		who = "--reuid=$((" + start + "+32)) --regid=65534 --clear-groups"
	}
	// The container has the two folders mounted, whatever is above them on the host.
	return s.m.Sh(t, fmt.Sprintf(`exec unshare -m bash -euc 'mkdir -p /mnt/spool /mnt/outbox
		mount --bind %[1]s/spool /mnt/spool; mount --bind %[1]s/outbox /mnt/outbox
		exec setpriv %[2]s /usr/local/bin/trueup touch --spool /mnt/spool --outbox /mnt/outbox'`, s.state, who))
}

// inode is which folder the spool is.
func (s story) inode(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(s.m.Sh(t, "stat -c %i "+s.state+"/spool"))
}

// works touches, and waits for what the sweep is to do.
func (s story) works(t *testing.T) {
	t.Helper()
	s.m.Sh(t, "rm -f "+s.home+"/kept")
	s.trueup(t, "wait", "--unit", "trueup.service", "--timeout", "1m", strings.TrimSpace(s.touch(t)))
	if got := s.m.Sh(t, "cat "+s.home+"/kept"); got != secret {
		t.Errorf("after a touch the target has %q, want the credential", got)
	}
	if others := s.m.Sh(t, "find "+s.state+"/spool -type d -perm /002"); others != "" {
		t.Errorf("anybody may write %s", others)
	}
}
