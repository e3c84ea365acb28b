package trueup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// TestAdapters puts every adapter through one table, each in its own runtime and before a real trigger.
func TestAdapters(t *testing.T) {
	built := build(t)
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { c.play(t, a, a.start(t), newStage(t, built)) })
			}
		})
	}
}

var cases = []struct {
	name string
	play func(*testing.T, adapter, *driver, *stage)
}{
	{"covered exactly when live", coveredWhenLive},
	{"a failing run", failingRun},
	{"a new epoch", newEpoch},
	{"by target", byTarget},
	{"clock set back", clockSetBack},
	{"two writers", twoWriters},
	{"waits", waits},
	{"environment", environment},
	{"names", names},
	{"tickets", tickets},
	{"a strange outbox", strangeOutbox},
	{"a spool that cannot be written", closedSpool},
	{"a planted spool", plantedSpool},
}

// A run that had read before the commit covers nothing of it, and the next one does (TRG-04, TRG-13, TRG-14, RTL-09, CTR-08).
func coveredWhenLive(t *testing.T, _ adapter, d *driver, s *stage) {
	s.start()
	s.reading()
	s.commit("ada")
	late := d.get("request", s) // while the first run is on, which has read
	if parsed, err := trigger.ParseTicket(late); err != nil || parsed != s.shown().Ticket() {
		t.Errorf("the ticket is %q, %v", late, err)
	}
	if state := d.get("state", s, late); state != "running" {
		t.Errorf("while the run is on the state is %s", state)
	}
	s.put("leave", "")
	s.reading() // the first has settled, and the second holds
	if s.shown().Settled == 0 {
		t.Fatal("the first run has not settled")
	}
	if d.get("covered", s, late) != "false" || s.live("ada") {
		t.Error("covered by a run that had read before the commit")
	}
	s.put("free", "")
	until(t, "it is covered", func() bool { return d.get("covered", s, late) == "true" })
	if !s.live("ada") {
		t.Error("covered, and not live")
	}
	if state := d.get("state", s, late); state != "live" {
		t.Errorf("covered, and the state is %s", state)
	}
}

// What fails is never called live, and is once it is mended (TRG-04).
func failingRun(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	s.put("broken", "")
	s.commit("ada")
	ticket := d.get("request", s)
	until(t, "it is told", func() bool { return d.get("state", s, ticket) == "failing" })
	if d.get("covered", s, ticket) != "false" {
		t.Error("covered by a run that failed")
	}
	s.remove("broken")
	until(t, "it is covered", func() bool { return d.get("covered", s, ticket) == "true" })
	if !s.live("ada") {
		t.Error("covered, and not live")
	}
}

// A host that has lost its numbers says so by a new epoch: a success since then covers what was asked before, and nothing else.
func newEpoch(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	ticket := d.get("request", s)
	until(t, "it is covered", func() bool { return d.get("covered", s, ticket) == "true" })
	s.stop()
	s.remove("free")
	s.remove("reading")
	s.commit("ada")
	ticket = d.get("request", s)
	s.remove("state")
	s.start()
	s.reading()
	if shown := s.shown(); strings.HasPrefix(ticket, shown.Epoch) || d.get("covered", s, ticket) != "false" {
		t.Errorf("covered before any success: %s, %+v", ticket, shown)
	}
	s.put("free", "")
	until(t, "it is covered", func() bool { return d.get("covered", s, ticket) == "true" })
	if !s.live("ada") {
		t.Error("covered, and not live")
	}
}

const configuration = `version: 1
trigger: {spool: @/spool, state: @/state, floor: 100ms, retry_max: 200ms}
outbox: @/outbox
targets:
- {kind: command, name: well, dir: @, check: {shell: cmp -s database live || exit 2}, apply: {shell: cp database live}}
- {kind: command, name: ill, dir: @, check: {shell: test ! -e broken || exit 2}, apply: {shell: test ! -e broken}}
`

// A target's own number is enough for who asks for it, whatever becomes of the others. No target of that name covers nothing:
// it is for the run for everything to say that all that there is has been done.
func byTarget(t *testing.T, _ adapter, d *driver, s *stage) {
	s.put("trueup.yaml", strings.ReplaceAll(configuration, "@", s.dir))
	s.command = []string{s.trueup, "sweep", "-c", filepath.Join(s.dir, "trueup.yaml")}
	s.settled()
	s.put("broken", "")
	s.commit("ada")
	all := d.get("request", s)
	ticket := d.get("request", s, "command:well", "command:ill")
	until(t, "the target is covered", func() bool { return d.get("covered", s, ticket, "command:well") == "true" })
	if !s.live("ada") {
		t.Error("covered, and not live")
	}
	for _, covered := range []string{d.get("covered", s, all), d.get("covered", s, ticket, "command:ill"),
		d.get("covered", s, ticket, "command:well", "command:ill"), d.get("covered", s, ticket, "command:nobody"),
		d.get("covered", s, ticket, "command:well", "command:nobody")} {
		if covered != "false" {
			t.Error("the target that fails, or one that is not there, is covered")
		}
	}
	s.remove("broken")
	d.get("request", s, "command:nobody", "command:ill")
	until(t, "all is covered", func() bool { return d.get("covered", s, all) == "true" })
	if d.get("covered", s, ticket, "command:nobody") != "true" {
		t.Error("the run for everything has not covered a target that is not there")
	}
}

// No clock has a say: neither those of the files nor the one that is shown to people.
func clockSetBack(t *testing.T, _ adapter, d *driver, s *stage) {
	s.settled()
	before := d.get("request", s)
	until(t, "it is covered", func() bool { return d.get("covered", s, before) == "true" })
	s.stop()
	after := d.get("request", s)
	long := time.Unix(1, 0)
	s.show(func(fields map[string]any) { fields["covered_until"] = long })
	for _, path := range []string{s.outbox + "/status.json", s.spool + "/sentinel", s.spool} {
		check(t, os.Chtimes(path, long, long))
	}
	if d.get("covered", s, before) != "true" || d.get("covered", s, after) != "false" {
		t.Error("another clock, another answer")
	}
	if again := d.get("request", s); again != after {
		t.Errorf("another clock, another ticket: %s, and %s before", again, after)
	}
	s.start()
	until(t, "it is covered", func() bool { return d.get("covered", s, after) == "true" })
}

// Two processes ask at once, for everything and by name, while the host takes: none fails, and all become live.
func twoWriters(t *testing.T, a adapter, d *driver, s *stage) {
	s.settled()
	var both sync.WaitGroup
	var rows, tickets [2][9]string
	for i, d := range []*driver{d, a.start(t)} {
		both.Go(func() {
			for j := range rows[i] {
				rows[i][j] = fmt.Sprintf("%d-%d", i, j)
				s.commit(rows[i][j])
				name := [][]string{nil, {"command:one"}, {"command:one", "command:two"}}[j%3]
				ticket, err := d.ask("request", s, name...)
				if err != nil {
					t.Errorf("request %q: %v", name, err)
				}
				tickets[i][j] = ticket
			}
		})
	}
	both.Wait()
	d.get("request", s) // what was asked by name is covered by a run for everything
	for i := range tickets {
		for j, ticket := range tickets[i] {
			until(t, "it is covered", func() bool { return d.get("covered", s, ticket) == "true" })
			if !s.live(rows[i][j]) {
				t.Errorf("%s is covered, and %s not live", ticket, rows[i][j])
			}
		}
	}
}

func waits(t *testing.T, a adapter, d *driver, s *stage) {
	if !a.waits {
		return // nothing that serves requests is to wait in one
	}
	s.settled()
	s.commit("ada")
	if ticket := d.get("request", s); d.get("wait", s, "60", ticket) != "true" || !s.live("ada") {
		t.Error("it has waited, and the row is not live")
	}
	s.stop()
	if d.get("wait", s, "0", d.get("request", s)) != "false" {
		t.Error("it takes for covered what nobody has run for")
	}
}

// The folders are those of the environment, which trueup touch goes by as well, unless others are named.
func environment(t *testing.T, a adapter, _ *driver, s *stage) {
	s.settled()
	d := a.start(t, "TRUEUP_SPOOL="+s.spool, "TRUEUP_OUTBOX="+s.outbox)
	s.commit("ada")
	ticket := d.get("request", &stage{spool: "-", outbox: "-"})
	until(t, "it is covered", func() bool { return d.get("covered", &stage{spool: "-", outbox: "-"}, ticket) == "true" })
	if !s.live("ada") {
		t.Error("covered, and not live")
	}
}
