package units_test

import (
	"os"
	"strings"
	"testing"

	"trueup/units"
)

// TestInstallCrash kills install and uninstall before a step, as TestCrash does adopt and unadopt: whichever is called
// next sets everything right.
func TestInstallCrash(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		h.Machine().WriteFile(t, standIn, standInText, 0o755)
		h.Mkdir(t, h.UnitDir()) // of folders above it that were made and never used nobody would know
		c := installCrash{crash: crash{host: h, before: h.unitFolders(t)}, wish: h.installation(t, "", "")}
		c.wish.Ledger = h.usual("trueup") + "/ledger"
		h.install(t, c.wish)
		c.after = h.unitFolders(t)
		h.uninstall(t, uninstall{Purge: true})
		h.same(t, c.before)

		stride, first := 13, 2*h.Machine().Version // each version and manager another sample
		if os.Getenv("TRUEUP_PROVE") == "1" {
			stride, first = 1, 0
		}
		if h.IsUser() {
			first += stride / 2
		}
		kills := 0
		for _, step := range steps {
			for _, try := range []func(*testing.T, string, int) bool{c.installKilled, c.uninstallKilled} {
				for n := first%stride + 1; try(t, step, n); n += stride {
					kills++
				}
			}
		}
		t.Logf("killed %d times", kills)
	})
}

// An installCrash is one installation, with the pictures of both ends.
type installCrash struct {
	crash
	wish units.Installation
}

func (c installCrash) installKilled(t *testing.T, step string, n int) bool {
	t.Helper()
	killed := c.killed(t, step, n, "install", c.wish)
	c.repairInstall(t, "install", step, n)
	return killed
}

func (c installCrash) uninstallKilled(t *testing.T, step string, n int) bool {
	t.Helper()
	c.install(t, c.wish)
	killed := c.killed(t, step, n, "uninstall", uninstall{Purge: true})
	c.alive(t)
	c.repairInstall(t, "uninstall", step, n)
	return killed
}

// alive shows that a path unit that is left has what it starts, and so no touch kills it.
func (c installCrash) alive(t *testing.T) {
	t.Helper()
	props := c.Show(t, "trueup.path", "ActiveState")
	if service := c.Show(t, "trueup.service", "LoadState"); props["ActiveState"] == "active" && service["LoadState"] != "loaded" {
		t.Errorf("the path unit watches for a service that is %v", service)
	}
	if c.Sh(t, "ls "+c.UnitDir()+"/paths.target.wants/trueup.path 2>/dev/null || true") != "" && c.read(t, c.UnitDir()+"/trueup.service") == "" {
		t.Error("the path unit is enabled for a service that is gone")
	}
}

// repairInstall calls install every other time, and then uninstall.
func (c installCrash) repairInstall(t *testing.T, verb, step string, n int) {
	t.Helper()
	if n%2 == 0 {
		c.install(t, c.wish)
		c.same(t, c.after)
		c.looksAlive(t, "trueup")
	}
	got := c.drive(t, "uninstall", uninstall{Purge: true})
	if got.Error != "" && !strings.Contains(got.Error, "not installed") {
		t.Errorf("uninstall: %s", got.Error)
	}
	c.same(t, c.before)
	c.noProbes(t)
	if left := c.Show(t, "trueup.service", "LoadState")["LoadState"]; left != "not-found" {
		t.Errorf("systemd still has trueup.service: %s", left)
	}
	c.gone(t, answerFor(c.wish.Ledger))
	if t.Failed() {
		t.Fatalf("after %s was killed before its %s number %d", verb, step, n)
	}
}

// answerFor is an answer whose folders lie beside the given one.
func answerFor(folder string) (a answer) {
	a.Changes.Adoption.Folders.Spool = folder
	return a
}
