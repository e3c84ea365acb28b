package protocol

import (
	"os"
	"slices"
	"sync"
	"testing"

	"trueup/units/nspawn"
)

// A scenario is one body of a case, whatever place it runs in.
type scenario struct {
	name string
	run  func(*testing.T, place)
}

// timed are the cases in every place that measure how soon something happens.
var timed = []scenario{
	{"lone touch", loneTouch},
	{"burst", burst},
	{"touches during a run", touchesDuringRun},
	{"touches without end", touchesWithoutEnd},
}

// everywhere are the others that hold in every place.
var everywhere = []scenario{
	{"window of 30 s", window},
	{"requests by name", requestsByName},
	{"slower than its askers", slowerThanAskers},
	{"failing run", failingRun},
	{"touch during a backoff", touchDuringBackoff},
	{"killed processes", killedProcesses},
	{"hung run", hungRun},
	{"stubborn run", stubbornRun},
	{"many runs", manyRuns},
	{"interval", interval},
}

// onSystemd are the cases about systemd itself.
var onSystemd = []scenario{
	{"manual start", manualStart},
	{"daemon-reload", daemonReload},
	{"timer goes on", timerGoesOn},
	{"stopped path unit", stoppedPath},
}

// alone are those that other cases' reloads would spoil.
var alone = []scenario{{"reload during a wait", reloadedWait}}

// TestSystemd boots one machine for each version and runs everything on both of its managers: first what leaves
// the machine on, then the storm, which cuts its power, then what is about booting.
func TestSystemd(t *testing.T) {
	nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
		install(t, m)
		var places []place
		for _, g := range m.Managers() {
			places = append(places, systemdPlace{g})
		}
		all := func(name string, scenarios []scenario) {
			t.Run(name, func(t *testing.T) {
				together(t, places, func(t *testing.T, p place) { inPlace(t, p, scenarios) })
			})
		}
		all("timed", timed)
		all("cases", slices.Concat(everywhere, onSystemd))
		all("alone", alone)
		t.Run("storm", func(t *testing.T) { storm(t, places) })
		t.Run("boot", func(t *testing.T) { boots(t, m, places) })
	})
}

// TestWatch runs the same on trueup watch.
func TestWatch(t *testing.T) {
	t.Parallel()
	inPlace(t, watchPlace{}, slices.Concat(timed, everywhere, []scenario{
		{"storm", func(t *testing.T, p place) { storm(t, []place{p}) }},
	}))
}

func inPlace(t *testing.T, p place, scenarios []scenario) {
	together(t, scenarios, func(t *testing.T, s scenario) { s.run(t, p) })
}

// together runs a subtest for each of the things, all at once. They wait most of their time, so the bound of
// go test -parallel, which is meant for processors, is not theirs.
func together[T interface{ String() string }](t *testing.T, things []T, f func(*testing.T, T)) {
	var all sync.WaitGroup
	for _, thing := range things {
		all.Go(func() { t.Run(thing.String(), func(t *testing.T) { f(t, thing) }) })
	}
	all.Wait()
}

// String names it as a subtest.
func (s scenario) String() string { return s.name }

// proving tells whether the long forms are wanted.
func proving() bool { return os.Getenv("TRUEUP_PROVE") == "1" }

// either is the first when proving, and else the second.
func either[T any](long, short T) T {
	if proving() {
		return long
	}
	return short
}
