package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
)

// A cellar is an archive that tells how often it was pruned.
type cellar struct {
	reconcile.Archive
	keep []reconcile.Retention
	say  reconcile.Pruned
	err  error
}

func (c *cellar) Prune(_ context.Context, r reconcile.Retention) (reconcile.Pruned, error) {
	c.keep = append(c.keep, r)
	return c.say, c.err
}

// TestSweepsPruneOnceADay: work that is left over is the next sweep's, a failure is no failure of the sweep's.
func TestSweepsPruneOnceADay(t *testing.T) {
	s := newStage(t, "one")
	c := &cellar{say: reconcile.Pruned{Runs: 3, More: true}, err: errors.New("the disk is full")}
	s.Archive, s.Keep = c, reconcile.Retention{Keep: time.Hour, Runs: 7}
	if o := s.sweep(s.claim()); o.PruneError == nil || len(o.Failed()) > 0 || o.Covered != 1 {
		t.Errorf("pruning failed, and the sweep says %+v", o)
	}
	c.err = nil
	for range 2 {
		if o := s.sweep(s.claim()); o.PruneError != nil || o.Pruned.Runs != 3 {
			t.Errorf("the sweep says %+v", o)
		}
	}
	c.say.More = false
	for range 3 {
		s.sweep(s.claim())
	}
	if len(c.keep) != 4 {
		t.Fatalf("pruned %d times; want it until nothing is left, and not again", len(c.keep))
	}
	if k := c.keep[0]; k.Keep != time.Hour || k.Runs != 7 || k.Most == 0 {
		t.Errorf("pruned by %+v, want bounded work by what was configured", k)
	}
	for _, later := range []struct {
		by   time.Duration
		want int
	}{{23 * time.Hour, 4}, {25 * time.Hour, 5}} {
		store, err := sqlite.Open(t.Context(), s.path, sqlite.Options{Clock: func() time.Time { return time.Now().Add(later.by) }})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s.Ledger = store
		s.sweep(s.claim())
		if len(c.keep) != later.want {
			t.Errorf("%s later: pruned %d times, want %d", later.by, len(c.keep), later.want)
		}
	}
}

// TestPruneAfterALeap: a clock that was far ahead once does not keep sweeps from pruning until it comes by again.
func TestPruneAfterALeap(t *testing.T) {
	s := newStage(t, "one")
	c := &cellar{}
	s.Archive = c
	ahead, err := sqlite.Open(t.Context(), s.path, sqlite.Options{Clock: func() time.Time { return time.Now().AddDate(10, 0, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer ahead.Close()
	s.Ledger = ahead
	s.sweep(s.claim())
	s.Ledger = s.store
	for range 3 {
		if o := s.sweep(s.claim()); o.PruneError != nil {
			t.Error(o.PruneError)
		}
	}
	if len(c.keep) != 2 {
		t.Errorf("pruned %d times, want once by each clock", len(c.keep))
	}
}

// TestSweepsWithoutArchive leave the ledger as it is.
func TestSweepsWithoutArchive(t *testing.T) {
	s := newStage(t, "one")
	s.sweep(s.claim())
	if records, err := s.store.Records(t.Context(), "prune", ""); err != nil || len(records) > 0 {
		t.Errorf("records %+v, %v", records, err)
	}
}
