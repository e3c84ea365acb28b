package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// dies waits until the path unit has failed, and tells how.
func (v *victim) dies(t *testing.T) (result string) {
	t.Helper()
	v.eventually(t, v.patience(), "the path unit has died", func() bool {
		shown := v.manager().Show(t, v.name+".path", "ActiveState", "Result")
		result = shown["Result"]
		return shown["ActiveState"] == "failed"
	})
	return result
}

func (v *victim) pathState(t *testing.T) string {
	t.Helper()
	return v.manager().Show(t, v.name+".path", "ActiveState")["ActiveState"]
}

// isAlarmed shows that the journal has the alarm of a dead trigger since an instant of the boot clock, at a
// priority that wakes people.
func (v *victim) isAlarmed(t *testing.T, since time.Duration) {
	t.Helper()
	var alarms []nspawn.Entry // the healing comes last, after the claim is settled
	v.eventually(t, v.patience(), "the alarm trigger-dead is in the journal", func() bool {
		alarms = v.entries(t, since, "MESSAGE_ID="+trigger.MsgDead, "TRUEUP_UNIT="+v.name+".service")
		return len(alarms) > 0
	})
	if a := alarms[0]; a["TRUEUP_ALARM"] != "trigger-dead" || a["PRIORITY"] != "1" || a["TRUEUP_PATH"] != v.name+".path" {
		t.Errorf("the alarm is %v", a)
	}
	t.Logf("%s", alarms[0]["MESSAGE"])
}

// rearms shows that prompt mode is back with nobody's help: the path unit is alive within a sweep, and a touch then
// starts a run at once and not at the next sweep.
func (v *victim) rearms(t *testing.T) {
	t.Helper()
	began := time.Now()
	v.eventually(t, v.patience(), "the path unit is back", func() bool { return v.alive(t) == nil })
	t.Logf("back after %v", time.Since(began).Round(10*time.Millisecond))
	v.settlesDown(t)
	v.isPrompt(t)
}

// isPrompt shows that a touch is heard by itself: with the timer stopped nothing else would start the run.
func (v *victim) isPrompt(t *testing.T) {
	t.Helper()
	g := v.manager()
	g.MustSystemctl(t, "stop", v.name+".timer")
	v.recovers(t)
	g.MustSystemctl(t, "start", v.name+".timer")
}

// isCalm stops the timer and waits until nothing of the service is left that could still take a touch.
func (v *victim) isCalm(t *testing.T) {
	t.Helper()
	v.manager().MustSystemctl(t, "stop", v.name+".timer")
	v.settlesDown(t)
	v.eventually(t, v.patience(), "the service is inactive", func() bool {
		return v.manager().Show(t, v.name+".service", "ActiveState")["ActiveState"] == "inactive" && !v.asking() && v.claim(t) == nil
	})
}

// sweeps waits until the timer has started n runs more.
func (v *victim) sweeps(t *testing.T, n int) {
	t.Helper()
	before := len(v.attempts(t))
	v.eventually(t, time.Duration(n)*v.patience(), fmt.Sprintf("%d sweeps", n), func() bool {
		return len(v.attempts(t)) >= before+n
	})
}

// shift moves a program of the machine away, and returns what puts it back; the end of the test does so at the latest.
func shift(t *testing.T, m *nspawn.Machine, program string) (restore func()) {
	t.Helper()
	path := m.Path(program)
	check(t, os.Rename(path, path+".away"))
	restore = sync.OnceFunc(func() { check(t, os.Rename(path+".away", path)) })
	t.Cleanup(restore)
	return restore
}

// pageSays tells whether status needs a person and says so in these words, once the sweep that may be healing at this
// very moment is through.
func (v *victim) pageSays(t *testing.T, words ...string) {
	t.Helper()
	v.awaitPage(t, true, words)
}

// pageIsWell shows that status needs nobody any more and says so in these words, likewise once a sweep is through.
func (v *victim) pageIsWell(t *testing.T, words ...string) {
	t.Helper()
	v.awaitPage(t, false, words)
}

func (v *victim) awaitPage(t *testing.T, needed bool, words []string) {
	t.Helper()
	var text string
	defer func() {
		if t.Failed() {
			t.Logf("status says:\n%s", text)
		}
	}()
	v.eventually(t, v.patience(), fmt.Sprintf("status needs a person (%v), in the words %q", needed, words), func() bool {
		var needs bool
		text, needs = v.page(t)
		return needs == needed && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// inside is the path in the machine of one of the victim's folders.
func (v *victim) inside(folder string) string {
	if v.manager().IsUser() {
		return filepath.Join("/home/op/.local/state/trueup", v.name, folder)
	}
	return filepath.Join("/var/lib/trueup", v.name, folder)
}
