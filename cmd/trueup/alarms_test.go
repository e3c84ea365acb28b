package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// raised are the alarms that the facts raise, as NAME or NAME TARGET.
func raised(f facts) (names []string) {
	for _, a := range f.wrong(nil) {
		names = append(names, strings.TrimSpace(a.Name+" "+a.Target))
	}
	return names
}

// Each alarm follows from the rules by which status finds what is wrong, and from nothing else.
func TestAlarmsFollowTheRules(t *testing.T) {
	site := func(f *facts, standings ...reconcile.Standing) {
		f.site = &siteFacts{standings: standings, folders: f.folders, holds: map[reconcile.Key]plan.Hold{}}
	}
	for name, c := range map[string]struct {
		spoil func(*facts)
		want  []string
	}{
		"well":       {func(*facts) {}, nil},
		"backed out": {func(f *facts) { f.stopPath(); f.systemd.Path.File = "disabled" }, nil},
		"dead":       {func(f *facts) { f.systemd.Path.Active = "failed" }, []string{"trigger-dead"}},
		"path gone":  {func(f *facts) { f.systemd.Path.Load = "not-found" }, []string{"trigger-dead"}},
		"unheard":    {func(f *facts) { f.systemd.spoolUnwatched = true }, []string{"trigger-dead"}},
		"overdue": {func(f *facts) { f.asked, f.state.Settled.Finished = noon.Add(-50*time.Minute), before(51*time.Minute) },
			[]string{"stale", "trigger-dead"}},
		"fails twice": {func(f *facts) { f.shown.State, f.state.Claim = trigger.Failing, claim(2, time.Second) },
			nil},
		"fails again": {func(f *facts) { f.shown.State, f.state.Claim = trigger.Failing, claim(3, time.Second) },
			[]string{"failing"}},
		"hangs": {func(f *facts) { f.systemd.Service.Unbounded = true; f.serve("activating", "start", time.Hour) },
			[]string{"failing"}},
		"stale":      {func(f *facts) { f.state.Settled.Finished = before(16 * time.Minute) }, []string{"stale"}},
		"almost":     {func(f *facts) { f.state.Settled.Finished = before(14 * time.Minute) }, nil},
		"just began": {func(f *facts) { f.state.Settled.Finished, f.watched = before(16*time.Minute), time.Minute }, nil},
		"never succeeded": {func(f *facts) { f.state.Settled = trigger.Settled{} },
			[]string{"stale"}},
		"adopted just now": {func(f *facts) { f.state.Settled, f.systemd.Path.Since = trigger.Settled{}, noon.Add(-time.Minute) },
			nil},
		"another boot's number": {func(f *facts) { f.state.Settled.Finished.Boot = "another" }, nil},
		"booted just now":       {func(f *facts) { f.state.Settled.Finished.Boot, f.uptime = "before", time.Minute }, nil},
		"daily timer": {func(f *facts) { // of the unit's own
			f.state.Settled.Finished, f.systemd.Timers[0].Last = before(50*time.Minute), noon.Add(-50*time.Minute)
			f.systemd.Timers[0].Next = noon.Add(23 * time.Hour)
		}, nil},
		"daily timer, stopped": {func(f *facts) { f.state.Settled.Finished, f.every = before(50*time.Minute), 24*time.Hour }, nil},
		"no timer is wanted": {func(f *facts) {
			f.state.Settled.Finished, f.systemd.Timers, f.systemd.timerDeclined = before(50*time.Minute), nil, true
		}, nil},
		"sweep takes long": {func(f *facts) {
			f.state.Settled.Finished, f.shown.State, f.state.Claim = before(50*time.Minute), trigger.Running, claim(1, 49*time.Minute)
			f.serve("activating", "start", 49*time.Minute)
		}, nil},
		"state full":        {func(f *facts) { f.stateErr = errors.New("no space left on device") }, []string{"disk"}},
		"outbox unwritable": {func(f *facts) { f.trouble.Needs = []string{"the outbox cannot be written"} }, []string{"disk"}},
		"spool gone":        {func(f *facts) { f.spoolErr = fs.ErrNotExist }, []string{"disk"}},
		"drifted":           {func(f *facts) { f.systemd.Drifted = true }, nil},
		"targets": {func(f *facts) {
			site(f, reconcile.Standing{Target: "command:a", Failures: 3, Report: reconcile.Report{State: reconcile.Failing}},
				reconcile.Standing{Target: "command:b", Failures: 2, Report: reconcile.Report{State: reconcile.Failing}},
				reconcile.Standing{Target: "command:c", Failures: 3, Report: reconcile.Report{State: reconcile.Uncertain}},
				reconcile.Standing{Target: "command:d", Report: reconcile.Report{State: reconcile.Held}})
			f.site.holds["command:d"] = plan.Hold{Why: "1 removal"}
			f.site.items = []reconcile.Item{{ID: "disk", State: reconcile.Blocked}, {ID: "pause:command:a", State: reconcile.InProgress}}
		}, []string{"failing command:a", "failing command:c", "held command:d", "reserved disk"}},
		"ledger unreadable": {func(f *facts) { site(f); f.site.err = errors.New("locked") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := well()
			c.spoil(&f)
			if got := raised(f); !slices.Equal(got, c.want) {
				t.Errorf("raises %q, want %q", got, c.want)
			}
		})
	}
}

// What a sweep has told is not said again.
func TestHeldIsSaidByTheSweep(t *testing.T) {
	f := well()
	f.site = &siteFacts{standings: []reconcile.Standing{{Target: "command:d"}}, folders: f.folders,
		holds: map[reconcile.Key]plan.Hold{"command:d": {Why: "1 removal", Told: true}}}
	if got := f.wrong(nil); len(got) != 1 || !got[0].Said || !got[0].Sure {
		t.Errorf("%+v", got)
	}
}

// What could not be looked at is not over: of a unit, of its runs, of its targets.
func TestBlindLookClearsNothing(t *testing.T) {
	s := seen{blind: map[string]blindness{"a": {all: true}, "b": {runs: true}, "c": {targets: true}}}
	for id, want := range map[publish.ID]bool{
		{Name: publish.Disk, Unit: "a"}:                   true,
		{Name: publish.Stale, Unit: "b"}:                  true,
		{Name: publish.Failing, Unit: "b"}:                true,
		{Name: publish.Failing, Unit: "b", Target: "t"}:   false,
		{Name: publish.TriggerDead, Unit: "b"}:            false,
		{Name: publish.Held, Unit: "c", Target: "t"}:      true,
		{Name: publish.Failing, Unit: "c"}:                false,
		{Name: publish.Failing, Unit: "gone", Target: ""}: false,
	} {
		if got := s.unknown(id); got != want {
			t.Errorf("%+v: unknown %t, want %t", id, got, want)
		}
	}
}

// A folder that fills up is told of, and is well again only when there is twice the room.
func TestFilling(t *testing.T) {
	f := well()
	f.folders = trigger.Folders{State: t.TempDir()}
	disk := dirFacts{path: f.folders.State}.look(nil).disk
	if free := disk.Bavail * uint64(disk.Bsize); free > 2*littleSpace && len(f.filling(true)) > 0 {
		t.Errorf("%d bytes are free, and it says %v", free, f.filling(true))
	}
	for free, want := range map[uint64][2]bool{10 << 20: {true, true}, 100 << 20: {false, true}, 200 << 20: {false, false}} {
		d := dirFacts{path: "/x"}
		d.disk.Blocks, d.disk.Bsize, d.disk.Bavail = 1<<30, 1, free
		for i, times := range []uint64{1, 2} {
			if what, _ := d.cramped(times); (what != "") != want[i] {
				t.Errorf("%d MiB, %d times: %q", free>>20, times, what)
			}
		}
	}
}

// Faults of alarms.yaml are told with their lines, and exit 78; a file that is not there says nothing.
func TestAlarmsConfig(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	if c, err := loadAlarmsConfig(true); err != nil || len(c.Command) > 0 {
		t.Errorf("no file: %+v, %v", c, err)
	}
	file := filepath.Join(home, "trueup/alarms.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"version: 1\ncommand: [/bin/true]\nmetrics: /x/y.prom\n": "",
		"version: 1\n":                                    "",
		"version: 2\n":                                    "alarms.yaml:1: version",
		"command: [/bin/true]\n":                          "version is missing",
		"version: 1\ncommand: /bin/true\n":                "alarms.yaml:2: command: want a list",
		"version: 1\ncommand: [true]\n":                   "alarms.yaml:2: command",
		"version: 1\ncommand: [mail, root]\n":             `alarms.yaml:2: command: "mail" is no path from the root`,
		"version: 1\nmetrics: x.prom\n":                   "alarms.yaml:2: metrics",
		"version: 1\nmetrics: /x/y.txt\n":                 "does not end in .prom",
		"version: 1\nmail: root\n":                        `alarms.yaml:2: unknown key "mail"`,
		"version: 1\ncommand: [/nowhere/mail]\n":          "/nowhere/mail is no program",
		"version: 1\ncommand: [/etc]\nmetrics: /x.prom\n": "/etc is no program",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := loadAlarmsConfig(true)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var said bytes.Buffer
		code := newUI(&said, &said).exit(t.Context(), err)
		if code != exitConfig || !strings.Contains(said.String(), want) {
			t.Errorf("%q: exit %d, %s; want 78 and %s", text, code, &said, want)
		}
	}
	if err := os.Symlink("/nowhere", filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(home, "link"), file); err != nil {
		t.Fatal(err)
	}
	if _, err := loadAlarmsConfig(true); err == nil {
		t.Error("a link that leads nowhere is no fault")
	}
	if err := errors.Join(os.Remove(file), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := loadAlarmsConfig(true); err == nil || !strings.Contains(err.Error(), "anyone may write it") {
		t.Errorf("a file that anyone may write: %v", err)
	}
}

// Status shows what stands and since when, what only alarms know as a need, and that nobody looks any more.
func TestStatusShowsAlarms(t *testing.T) {
	f := well()
	f.looked = noon.Add(-time.Hour)
	f.alarms = []publish.Standing{
		{Since: noon.Add(-3 * time.Hour), Alarm: publish.Alarm{ID: publish.ID{Name: publish.Disk, Unit: f.unit}, Text: "/x has room for 3 MiB only", Do: "df -h /x"}},
		{Since: noon.Add(-2 * time.Minute), Alarm: publish.Alarm{ID: publish.ID{Name: publish.Failing, Unit: f.unit, Target: "command:a"}, Text: "failing: command:a"}},
	}
	text := strings.Join(statusText([]facts{f}), "\n")
	for _, want := range []string{"disk: /x has room for 3 MiB only       df -h /x\n", "alarm    disk for 3 h\n", "alarm    failing for 2 min: command:a\n",
		"nobody has looked for alarms for 1 h"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if n := len(f.needs()); n != 1 {
		t.Errorf("%d needs, want the disk alone", n)
	}
	for ahead, want := range map[time.Duration]string{time.Minute: "", time.Hour: "nobody has looked for alarms since the clock was set back: the last look is 1 h ahead of it"} {
		if f.looked = noon.Add(ahead); f.unlooked() != want {
			t.Errorf("a last look %s ahead of the clock: %q, want %q", ahead, f.unlooked(), want)
		}
	}
}
