package units_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"trueup/units"
)

// steps are the system calls that change something that lasts, and the one that speaks to systemd.
var steps = []string{"mkdirat", "renameat", "symlinkat", "linkat", "unlinkat", "fchmod", "fchown", "fsync", "write"}

// TestCrash kills adopt and unadopt before a step: before each single one with TRUEUP_PROVE=1, else a sample. Calling
// either again sets everything right: adopt to what an undisturbed one makes, unadopt to what was there at first,
// another's path unit included.
func TestCrash(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		h.WriteUnit(t, "crash.service", h.oneshot("crash", ""))
		h.WriteUnit(t, "crash.path", "[Path]\nPathExists="+h.Home()+"/elsewhere\n\n[Install]\nWantedBy=default.target\n")
		h.MustSystemctl(t, "enable", "--now", "crash.path")
		c := crash{host: h, before: h.unitFolders(t), wish: units.Adoption{Unit: "crash", Policy: quick, Replace: true}}
		h.adopt(t, c.wish)
		c.after = h.unitFolders(t)
		h.unadopt(t, "crash", true)
		h.same(t, c.before)

		stride, first := 13, h.Machine().Version // each version and manager another sample
		if os.Getenv("TRUEUP_PROVE") == "1" {
			stride, first = 1, 0
		}
		if h.IsUser() {
			first += stride / 2
		}
		kills := 0
		for _, step := range steps {
			for _, try := range []func(*testing.T, string, int) bool{c.adoptKilled, c.unadoptKilled} {
				for n := first%stride + 1; try(t, step, n); n += stride {
					kills++
				}
			}
		}
		t.Logf("killed %d times", kills)
	})
}

// A crash is one unit to be adopted, with the pictures of both ends.
type crash struct {
	host
	before, after string
	wish          units.Adoption
}

// adoptKilled kills adopt before the nth of its steps of one kind, and tries every way out; it is false when there
// is no such step.
func (c crash) adoptKilled(t *testing.T, step string, n int) bool {
	t.Helper()
	killed := c.killed(t, step, n, "adopt", c.wish)
	c.repair(t, "adopt", step, n)
	return killed
}

func (c crash) unadoptKilled(t *testing.T, step string, n int) bool {
	t.Helper()
	c.adopt(t, c.wish)
	killed := c.killed(t, step, n, "unadopt", map[string]any{"Unit": "crash", "Purge": true})
	c.repair(t, "unadopt", step, n)
	return killed
}

// repair calls adopt every other time, and then unadopt.
func (c crash) repair(t *testing.T, verb, step string, n int) {
	t.Helper()
	if n%2 == 0 {
		c.adopt(t, c.wish)
		c.same(t, c.after)
	}
	c.undo(t)
	if t.Failed() {
		t.Fatalf("after %s was killed before its %s number %d", verb, step, n)
	}
}

// undo unadopts, whatever there is to undo, and shows that nothing is left and the old path unit watches.
func (c crash) undo(t *testing.T) {
	t.Helper()
	got := c.drive(t, "unadopt", map[string]any{"Unit": "crash", "Purge": true})
	if got.Error != "" && got.Kind != "refusal" {
		t.Errorf("unadopt: %s", got.Error)
	}
	c.same(t, c.before)
	c.noProbes(t)
	c.MustSystemctl(t, "daemon-reload")
	if c.Show(t, "crash.path", "ActiveState")["ActiveState"] != "active" {
		c.MustSystemctl(t, "reset-failed")
		c.MustSystemctl(t, "start", "crash.path") // unadopt was killed when nothing but this was left to do
	}
}

// killed runs drive until the nth step of a kind, and tells whether it came that far. strace counts for each thread:
// drive does everything in its first one, and only that is traced.
func (c crash) killed(t *testing.T, step string, n int, verb string, arg any) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := append([]string{"strace", "-qq", "-o", "/dev/null", "-e", "trace=" + step,
		"-e", "inject=" + step + ":signal=KILL:when=" + strconv.Itoa(n)}, c.driveArgs(verb, arg)...)
	_, err := c.Exec(ctx, argv...)
	if err == nil {
		return false
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 128+9 && exit.ExitCode() != -1 {
		t.Fatalf("killing %s: %v", verb, err)
	}
	return true
}
