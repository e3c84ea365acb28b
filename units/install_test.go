package units_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// TestInstall is what an operator does with trueup's own service, one boot for all of it.
func TestInstall(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		h.Machine().WriteFile(t, standIn, standInText, 0o755)
		before := h.unitFolders(t) // for a user nothing at all
		for _, test := range []struct {
			name string
			run  func(*testing.T, host)
		}{
			{"plain", installPlain}, {"again", installAgain}, {"side by side", installNamed}, {"cycles", installCycles},
			{"unit folder", func(t *testing.T, h host) { h.Mkdir(t, h.UnitDir()); before = h.unitFolders(t) }}, {"profile", installProfile},
			{"sweep in progress", uninstallRunning}, {"waiting gate", uninstallWaiting}, {"refusals", installRefuses},
			{"others' services", installForeign}, {"refused late", installTakesBack},
		} {
			t.Run(test.name, func(t *testing.T) {
				test.run(t, h)
				h.same(t, before)
			})
		}
	})
}

// standIn sweeps in trueup's place: its configuration file is a script.
const (
	standIn     = "/usr/local/bin/stand-in"
	standInText = "#!/bin/sh\ntest \"$1 $2\" = 'sweep -c' && . \"$3\"\n"
)

// config writes a configuration which notes its run, and then does more.
func (h host) config(t *testing.T, name, more string) string {
	t.Helper()
	file := h.Home() + "/etc-" + name + "/trueup.yaml"
	h.Write(t, file, fmt.Sprintf("echo run >>%s\n%s\n", h.log(name), more), 0o644)
	return file
}

// installation is the wish for an instance without a sandbox, of which a user's manager has less in a container.
func (h host) installation(t *testing.T, name, more string) units.Installation {
	t.Helper()
	return units.Installation{Name: name, Program: standIn, Config: h.config(t, "inst-"+name, more), Hardening: "none",
		Adoption: units.Adoption{Policy: quick}}
}

// install is drive install that must succeed.
func (h host) install(t *testing.T, i units.Installation) answer {
	t.Helper()
	got := h.drive(t, "install", i)
	if got.Error != "" {
		t.Fatalf("installing %q: %s (%s; %s)", i.Name, got.Error, got.Kind, got.Hint)
	}
	return got
}

type uninstall struct {
	Name          string
	Purge, DryRun bool
}

func (h host) uninstall(t *testing.T, u uninstall) answer {
	t.Helper()
	got := h.drive(t, "uninstall", u)
	if got.Error != "" {
		t.Fatalf("uninstalling %q: %s (%s; %s)", u.Name, got.Error, got.Kind, got.Hint)
	}
	return got
}

// swept waits until an instance's sweep has run so many times, and is at rest.
func (h host) swept(t *testing.T, name string, want int) {
	t.Helper()
	h.eventually(t, fmt.Sprintf("%q has swept %d times", name, want), func() bool {
		return strings.Count(h.read(t, h.log("inst-"+name)), "run\n") >= want
	})
	unit := "trueup.service"
	if name != "" {
		unit = "trueup-" + name + ".service"
	}
	h.state(t, unit, "inactive/dead")
}

// Install and uninstall, twice each; a dry run says the same and does nothing.
func installPlain(t *testing.T, h host) {
	before := h.unitFolders(t)
	wish := h.installation(t, "", "")
	wish.DryRun, wish.Report = true, h.usual("trueup")+"/report"
	dry := h.install(t, wish)
	h.same(t, before)
	wish.DryRun = false
	got := h.install(t, wish)
	if !slices.Equal(dry.ops(), got.ops()) {
		t.Errorf("--dry-run said %q, install did %q", dry.ops(), got.ops())
	}
	if len(got.Changes.Warnings) > 0 {
		t.Errorf("it warns of %q", got.Changes.Warnings)
	}
	installed := h.unitFolders(t)
	if again := h.install(t, wish); len(again.ops()) > 0 {
		t.Errorf("a second install did %q", again.ops())
	}
	h.same(t, installed)
	h.verify(t, "trueup.service", "trueup.path", "trueup.timer")
	h.touch(t, got)
	h.swept(t, "", 1)
	h.touch(t, got)
	h.swept(t, "", 2)
	h.looksAlive(t, "trueup")

	dry = h.uninstall(t, uninstall{DryRun: true})
	h.same(t, installed)
	if done := h.uninstall(t, uninstall{}); !slices.Equal(dry.ops(), done.ops()) {
		t.Errorf("--dry-run said %q, uninstall did %q", dry.ops(), done.ops())
	}
	h.same(t, before)
	if h.read(t, got.Changes.Adoption.Folders.Outbox+"/status.json") == "" {
		t.Error("the folders are gone, though nobody said purge")
	}
	for _, unit := range []string{"trueup.service", "trueup.path", "trueup.timer"} {
		if props := h.Show(t, unit, "LoadState", "ActiveState"); props["LoadState"] != "not-found" || props["ActiveState"] != "inactive" {
			t.Errorf("systemd still has %s: %v", unit, props)
		}
	}
	h.uninstall(t, uninstall{Purge: true}) // after all
	h.gone(t, got)
	if again := h.drive(t, "uninstall", uninstall{}); again.Kind != "refusal" || !strings.Contains(again.Error, "not installed") {
		t.Errorf("uninstalling once more: %+v", again)
	}
}

// gone fails the test when purge left a folder of the instance.
func (h host) gone(t *testing.T, a answer) {
	t.Helper()
	if left := h.Sh(t, "ls -d "+path.Dir(a.Changes.Adoption.Folders.Spool)+" 2>/dev/null || true"); left != "" {
		t.Errorf("purge left %s", left)
	}
}

// What is not given stays; what is given and differs is changed, in the service too.
func installAgain(t *testing.T, h host) {
	base := h.Home() + "/elsewhere/"
	wish := h.installation(t, "again", "")
	wish.Folders = trigger.Folders{Spool: base + "spool", State: base + "state", Outbox: base + "outbox"}
	wish.Ledger, wish.Report = base+"ledger", base+"report"
	got := h.install(t, wish)
	kept := units.Installation{Name: "again", Program: standIn, Ledger: wish.Ledger, Report: wish.Report}
	if again := h.install(t, kept); len(again.ops()) > 0 || again.Changes.Adoption != got.Changes.Adoption {
		t.Errorf("a bare install did %q and left %+v, not %+v", again.ops(), again.Changes.Adoption, got.Changes.Adoption)
	}
	kept.Config = h.config(t, "other", "")
	again := h.install(t, kept)
	if want := []string{"update " + h.UnitDir() + "/trueup-again.service"}; !slices.Equal(again.ops(), want) {
		t.Errorf("with another configuration it did %q, want %q", again.ops(), want)
	}
	h.touch(t, got)
	h.eventually(t, "a sweep of the other configuration", func() bool { return h.read(t, h.log("other")) == "run\n" })
	done := h.uninstall(t, uninstall{Name: "again", Purge: true})
	if left := h.Sh(t, "ls "+base); left != "ledger\nreport\n" || len(done.Changes.Warnings) != 2 {
		t.Errorf("purge left %q and warns of %q", left, done.Changes.Warnings)
	}
	h.MustExec(t, "rm", "-r", base)
}

// CTR-06: gone and back five times, the spool is the folder that a container has mounted, and its touches are answered.
func installCycles(t *testing.T, h host) {
	wish := h.installation(t, "cycle", "")
	var first string
	for n := 1; n <= 5; n++ {
		got := h.install(t, wish)
		inode := h.MustExec(t, "stat", "-c%i", got.Changes.Adoption.Folders.Spool)
		if first == "" {
			first = inode
		} else if inode != first {
			t.Errorf("install %d has made another spool", n)
		}
		h.touch(t, got)
		h.swept(t, "cycle", n)
		h.looksAlive(t, "trueup-cycle")
		h.uninstall(t, uninstall{Name: "cycle", Purge: n == 5})
	}
}

// Instances live side by side, each with its folders; one goes, the other stays.
func installNamed(t *testing.T, h host) {
	one, two := h.install(t, h.installation(t, "", "")), h.install(t, h.installation(t, "two", ""))
	h.touch(t, one)
	h.MustExec(t, "touch", two.Changes.Adoption.Folders.Spool+"/requests/command:web")
	h.swept(t, "two", 1)
	h.uninstall(t, uninstall{Purge: true})
	h.gone(t, one)
	h.touch(t, two)
	h.swept(t, "two", 2)
	h.looksAlive(t, "trueup-two")

	third := h.installation(t, "third", "")
	third.Folders = two.Changes.Adoption.Folders
	if got := h.drive(t, "install", third); got.Kind != "refusal" || !strings.Contains(got.Error, "trueup-two.service") {
		t.Errorf("with another instance's folders: %+v", got)
	}
	h.uninstall(t, uninstall{Name: "two", Purge: true})
	h.gone(t, two)
}
