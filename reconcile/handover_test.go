package reconcile_test

import (
	"context"
	"testing"

	"trueup/reconcile"
)

// Whoever gives a lease back looks for owed targets that it excluded. Each test here is a way to leave one to nobody, found
// by package simtest.

// once calls something during the first of a target's ticks.
func once(do func()) play {
	begun := false
	return func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		if !begun {
			begun = true
			do()
		}
		return fine(ctx, run)
	}
}

// A tick by hand of a looks for b, which it excluded, and ticks it; while it does, c is asked for, which b excludes and a
// does not.
func TestHandOverGoesOn(t *testing.T) {
	s := newStage(t)
	other := s.beside("another")
	s.declare("a", fine, "x")
	s.declare("b", fine, "x", "y")
	s.declare("c", fine, "y")
	s.sweep(s.claim())
	other.Targets = s.Targets
	elsewhere := func(name string) func() {
		return func() {
			o, err := other.Sweep(t.Context(), s.claim(name))
			if key := reconcile.Key("command:" + name); err != nil || o.Reports[key].State != reconcile.Elsewhere {
				t.Errorf("%s is %+v, %v; want it held elsewhere", name, o.Reports[key], err)
			}
		}
	}
	s.plays("a", once(elsewhere("b")))
	s.plays("b", once(elsewhere("c")))
	if _, err := s.Tick(t.Context(), "command:a", "by hand"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		equal(t, s.standing(name).Owed(), false, name+" is owed")
	}
}

// A sweep is refused c by who ticks a. That one gives a back and looks for c, and is refused by the sweep, which ticks b.
func TestHandOverBetweenTwo(t *testing.T) {
	s := newStage(t)
	s.Parallel = 1
	other := s.beside("another")
	s.declare("a", fine, "x")
	s.declare("b", fine, "y")
	s.declare("c", fine, "x", "y")
	s.sweep(s.claim())
	s.sweep(s.claim("b"))
	other.Targets = s.Targets
	other.Tickers = map[reconcile.Key]reconcile.Ticker{"command:a": s.Tickers["command:a"], "command:c": s.Tickers["command:c"]}
	bIsTicked, aIsBack := make(chan struct{}), make(chan error)
	s.plays("b", once(func() {
		close(bIsTicked)
		if err := <-aIsBack; err != nil {
			t.Error(err)
		}
	}))
	aIsTicked := make(chan struct{})
	other.Tickers["command:a"] = once(func() {
		close(aIsTicked)
		<-bIsTicked
	})
	go func() {
		_, err := other.Tick(t.Context(), "command:a", "by hand")
		aIsBack <- err
	}()
	<-aIsTicked
	s.sweep(s.claim("c", "b")) // c first, since it was covered longer ago
	equal(t, s.standing("c").Owed(), false, "c is owed")
}
