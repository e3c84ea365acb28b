package protocol

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// TestHostile boots each version once, for everything that a hostile web app, a broken host and a careless operator
// can do to a trigger. The groups wait most of their time, so they run together, in waves for two processors' sake.
func TestHostile(t *testing.T) {
	t.Parallel()
	nspawn.Each(t, func(t *testing.T, m *nspawn.Machine) {
		install(t, m)
		for _, wave := range [][]group{
			{{"spool", hostileSpool, true}, {"heal", heals, true}},
			{{"state", stateFolder, false}, {"deleted", foldersDeleted, false}, {"replaced", spoolReplaced, false}},
			{{"flood", floods, false}, {"hardening", hardeningHolds, false}},
		} {
			together(t, wave, func(t *testing.T, g group) {
				if g.always || proving() || m.Version != 247 && m.Version != 257 {
					g.run(t, m)
				}
			})
		}
	}, trigUser, ownLine("killed"), ownLine("missing"), ownLine("left"))
}

// A group is some cases on one machine.
type group struct {
	name   string
	run    func(t *testing.T, m *nspawn.Machine)
	always bool // on every version: systemd differs where path units die. The long form runs everything everywhere
}

// String names it as a subtest.
func (g group) String() string { return g.name }

// A gateOf is who the gate runs as, and in which place.
type gateOf struct {
	name    string
	place   func(m *nspawn.Machine) place
	service string // lines for [Service]
}

// String names it as a subtest.
func (g gateOf) String() string { return g.name }

var gates = []gateOf{
	{"root", func(m *nspawn.Machine) place { return systemdPlace{m.System()} }, ""},
	{"unprivileged", func(m *nspawn.Machine) place { return systemdPlace{m.System()} }, "User=trig"},
	{"user", func(m *nspawn.Machine) place { return systemdPlace{m.User()} }, ""},
}

// trigUser gives a machine the user that unprivileged gates run as.
var trigUser = nspawn.Prepare(func(dir string) error {
	for name, line := range map[string]string{
		"/etc/passwd": "trig:x:900:900::/nonexistent:/usr/sbin/nologin\n", "/etc/group": "trig:x:900:\n",
	} {
		f, err := os.OpenFile(dir+name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(line); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
})

// hostileSpool: whatever a hostile web app plants: no hang, no loop, nothing outside the spool is opened or changed, the journal
// and status say what happened, and an honest touch works within one sweep. What nobody can remove costs one run a
// floor until somebody does (A4; I3, I5; PATH-06, PATH-08, PATH-24, SEC-01, SEC-03, SEC-05, TRG-05).
func hostileSpool(t *testing.T, m *nspawn.Machine) {
	etc := listing(t, m.Path("/etc"), true, notCompared...)
	together(t, gates, func(t *testing.T, g gateOf) { sufferAll(t, m, g) })
	if after := listing(t, m.Path("/etc"), true, notCompared...); !slices.Equal(after, etc) {
		t.Errorf("/etc was\n%s\nand is\n%s", strings.Join(etc, "\n"), strings.Join(after, "\n"))
	}
}

// notCompared is what adopting itself changes in /etc.
var notCompared = []string{"", "/systemd/system"}

// TestHostileSpoolOfWatch is the same on trueup watch.
func TestHostileSpoolOfWatch(t *testing.T) {
	t.Parallel()
	suffer(t, 4, allPlants(), func(t *testing.T, name string) *victim {
		return victimise(t, watchPlace{}, options{name: name})
	})
}

func allPlants() []plant { return slices.Concat(sentinelPlants, requestPlants) }

func sufferAll(t *testing.T, m *nspawn.Machine, g gateOf) {
	chosen := allPlants()
	// The short form plants everything where versions and users are known to differ, and otherwise what kills.
	full := proving() || !g.place(m).(systemdPlace).g.IsUser() && (m.Version >= 260 || m.Version < 257 && m.Version > 250)
	if !full {
		chosen = slices.DeleteFunc(chosen, func(p plant) bool {
			return !p.kills && p.name != "tree" && p.name != "immutable file" && p.name != "requests a file"
		})
	}
	suffer(t, 3, chosen, func(t *testing.T, name string) *victim {
		v := victimise(t, g.place(m), options{name: g.name + "-" + name, service: g.service})
		mendSpool(t, v)
		return v
	})
}

// suffer plants each plant in the spool of one of several victims, and makes a new victim of one that failed.
func suffer(t *testing.T, victims int, plants []plant, adopt func(t *testing.T, name string) *victim) {
	waiting := make(chan plant, len(plants))
	for _, p := range plants {
		waiting <- p
	}
	close(waiting)
	var wg sync.WaitGroup
	for i := range victims {
		wg.Go(func() {
			t.Run(fmt.Sprintf("victim-%d", i), func(t *testing.T) {
				var v *victim
				made := 0
				for p := range waiting {
					if v == nil {
						made++
						v = adopt(t, fmt.Sprintf("%d-%d", i, made))
					}
					if p.only != nil && !p.only(v) {
						continue
					}
					if !t.Run(p.name, func(t *testing.T) { v.suffer(t, p) }) {
						v = nil
					}
				}
			})
		})
	}
	wg.Wait()
}

// suffer is one plant's story.
func (v *victim) suffer(t *testing.T, p plant) {
	v.settlesDown(t)
	over := watchOver(t, v.canary, p.linked)
	since := uptime()
	p.put(t, v)
	switch {
	case p.sticks(v):
		t.Cleanup(func() {
			if t.Failed() {
				p.mend(t, v) // or the machine cannot be removed
			}
		})
		v.eventually(t, v.patience(), "the trouble is noted", func() bool { return len(v.needs()) > 0 })
		v.wearOn(t, p)
	case p.silent:
		v.eventually(t, v.patience(), "the spool is set right", func() bool { return !v.asking() })
		v.settlesDown(t)
	default:
		began := time.Now()
		v.eventually(t, v.patience(), "the spool is emptied", func() bool { return !v.asking() })
		t.Logf("emptied after %v", time.Since(began).Round(10*time.Millisecond))
		v.settlesDown(t)
	}
	v.isSaid(t, p, since)
	v.recovers(t)
	if p.sticks(v) {
		p.mend(t, v)
		v.settlesDown(t)
		v.recovers(t)
	}
	v.settlesDown(t)
	v.pageIsWell(t)
	v.keptFloor(t, since)
	over.untouched(t)
}

// wearOn lets what cannot be removed ask on for three runs.
func (v *victim) wearOn(t *testing.T, p plant) {
	t.Helper()
	v.awaitAttempts(t, len(v.attempts(t)), 3, v.patience())
	if !p.passes {
		v.pageSays(t, "cannot be emptied")
	}
}

// isSaid looks for the plant's words in journal and status.
func (v *victim) isSaid(t *testing.T, p plant, since time.Duration) {
	t.Helper()
	id := trigger.MsgCleaned
	if p.sticks(v) {
		id = trigger.MsgStuck
	}
	if p.says == "" || p.stuck != nil && !p.sticks(v) {
		if said := v.said(t, since, id, p.says); v.manager() != nil && len(said) > 0 {
			t.Errorf("the journal says %q of what is in order", said)
		}
		return
	}
	v.eventually(t, v.patience(), fmt.Sprintf("journal and status say %q", p.says), func() bool {
		text, _ := v.page(t)
		return (p.passes || strings.Contains(text, p.says)) && strings.Contains(strings.Join(v.said(t, since, id, p.says), "\n"), p.says)
	})
	if p.kills && v.manager() != nil {
		v.isAlarmed(t, since)
	}
}
