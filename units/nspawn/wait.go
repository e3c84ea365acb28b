package nspawn

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// pause is the time between two looks of [Poll].
const pause = 10 * time.Millisecond

// Poll looks until cond holds and returns nil, or returns the cause of the
// context's end. It is the only place where this package waits for something
// that sends no signal.
func Poll(ctx context.Context, cond func() bool) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Eventually fails the test now unless cond comes to hold within the given
// time; what says in a phrase what is waited for.
func Eventually(t testing.TB, within time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), within, fmt.Errorf("not within %v", within))
	defer cancel()
	if err := Poll(ctx, cond); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
