package kindtest

import (
	"context"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// A World is an outside that is not as it is wanted, and the kind that is to make it so. Something in it has to be
// created, and something removed, within the bounds of the options' breaker.
type World[W any] struct {
	Target reconcile.Target
	// Kind makes the kind as a new process does: what it has cached is gone, the outside is the same.
	Kind    func() plan.Kind[W]
	Reader  func() plan.Reader // likewise; nil without a policy
	Options plan.Options[W]
	// Writes counts the external writes that have arrived outside, done or refused.
	Writes func() int
	// State tells what is so, as text, without the help of the kind. Want is the text where all is as it is wanted.
	State func() string
	Want  string
	// Gentle says that the kind never removes anything, so that there are no removals to be held.
	Gentle bool
	// Dark makes the outside unreadable, and readable again.
	Dark func(bool)
}

// Run runs the suite. Each test stands up a world of its own.
func Run[W any](t *testing.T, stand func(testing.TB) World[W]) {
	for _, c := range Checks(stand) {
		t.Run(c.Name, func(t *testing.T) { c.Run(t) })
	}
}

// A Check is one thing that every kind must show.
type Check struct {
	Name string
	Run  func(testing.TB)
}

// Checks are the tests of the suite.
func Checks[W any](stand func(testing.TB) World[W]) []Check {
	check := func(name string, run func(*host[W])) Check {
		return Check{name, func(t testing.TB) { run(newHost(t, stand)) }}
	}
	return []Check{
		check("a dry run writes nothing", dryRun[W]),
		check("one tick makes it true", oneTick[W]),
		check("a second tick does nothing", secondTick[W]),
		check("a change that fails is recorded and resumed", failingChange[W]),
		check("a change that was done and reported as failed", lyingFailure[W]),
		check("what cannot be read is not empty", unreadable[W]),
		check("a policy that cannot be read is not empty", unreadablePolicy[W]),
		check("removals wait on the first run", firstRun[W]),
		check("the bound trips before the first removal", boundTrips[W]),
		check("a lost lease stops the next write", lostLease[W]),
		check("cancelled at any call", cancelledAnywhere[W]),
		check("killed at any call", killedAnywhere[W]),
		check("killed while approved removals are done", killedApproved[W]),
	}
}

// probed is the kind with a probe before it. Its changes are noted as they come back from the outside.
type probed[W any] struct {
	plan.Kind[W]
	probe *probe
	note  func(reconcile.Change)
}

// asker is a probed kind that can ask.
type asker[W any] struct {
	probed[W]
	plan.Asker[W]
}

func probeKind[W any](k plan.Kind[W], p *probe, note func(reconcile.Change)) plan.Kind[W] {
	if asks, can := k.(plan.Asker[W]); can {
		return asker[W]{probed[W]{k, p, note}, asks}
	}
	return probed[W]{k, p, note}
}

// Observe is the kind's, at a point of the probe.
func (k probed[W]) Observe(ctx context.Context, in plan.Input) (seen W, err error) {
	at, err := k.probe.before("observe")
	if err != nil {
		return seen, err
	}
	seen, err = k.Kind.Observe(ctx, in)
	return seen, k.probe.after(at, err)
}

// Apply is the kind's, at a point of the probe, as is each look at the lease within it.
func (k probed[W]) Apply(ctx context.Context, in plan.Input, seen W, c reconcile.Change) error {
	at, err := k.probe.before("apply " + c.ID)
	if err != nil {
		return err
	}
	if err = k.Kind.Apply(ctx, in, seen, c); err == nil {
		k.note(c)
	}
	return k.probe.after(at, err)
}
