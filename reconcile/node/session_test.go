package node_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/node"
)

// TestSessions: a process that begins when none of the node lives gives back what its dead forerunners held, in a new
// session (LCK-20); one that begins beside another takes nothing from it (LCK-03).
func TestSessions(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	before := h.fenced("host-a")
	first := h.begin(f)
	if h.fenced("host-a") != before+1 {
		t.Error("what was held before is not given back")
	}
	beside := h.begin(f)
	if h.fenced("host-a") != before+1 {
		t.Error("a process beside another has taken its leases away")
	}
	if beside.Node.Session != first.Node.Session || !h.takes(first) || !h.takes(beside) {
		t.Errorf("sessions %v and %v", first.Node.Session, beside.Node.Session)
	}
	first.Close()
	beside.Close()
	next := h.begin(f)
	if h.fenced("host-a") != before+2 || next.Node.Session.N <= first.Node.Session.N {
		t.Errorf("a new session: %v after %v", next.Node.Session, first.Node.Session)
	}
}

// TestCopiedFolder: of two hosts with one identity the second to begin is refused, and so is the first once the second has one
// more session.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	h.begin(f).Close()
	twin := copied(t, f)
	working := h.begin(f)
	h.refused(twin, node.ErrElsewhere)
	if !h.takes(working) {
		t.Error("the copy has stopped the other")
	}
	working.Close()

	twin = copied(t, f)
	other := h.begin(twin)
	defer other.Close()
	h.refused(f, node.ErrElsewhere)
	h.enrol(f, node.Enrolment{Name: "host-a", Replace: true}) // the way out: a key of its own
	h.begin(f)
	if _, err := other.Takes(t.Context()); !errors.Is(err, node.ErrElsewhere) {
		t.Errorf("the copy still takes targets: %v", err)
	}
}

// TestLedgerFromABackup: sessions that the ledger has forgotten are no second host's.
func TestLedgerFromABackup(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	h.begin(f).Close()
	old, err := h.Records(t.Context(), reconcile.NodeFamily, "host-a")
	if err != nil {
		t.Fatal(err)
	}
	h.begin(f).Close()
	last := h.begin(f)
	last.Close()
	if h.leaps != 0 {
		t.Error("the numbers leap in a ledger that is as it was")
	}
	h.restore(old[0])
	s := h.begin(f)
	if s.Node.Session.N <= last.Node.Session.N || h.leaps != 1 {
		t.Errorf("session %d after %d, and %d leaps", s.Node.Session.N, last.Node.Session.N, h.leaps)
	}
	s.Close()
	if h.begin(f); h.leaps != 1 {
		t.Errorf("the numbers leap %d times", h.leaps)
	}
}

// TestKilledInBegin: whichever of folder and ledger was written last, the next process begins (PGL-12).
func TestKilledInBegin(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	file := filepath.Join(string(f), "node.json")
	for _, killed := range []string{"before the ledger has it", "after the ledger has it"} {
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := h.Records(t.Context(), reconcile.NodeFamily, "host-a")
		if err != nil {
			t.Fatal(err)
		}
		h.begin(f).Close()
		if killed == "before the ledger has it" {
			h.restore(recorded[0])
		}
		// the folder as it is between the two: the session is next, and not known to be in the ledger
		var was, is map[string]any
		now, err := os.ReadFile(file)
		if err := errors.Join(err, json.Unmarshal(before, &was), json.Unmarshal(now, &is)); err != nil {
			t.Fatal(err)
		}
		is["session"] = was["session"]
		text, _ := json.Marshal(is)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		h.begin(f).Close()
	}
}

// TestPresence is by the store's clock: a node is absent once it has missed three sweeps.
func TestPresence(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	if h.node("host-a").Present {
		t.Error("it is present and has never swept")
	}
	h.begin(f).Close()
	began := h.clock()
	h.advance(3 * every)
	if n := h.node("host-a"); !n.Present || n.Seen.Sub(began).Abs() > time.Millisecond {
		t.Errorf("after three intervals: %+v, last seen %s after it was", n, n.Seen.Sub(began))
	}
	h.advance(every)
	if n := h.node("host-a"); n.Present || n.Seen.IsZero() {
		t.Errorf("after four intervals: %+v", n)
	}
	h.begin(f)
	if !h.node("host-a").Present {
		t.Error("it is back, and absent")
	}
}

func TestDraining(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	s := h.begin(h.host("host-a"))
	if !h.takes(s) {
		t.Error("it takes nothing")
	}
	for _, drains := range []bool{true, false} {
		if _, err := node.Drain(t.Context(), h, "host-a", drains); err != nil {
			t.Fatal(err)
		}
		if h.takes(s) == drains || h.node("host-a").Takes() == drains {
			t.Errorf("drained %t: it takes targets %t", drains, h.takes(s))
		}
	}
	if _, err := node.Drain(t.Context(), h, "host-b", true); !errors.Is(err, node.ErrNone) {
		t.Errorf("draining nobody: %v", err)
	}
}

// TestForgedRecord: a node whose record its key has not signed is not present.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	s := h.begin(h.host("host-a"))
	found, err := h.Records(t.Context(), reconcile.NodeFamily, "host-a")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(found[0].Value, &fields); err != nil {
		t.Fatal(err)
	}
	fields["labels"] = []string{"vault"}
	found[0].Value, _ = json.Marshal(fields)
	h.restore(found[0])
	if h.node("host-a").Present {
		t.Error("labels that its host has not signed are believed")
	}
	if _, err := s.Takes(t.Context()); !errors.Is(err, node.ErrElsewhere) {
		t.Errorf("it goes on under a forged record: %v", err)
	}
}

func TestDamagedIdentity(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	if err := os.WriteFile(filepath.Join(string(f), "node.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.refused(f, node.ErrNotEnrolled)
	h.enrol(f, node.Enrolment{Name: "host-a", Replace: true})
	h.begin(f)
}
