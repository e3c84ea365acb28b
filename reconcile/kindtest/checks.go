package kindtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

func dryRun[W any](h *host[W]) {
	before := h.State()
	first, second := h.outlook(), h.outlook()
	if n := h.Writes(); n != 0 || h.State() != before {
		h.Errorf("a dry run wrote %d times outside", n)
	}
	if len(first.Do) == 0 {
		h.Errorf("a dry run finds nothing to do in a world that is not as it is wanted")
	}
	if first.Plan.Digest() != second.Plan.Digest() {
		h.Errorf("two plans of the same world differ, so no approval could be about one:\n%v\n%v", first.Plan, second.Plan)
	}
	if runs := h.runs(); len(runs) != 0 {
		h.Errorf("a dry run left %d runs in the ledger", len(runs))
	}
}

func oneTick[W any](h *host[W]) {
	planned := h.outlook().Do
	report, err := h.sweep(&probe{})
	if err != nil || report.State != reconcile.OK {
		h.Fatalf("one tick ended as %+v, %v", report, err)
	}
	if got := h.State(); got != h.Want {
		h.Errorf("after one tick it is\n%s\nand not\n%s", got, h.Want)
	}
	if report.Changes != len(planned) {
		h.Errorf("%d changes were planned and %d done", len(planned), report.Changes)
	}
}

func secondTick[W any](h *host[W]) {
	h.converges("the first tick")
	writes, runs := h.Writes(), len(h.runs())
	for range 2 {
		report, err := h.sweep(&probe{})
		if err != nil || report.State != reconcile.OK || report.Changes != 0 {
			h.Errorf("a tick with nothing to do ended as %+v, %v", report, err)
		}
	}
	if more := h.Writes() - writes; more != 0 {
		h.Errorf("ticks with nothing to do wrote %d times outside", more)
	}
	if more := len(h.runs()) - runs; more != 0 {
		h.Errorf("ticks with nothing to do left %d runs", more)
	}
}

// failingChange lets each change fail in its turn, undone. lyingFailure lets it be done first.
func failingChange[W any](h *host[W]) { failing(h, false) }
func lyingFailure[W any](h *host[W])  { failing(h, true) }

func failing[W any](h *host[W], done bool) {
	for _, c := range h.outlook().Do {
		h.again().fails(c.ID, done)
	}
}

func (h *host[W]) fails(victim string, done bool) {
	h.Helper()
	planned := h.outlook().Do
	report, err := h.sweep(&probe{at: func(_ int, call string, after bool) error {
		if call == "apply "+victim && after == done {
			return errRefused
		}
		return nil
	}})
	if err != nil || report.State != reconcile.Failing || report.Run == "" {
		h.Fatalf("a tick of which %q failed ended as %+v, %v", victim, report, err)
	}
	run := h.runs()[0]
	if !run.Failed(victim) || run.Phase != reconcile.Broken {
		h.Errorf("run %s does not say that %q failed", run.Lease.Run, victim)
	}
	for _, c := range planned {
		if !run.Applied(c.ID) && !run.Failed(c.ID) {
			h.Errorf("%q was not tried, since %q had failed", c.ID, victim)
		}
	}
	before := len(h.applied)
	h.converges(fmt.Sprintf("%q failed", victim))
	for _, c := range h.applied[before:] {
		if run.Applied(c.ID) {
			h.Errorf("%q was done again though its run says that it was done", c.ID)
		}
	}
}

func unreadable[W any](h *host[W]) {
	h.Dark(true)
	report, err := h.sweep(&probe{})
	if err != nil || report.State != reconcile.Uncertain || h.Writes() != 0 {
		h.Errorf("unreadable, the tick ended as %+v, %v, with %d writes", report, err, h.Writes())
	}
	h.Dark(false)
	h.converges("it was unreadable")
}

func unreadablePolicy[W any](h *host[W]) {
	if h.Reader == nil {
		return // the kind has no policy
	}
	read := h.Reader
	h.Reader = func() plan.Reader { return blind{} }
	report, err := h.sweep(&probe{})
	if err != nil || report.State != reconcile.Uncertain || h.Writes() != 0 {
		h.Errorf("with a policy that cannot be read the tick ended as %+v, %v, with %d writes", report, err, h.Writes())
	}
	h.Reader = read
	h.converges("its policy was unreadable")
}

// blind is a reader that cannot read.
type blind struct{}

// Read fails.
func (blind) Read(context.Context, policy.Source, policy.Moment) (policy.Document, error) {
	return policy.Document{}, &reconcile.UnknownError{Err: errors.New("the source is gone")}
}

func firstRun[W any](h *host[W]) {
	h.ledger += ".new"
	h.holds()
}

func boundTrips[W any](h *host[W]) {
	h.Options.Breaker = plan.Breaker{}
	h.holds()
}

// holds shows that removals wait, that the rest is done, that nothing is raised twice, and that an approval lets them go.
func (h *host[W]) holds() {
	h.Helper()
	if h.Gentle {
		return
	}
	for range 3 {
		report, err := h.sweep(&probe{})
		if err != nil || report.State != reconcile.Held {
			h.Fatalf("a tick whose removals have to wait ended as %+v, %v", report, err)
		}
	}
	var removed, made int
	for _, c := range h.applied {
		if c.Op == reconcile.Remove {
			removed++
		} else {
			made++
		}
	}
	if removed != 0 || made == 0 {
		h.Errorf("while removals waited, %d were done, and %d other changes", removed, made)
	}
	runs := h.runs()
	if held := slices.DeleteFunc(slices.Clone(runs), func(r reconcile.History) bool { return r.Hold == nil }); len(held) != 1 || len(runs) != 1 {
		h.Fatalf("what waits was raised by %d of %d runs, in three ticks", len(held), len(runs))
	}
	h.approve()
	h.converges("the removals were approved")
}

// approve allows what the latest run held back.
func (h *host[W]) approve() {
	h.Helper()
	run := h.runs()[0].Lease.Run
	h.process(func(ctx context.Context, l reconcile.Ledger) {
		if _, err := plan.Approve(ctx, l, plan.Allowance{Run: run, By: "kindtest", For: ttl}); err != nil {
			h.Fatal(err)
		}
	})
}
