package trigger

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What a retry took up is told apart from what it owes, so that a run need not repeat what has succeeded.
func TestFreshIsWhatTheAttemptTookUp(t *testing.T) {
	h := newHost(t)
	fresh := func(when string, want Asked) {
		t.Helper()
		h.clock.pass(time.Second)
		if c := h.claim(); c.Fresh.All != want.All || !slices.Equal(c.Fresh.Requests, want.Requests) {
			t.Errorf("%s: %+v is fresh, want %+v", when, c.Fresh, want)
		}
	}
	fresh("the first claim", Asked{All: true})
	h.settle()
	h.touch("web:one")
	fresh("one by name", Asked{Requests: []string{"web:one"}})
	h.touch("web:two")
	fresh("another one, with the first one owed", Asked{Requests: []string{"web:two"}})
	h.touch()
	fresh("everything", Asked{All: true})
	fresh("a retry", Asked{})
	h.touch("web:one")
	fresh("a name, with everything owed", Asked{Requests: []string{"web:one"}})
	h.clock.pass(2 * h.Policy.Sweep)
	fresh("a retry at the time of a sweep", Asked{All: true})
	h.touch("web:three")
	fresh("a name soon after it", Asked{Requests: []string{"web:three"}})
	h.settle()
	fresh("the timer", Asked{All: true})
}

// A run that leaves a target uncovered says so, and settle covers no more than that, nor less than before.
func TestSettleCoversNoMoreThanTheRun(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	before := h.touch() // claim 1 is published: its number is the ticket's
	c := h.claim()
	if err := LagBehind(h.Folders.State, Behind{Epoch: c.Epoch, Claim: c.N, Covered: c.N - 1, Until: h.clock.wall}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if h.covers(before) {
		t.Error("a ticket is covered although a target lags behind")
	}
	c = h.claim()
	if err := LagBehind(h.Folders.State, Behind{Epoch: c.Epoch, Claim: c.N}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if s, _ := ReadStatus(h.Folders.Outbox); s.Settled != 1 {
		t.Errorf("settled went from 1 to %d", s.Settled)
	}
	h.claim() // says nothing: what the run before said is not its business
	h.settle()
	if !h.covers(before) {
		t.Error("the ticket is never covered")
	}
}

// A run for the one target that held the others' tickets back covers them, as far as it says so, and by itself nothing.
func TestRunForNamesCoversWhatItSays(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	everything := h.touch()
	c := h.claim()
	if err := LagBehind(h.Folders.State, Behind{Epoch: c.Epoch, Claim: c.N}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	for _, says := range []bool{false, true} {
		h.touch("web:last")
		one := h.claim()
		if one.All {
			t.Fatalf("claimed %+v", one)
		}
		if says {
			if err := LagBehind(h.Folders.State, Behind{Epoch: one.Epoch, Claim: one.N, Covered: c.N, Until: c.Claimed}); err != nil {
				t.Fatal(err)
			}
		}
		h.settle()
		if h.covers(everything) != says {
			t.Errorf("covered: %t, and the run has said so: %t", !says, says)
		}
	}
	if s, err := ReadStatus(h.Folders.Outbox); err != nil || s.Settled != c.N || !s.CoveredUntil.Equal(c.Claimed) {
		t.Errorf("shown: %+v, %v; want claim %d", s, err, c.N)
	}
}

// What a run said and cannot be read may have been anything.
func TestDamagedBehindCoversNothing(t *testing.T) {
	h := newHost(t)
	ticket := h.touch()
	h.claim()
	if err := os.WriteFile(filepath.Join(h.Folders.State, behindFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if h.covers(ticket) {
		t.Error("covered")
	}
}

// Targets show their own numbers, but none of another epoch, and none that was never published; the gate leaves them be.
func TestShowTargets(t *testing.T) {
	h := newHost(t)
	ticket := h.touch()
	c := h.claim()
	shown := map[string]TargetReport{
		"web:one":   {Epoch: c.Epoch, Covered: c.N, State: "ok"},
		"web:two":   {Epoch: "ELSEWHERE", Covered: c.N, State: "held"},
		"web:three": {Epoch: c.Epoch, Covered: c.N + 5, State: "ok"},
	}
	if err := ShowTargets(t.Context(), h.Folders, h.clock, shown); err != nil {
		t.Fatal(err)
	}
	h.settle()
	h.touch()
	h.claim()
	s, err := ReadStatus(h.Folders.Outbox)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]TargetStatus{"web:one": {c.N, "ok"}, "web:two": {0, "held"}, "web:three": {c.N, "ok"}}
	if fmt.Sprint(s.Targets) != fmt.Sprint(want) {
		t.Errorf("shown: %v, want %v", s.Targets, want)
	}
	// A process that has looked earlier and writes later takes nothing back.
	if err := ShowTargets(t.Context(), h.Folders, h.clock, map[string]TargetReport{"web:one": {Epoch: c.Epoch, State: "ok"}}); err != nil {
		t.Fatal(err)
	}
	if late, err := ReadStatus(h.Folders.Outbox); err != nil || late.Targets["web:one"].Settled != c.N || len(late.Targets) != 1 {
		t.Errorf("taken back: %v, %v", late.Targets, err)
	}
	for name, covered := range map[string]bool{"web:one": true, "web:two": false, "web:unknown": false} {
		if s.CoversTarget(name, ticket) != covered {
			t.Errorf("%s covers the ticket: %v", name, !covered)
		}
	}
}

// The numbers of an epoch that is over would cover the tickets of the new one.
func TestTargetsEndWithTheirEpoch(t *testing.T) {
	h := newHost(t)
	h.touch()
	c := h.claim()
	if err := ShowTargets(t.Context(), h.Folders, h.clock, map[string]TargetReport{"web:one": {Epoch: c.Epoch, Covered: c.N, State: "ok"}}); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if err := os.RemoveAll(h.Folders.State); err != nil {
		t.Fatal(err)
	}
	h.claim()
	s, err := ReadStatus(h.Folders.Outbox)
	if err != nil || s.Epoch == c.Epoch || len(s.Targets) > 0 {
		t.Errorf("epoch %s after %s shows %v, %v", s.Epoch, c.Epoch, s.Targets, err)
	}
}

// Whoever touches the sentinel asks for everything, and the timer does not, though it wants the same.
func TestTouchedIsNotTheTimer(t *testing.T) {
	h := newHost(t)
	touched := func(when string, want bool) {
		t.Helper()
		h.clock.pass(time.Second)
		if c := h.claim(); !c.All || c.Touched != want {
			t.Errorf("%s: %+v", when, c)
		}
	}
	touched("the timer", false)
	h.touch()
	touched("a touch while that is owed", true)
	touched("a retry", true)
	h.settle()
	h.clock.pass(2 * h.Policy.Sweep)
	touched("the timer again", false)
}
