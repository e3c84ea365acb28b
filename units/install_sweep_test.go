package units_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const trueup = "/usr/local/bin/trueup"

// TestInstalledSweep is the whole way with the real program: a configuration, install, a touch, a target that is true,
// and uninstall. It has the sandbox that install gives when nothing is said.
func TestInstalledSweep(t *testing.T) {
	program := filepath.Join(programs, "trueup")
	each(t, func(t *testing.T, h host) {
		if !h.IsUser() {
			h.Machine().CopyIn(t, program, trueup, 0o755)
		} else {
			h.Machine().CopyIn(t, program, h.Home()+"/bin/trueup", 0o755)
			h.Machine().CopyIn(t, filepath.Join(programs, "trueup-gate"), h.Home()+"/bin/trueup-gate", 0o755)
		}
		s := sweeping{host: h, kept: h.Home() + "/kept"}
		h.WriteUnit(t, "trueup.service.d/05-own.conf", h.container())
		s.configure(t)
		before := h.unitFolders(t)
		s.say(t, "install", "+ "+h.UnitDir()+"/trueup.service\n")
		s.say(t, "install", `"changes": []`, "--json")
		h.verify(t, "trueup.service", "trueup.path", "trueup.timer")

		h.MustExec(t, "touch", h.usual("trueup")+"/spool/sentinel")
		h.eventually(t, "the target is true", func() bool { return h.Sh(t, "ls "+s.kept+" 2>/dev/null || true") != "" })
		h.eventually(t, "the claim is settled", func() bool {
			return strings.Contains(h.read(t, h.usual("trueup")+"/outbox/status.json"), `"settled":1`)
		})
		h.state(t, "trueup.service", "inactive/dead")
		s.say(t, "show", "succeeded   1 change; every write before ")
		s.say(t, "status", "command:kept  ok")
		s.say(t, "touch", ":", "--unit", "trueup.service", "--wait", "--timeout", "1m")
		s.say(t, "doctor", "a request was taken after ", "--round-trip")
		if !h.IsUser() {
			said := h.Sh(t, "journalctl -o cat TRUEUP_TARGET=command:kept")
			if !strings.Contains(said, "command:kept: ok") {
				t.Errorf("the journal of the target says %q", said)
			}
		}
		h.looksAlive(t, "trueup")

		s.say(t, "uninstall", "- ", "--purge")
		h.same(t, before)
		if left := h.Sh(t, "ls -d "+h.usual("trueup")+" 2>/dev/null || true"); left != "" {
			t.Errorf("purge left %s", left)
		}
	})
}

// A sweeping is an operator with one target: a file that has to be there.
type sweeping struct {
	host
	kept string
}

// configure writes the configuration where it is looked for.
func (s sweeping) configure(t *testing.T) {
	t.Helper()
	file := "/etc/trueup/trueup.yaml"
	if s.IsUser() {
		file = s.Home() + "/.config/trueup/trueup.yaml"
	}
	s.Write(t, file, fmt.Sprintf("version: 1\ntrigger: {floor: 1s}\ntargets:\n  - kind: command\n    name: kept\n"+
		"    check: {shell: 'test -e %[1]s || exit 2'}\n    apply: [touch, %[1]s]\n", s.kept), 0o644)
}

// say runs the program and looks for what it is to say.
func (s sweeping) say(t *testing.T, verb, want string, flags ...string) {
	t.Helper()
	argv := append([]string{trueup, verb}, flags...)
	if s.IsUser() {
		argv = append([]string{s.Home() + "/bin/trueup", verb, "--user"}, flags...)
	}
	if out := s.MustExec(t, argv...); !strings.Contains(out, want) {
		t.Errorf("%q says\n%s", argv, out)
	}
}
