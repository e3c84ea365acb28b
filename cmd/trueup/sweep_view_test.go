package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
	"trueup/reconcile/trigger"
)

// An audience hears what a view says.
type audience struct {
	*sweepView
	ledger *sqlite.Store
	heard  []trigger.Event
}

func hear(t *testing.T, targets ...reconcile.Key) *audience {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	a := &audience{ledger: ledger}
	var declared []reconcile.Target
	for _, key := range targets {
		declared = append(declared, reconcile.Target{Key: key})
	}
	a.sweepView = watchSweep(t.Context(), newUI(new(bytes.Buffer), new(bytes.Buffer)), ledger, declared, true)
	a.log = func(e trigger.Event) { a.heard = append(a.heard, e) }
	return a
}

// told are the messages of a kind.
func (a *audience) told(id string) (messages []string) {
	for _, e := range a.heard {
		if e.ID == id {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func (a *audience) hold(t *testing.T, key reconcile.Key, run string) {
	t.Helper()
	value := fmt.Sprintf(`{"run": %q, "digest": "d", "changes": ["a"], "why": "too many"}`, run)
	b := reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: string(key), Value: []byte(value)}}}
	if err := a.ledger.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// The alarm is raised once for each hold, whatever the tick's outcome was; a sweep that was killed before it could raise it
// leaves it to the next, and so does a tick that died.
func TestAlarmIsRaisedOnce(t *testing.T) {
	a := hear(t, "command:a", "command:b", "command:c")
	a.hold(t, "command:a", "r-aaaaa")
	a.hold(t, "command:b", "r-bbbbb")
	a.hold(t, "command:c", "r-ccccc")
	a.hold(t, "command:others", "r-ddddd") // somebody else's target
	a.tell("command:a", reconcile.Report{State: reconcile.Held, Note: "too many", Run: "r-aaaaa", Own: "r-aaaaa", Held: "r-aaaaa"})
	a.tell("command:b", reconcile.Report{State: reconcile.Failing, Note: "403", Run: "r-bbbbb", Own: "r-bbbbb", Held: "r-bbbbb"})
	if got := a.told(msgHeld); len(got) != 2 || !strings.Contains(got[0], "command:a: held: too many; trueup show r-aaaaa, trueup approve r-aaaaa") {
		t.Errorf("the ticks raise %q", got)
	}
	if got := a.told(msgTicked); len(got) != 1 || !strings.Contains(got[0], "command:b: failing: 403") {
		t.Errorf("the ticks say %q", got)
	}
	for range 2 {
		a.end(reconcile.Outcome{}, nil) // the tick of c died, or the sweep that had ticked it
		a.tell("command:a", reconcile.Report{State: reconcile.Held, Note: "too many", Run: "r-aaaaa", Held: "r-aaaaa"})
	}
	if got := a.told(msgHeld); len(got) != 3 || !strings.Contains(got[2], "command:c") {
		t.Errorf("raised were %q", got)
	}
}

// A request for what is not declared may come a thousand times from a hostile container, every floor: it is one entry.
func TestStrangeRequestsAreOneEntry(t *testing.T) {
	a := hear(t)
	var strange []reconcile.Key
	for i := range 1024 {
		strange = append(strange, reconcile.Key(fmt.Sprintf("command:stranger%04d", i)))
	}
	a.end(reconcile.Outcome{Strange: strange}, nil)
	if got := a.told(msgStrange); len(got) != 1 || !strings.Contains(got[0], "1,024 requests") {
		t.Fatalf("told %d times", len(got))
	}
	fields := a.heard[0].Fields
	if names := strings.Fields(fields["TRUEUP_TARGETS"]); len(names) != 10 || fields["TRUEUP_COUNT"] != "1024" {
		t.Errorf("the fields are %v", fields)
	}
}

// A sweep that could not use the ledger has swept nothing, and does not say that it had.
func TestFailedSweepIsNotSummedUp(t *testing.T) {
	a := hear(t)
	if a.end(reconcile.Outcome{}, errors.New("the disk is full")); len(a.heard) != 0 {
		t.Errorf("told: %v", a.heard)
	}
}

// What commands print reaches the journal with their run, and no terminal obeys it. Ticks that tell nothing new print nothing.
func TestPrintedGoesToTheJournal(t *testing.T) {
	a := hear(t, "command:a")
	answers, err := a.ledger.Grant(t.Context(), []reconcile.Bid{{Target: "command:a", Scopes: []reconcile.Scope{"command:a"}}}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l := answers[0].Lease
	end := reconcile.Settlement{Lease: l, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Succeeded{}}, Report: reconcile.Report{State: reconcile.OK},
		Logs: []reconcile.Log{{Run: l.Run, Stream: "check", Text: "one\n\u202etwo\n"}}}
	if answers, err := a.ledger.Settle(t.Context(), []reconcile.Settlement{end}); err != nil || answers[0] != nil {
		t.Fatal(err, answers)
	}
	report := reconcile.Report{State: reconcile.OK, Note: "a\x1b[2Jb", Run: l.Run, Own: l.Run}
	a.tell("command:a", report) // by hand
	if got := a.told(msgPrinted); len(got) != 0 {
		t.Errorf("a person is told %q", got)
	}
	if got := a.told(msgTicked); len(got) != 1 || got[0] != `command:a: ok: a\x1b[2Jb` {
		t.Errorf("told %q", got)
	}
	a.service = true
	a.tell("command:a", report)
	a.tell("command:a", reconcile.Report{State: reconcile.OK, Run: l.Run})
	last := a.heard[len(a.heard)-1]
	if got := a.told(msgPrinted); len(got) != 1 || got[0] != "one\n\\u202etwo" {
		t.Errorf("printed was %q", got)
	}
	if f := last.Fields; f["TRUEUP_TARGET"] != "command:a" || f["TRUEUP_RUN"] != string(l.Run) || f["TRUEUP_STREAM"] != "check" {
		t.Errorf("the fields are %v", f)
	}
}

// What a tick waits for stands in the journal once, and in the service's status until the tick ends.
func TestWaitIsShown(t *testing.T) {
	a := hear(t, "command:a", "command:b")
	a.progress(reconcile.Progress{Target: "command:a", Waits: "dd (4711)"})
	a.progress(reconcile.Progress{Target: "command:b", Report: &reconcile.Report{State: reconcile.OK}, Done: 1, Total: 2})
	if got := a.status(1, 2); got != "1 of 2 targets; command:a waits for dd (4711)" {
		t.Errorf("the status is %q", got)
	}
	a.progress(reconcile.Progress{Target: "command:a", Report: &reconcile.Report{State: reconcile.OK}, Done: 2, Total: 2})
	if got := a.status(2, 2); got != "2 of 2 targets" {
		t.Errorf("the status is %q", got)
	}
	if got := a.told(msgTicked); len(got) != 1 || got[0] != "command:a: waits for dd (4711)" {
		t.Errorf("the journal has %q", got)
	}
}
