package postgres

import (
	"context"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// TestLeaveTakesItsTime: who closes a ledger keeps others from writing for as long as its copy takes, and not for longer once it
// stands still.
func TestLeaveTakesItsTime(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := openWith(t, url, Options{Holder: "a mover", Patience: 300 * time.Millisecond})
	defer s.Close()
	other := opened(t, url)
	asks := reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}

	still, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := alone(t.Context(), still, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := other.Commit(t.Context(), asks); err != nil {
		t.Errorf("others are kept from writing by who stands still: %v", err)
	}
	if err := still.Commit(t.Context()); err == nil {
		t.Error("who stood still goes on")
	}

	err = s.Leave(t.Context(), "elsewhere", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(1500 * time.Millisecond):
			return nil
		}
	})
	if err != nil {
		t.Errorf("closing took long: %v", err)
	}
	if place, err := other.Closed(t.Context()); err != nil || place != "elsewhere" {
		t.Errorf("it has moved to %q, %v", place, err)
	}
}
