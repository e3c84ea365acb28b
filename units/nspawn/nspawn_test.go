package nspawn_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/units/nspawn"
)

// soon is long enough for anything that takes a moment, also on a busy host.
const soon = 20 * time.Second

// TestMachine boots one machine for each version and shows everything on it.
func TestMachine(t *testing.T) {
	nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
		t.Logf("systemd %d: up in %v, by its own account in %v", m.Version, m.BootTook, m.StartupTook(t))
		run := func(name string, f func(*testing.T, *nspawn.Machine)) {
			t.Run(name, func(t *testing.T) { f(t, m) })
		}
		run("answers", answers)
		run("exec", execs)
		run("cancel", cancels)
		run("start", starts)
		run("files", files)
		for _, g := range m.Managers() {
			t.Run("path unit/"+g.String(), func(t *testing.T) { firesPathUnit(t, g) })
			t.Run("kill/"+g.String(), func(t *testing.T) { killsUnit(t, g) })
		}
		run("power cut", cutsPower)
		run("reboot", reboots)
		run("crash", dies)
	})
}

func answers(t *testing.T, m *nspawn.Machine) {
	for _, g := range m.Managers() {
		nspawn.Eventually(t, soon, g.String()+" manager runs", func() bool {
			out, _ := g.Systemctl(t.Context(), "is-system-running")
			return out == "running\n"
		})
	}
	version := strings.Fields(m.MustExec(t, "systemctl", "--version"))[1]
	if version != strconv.Itoa(m.Version) {
		t.Errorf("systemctl is of version %s, the machine says %d", version, m.Version)
	}
}

func execs(t *testing.T, m *nspawn.Machine) {
	op := m.As("op").With("GREETING=hello")
	got := op.Sh(t, `echo "$(id -un) $HOME $XDG_RUNTIME_DIR $GREETING $(pwd)"`)
	if want := "op /home/op /run/user/1000 hello /\n"; got != want {
		t.Errorf("op's session says %q, want %q", got, want)
	}
	_, err := m.Exec(t.Context(), "bash", "-c", "echo woe >&2; exit 7")
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 7 || !strings.Contains(err.Error(), "woe") {
		t.Errorf("a failing command gives %v", err)
	}
	if _, err := m.As("nemo").Exec(t.Context(), "true"); err == nil {
		t.Error("a user that is not there runs a command")
	}
}

// cancels shows that the end of a context ends the command inside.
func cancels(t *testing.T, m *nspawn.Machine) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := m.As("op").Command(ctx, "sleep", "4711")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	count := func() string { out, _ := m.Exec(t.Context(), "pgrep", "-cfx", "sleep 4711"); return out }
	nspawn.Eventually(t, soon, "it sleeps", func() bool { return count() == "1\n" })
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a cancelled command ends well")
	}
	if got := count(); got != "0\n" {
		t.Errorf("%q are left of a cancelled command", got)
	}
}

func starts(t *testing.T, m *nspawn.Machine) {
	p := m.Start(t, "bash", "-c", "trap 'echo heard; exit 3' USR1; echo ready; while :; do read -t 1 <> <(:) || :; done")
	nspawn.Eventually(t, soon, "it is ready", func() bool { return p.Output() == "ready\n" })
	if err := p.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(soon):
		t.Fatal("the process does not hear the signal")
	}
	out, err := p.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || out != "ready\nheard\n" {
		t.Errorf("the process says %q and ends with %v", out, err)
	}
}

func files(t *testing.T, m *nspawn.Machine) {
	m.Sh(t, "mkdir -p /srv/real && ln -s /srv/real /srv/link && echo inside >/srv/real/a && echo fleeting >/run/a")
	for name, want := range map[string]string{"/srv/link/a": "inside\n", "/run/a": "fleeting\n", "/var/run/a": "fleeting\n"} {
		if got := m.ReadFile(t, name); got != want {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
	}
	if fi, err := os.Lstat(m.Path("/srv/link")); err != nil || fi.Mode().Type() != os.ModeSymlink {
		t.Errorf("the last element is followed: %v, %v", fi, err)
	}
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.CopyIn(t, program, "/opt/new/bin/yes", 0o755)
	m.WriteFile(t, "/opt/new/note", "from outside\n", 0o600)
	got := m.Sh(t, "/opt/new/bin/yes && cat /opt/new/note && stat -c '%a %u' /opt/new/note")
	if want := "from outside\n600 0\n"; got != want {
		t.Errorf("the machine reads %q, want %q", got, want)
	}
}

func firesPathUnit(t *testing.T, g *nspawn.Manager) {
	m, spool := g.Machine(), filepath.Join(g.Home(), "spool")
	g.Mkdir(t, spool)
	g.WriteUnit(t, "fire.path", "[Path]\nPathExists="+spool+"/sentinel\n[Install]\nWantedBy=default.target\n")
	g.WriteUnit(t, "fire.service", "[Service]\nType=oneshot\nExecStart=rm "+spool+"/sentinel\nExecStart=touch "+spool+"/fired\n")
	g.MustSystemctl(t, "enable", "--now", "fire.path")
	g.Write(t, filepath.Join(spool, "sentinel"), "", 0o644)
	nspawn.Eventually(t, soon, "the service has fired", func() bool {
		return fileExists(m.Path(spool + "/fired"))
	})
	if fileExists(m.Path(spool + "/sentinel")) {
		t.Error("the sentinel is still there")
	}
	nspawn.Eventually(t, soon, "the service is over", func() bool {
		return g.Show(t, "fire.service", "ActiveState")["ActiveState"] == "inactive"
	})
	if got := g.Messages(t, "-b", "-u", "fire.service", "JOB_RESULT=done"); len(got) == 0 {
		t.Error("the journal does not say that the service is done")
	}
	want := map[string]string{"ActiveState": "active", "Result": "success"}
	for k, v := range g.Show(t, "fire.path", "ActiveState", "Result") {
		if v != want[k] {
			t.Errorf("fire.path has %s=%s, want %s", k, v, want[k])
		}
	}
}

func killsUnit(t *testing.T, g *nspawn.Manager) {
	g.WriteUnit(t, "long.service", "[Service]\nExecStart=sleep infinity\n")
	if got := g.PIDs(t, "long.service"); len(got) != 0 {
		t.Errorf("a unit that does not run has processes %v", got)
	}
	g.MustSystemctl(t, "start", "long.service")
	if got := g.Kill(t, "long.service", syscall.SIGKILL); got != 1 {
		t.Errorf("%d processes killed, want 1", got)
	}
	nspawn.Eventually(t, soon, "the kill is noticed", func() bool {
		return g.Show(t, "long.service", "Result")["Result"] == "signal"
	})
	g.MustSystemctl(t, "reset-failed", "long.service")
}

func cutsPower(t *testing.T, m *nspawn.Machine) {
	before := bootID(t, m)
	m.WriteFile(t, "/var/lib/kept", "kept\n", 0o644)
	m.Sh(t, "echo lost >/run/lost")
	m.PowerCut(t)
	if m.Running() {
		t.Error("it runs without power")
	}
	if _, err := m.Exec(t.Context(), "true"); err == nil {
		t.Error("a command runs without power")
	}
	m.Boot(t)
	t.Logf("up again in %v", m.BootTook)
	if got := m.ReadFile(t, "/var/lib/kept"); got != "kept\n" {
		t.Errorf("the file reads %q after a power cut", got)
	}
	if fileExists(m.Path("/run/lost")) {
		t.Error("/run outlives a power cut")
	}
	if bootID(t, m) == before {
		t.Error("the boot id is the same after a power cut")
	}
	if got := m.System().Messages(t, "-b", "-1", "-u", "fire.service"); len(got) == 0 {
		t.Error("the journal of the boot before the power cut is gone")
	}
}

func reboots(t *testing.T, m *nspawn.Machine) {
	took := m.Reboot(t)
	t.Logf("down in %v, up again in %v", took, m.BootTook)
	if took > soon {
		t.Errorf("the shutdown took %v", took)
	}
	if got := m.ReadFile(t, "/var/lib/kept"); got != "kept\n" {
		t.Errorf("the file reads %q after a reboot", got)
	}
}

func dies(t *testing.T, m *nspawn.Machine) {
	m.Exec(t.Context(), "systemctl", "poweroff", "--force", "--force") // dies with the machine
	m.AwaitOff(t, soon)
	m.Boot(t)
}

func bootID(t *testing.T, m *nspawn.Machine) string {
	t.Helper()
	return m.MustExec(t, "cat", "/proc/sys/kernel/random/boot_id")
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
