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
		h.WriteUnit(t, "trueup-two.service.d/05-own.conf", h.container())
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
		s.page(t)
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
		s.elsewhere(t)
		s.twice(t)

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
	s.Write(t, s.file(), s.configuration(""), 0o644)
}

// file is where the configuration is looked for.
func (s sweeping) file() string {
	if s.IsUser() {
		return s.Home() + "/.config/trueup/trueup.yaml"
	}
	return "/etc/trueup/trueup.yaml"
}

// configuration is that of the one target, with further keys.
func (s sweeping) configuration(more string) string {
	return fmt.Sprintf("version: 1\n%strigger: {floor: 1s}\ntargets:\n  - kind: command\n    name: kept\n"+
		"    check: {shell: 'test -e %[2]s || exit 2'}\n    apply: [touch, %[2]s]\n", more, s.kept)
}

// page shows that the sweep has written its page as everything is now that it is over, and could ask systemd from its sandbox.
func (s sweeping) page(t *testing.T) {
	t.Helper()
	page := s.read(t, s.usual("trueup")+"/report/index.html")
	for _, want := range []string{"All well; everything written before ", "waiting: touches are heard", "by trueup.timer", "command:kept"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page\n%s", want, page)
		}
	}
}

// elsewhere shows that nobody ticks the service's target under leases of another ledger.
func (s sweeping) elsewhere(t *testing.T) {
	t.Helper()
	dir := s.Home() + "/other"
	s.MustExec(t, "mkdir", "-m700", dir)
	s.Write(t, dir+"/trueup.yaml", s.configuration("state: sqlite://"+dir+"/ledger.db\n"), 0o644)
	s.say(t, "sweep", `"command:kept"`, "-c", dir+"/trueup.yaml", "--json") // which makes that ledger
	said := s.Sh(t, s.command("tick")+" -c "+dir+"/trueup.yaml command:kept 2>&1 || echo exit $?")
	if !strings.Contains(said, "error: command:kept is kept in another ledger by the installed service") || !strings.Contains(said, "\nexit 69") {
		t.Errorf("tick in another ledger says\n%s", said)
	}
	s.say(t, "tick", "command:kept", "-c", dir+"/trueup.yaml", "--unsafe-local-lease", "command:kept")
}

// twice installs the same configuration under another name: verbs find it by that name alone, and doctor warns of two
// ledgers for the same scopes.
func (s sweeping) twice(t *testing.T) {
	t.Helper()
	file := s.file()
	s.say(t, "install", "trueup-two.path", "--name", "two", "-c", file, "--no-start")
	s.say(t, "check", "well formed: 1 target", "--name", "two")
	s.say(t, "doctor", "trueup-two.service ("+file+") keeps command:kept too, in another ledger: ", "--unit", "trueup.service")
	s.say(t, "uninstall", "- ", "--name", "two", "--purge")
}

// command is a verb of the program, for the host's manager.
func (s sweeping) command(verb string) string {
	if s.IsUser() {
		return s.Home() + "/bin/trueup " + verb + " --user"
	}
	return trueup + " " + verb
}

// say runs the program and looks for what it is to say.
func (s sweeping) say(t *testing.T, verb, want string, flags ...string) {
	t.Helper()
	argv := append(strings.Fields(s.command(verb)), flags...)
	if out := s.MustExec(t, argv...); !strings.Contains(out, want) {
		t.Errorf("%q says\n%s", argv, out)
	}
}
