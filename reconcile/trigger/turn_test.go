package trigger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// another is a second gate on the same folders, as a run by hand or a second service would be.
func (h *host) another() *host {
	gate := *h.Gate
	return &host{Gate: &gate, t: h.t, clock: h.clock}
}

// A gate that waits while another claims and settles waits out the floor of that success too (I2).
func TestFloorAfterAnothersRun(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	h.touch()
	h.clock.onWait = func() {
		h.clock.onWait = nil
		other := h.another()
		other.claim()
		other.settle()
	}
	h.claim()
	state, err := ReadState(h.Folders.State)
	check(t, err)
	if since := state.Claim.At - state.Settled.Finished.At; since < h.Policy.Floor || since > 2*h.Policy.Floor {
		t.Errorf("it claimed %s after the other's success, want the floor", since)
	}
	if state.Claim.N != 3 || state.Claim.Attempt != 1 {
		t.Errorf("claim %d, attempt %d, want the third and the first", state.Claim.N, state.Claim.Attempt)
	}
}

// A late settle that ends the claim for which a gate backs off begins a floor as well.
func TestFloorAfterALateSettle(t *testing.T) {
	h := newHost(t)
	h.claim()
	late := h.another()
	h.clock.onWait = func() {
		h.clock.onWait = nil
		h.clock.pass(h.Policy.Floor - time.Second)
		late.settle()
	}
	h.claim()
	state, err := ReadState(h.Folders.State)
	check(t, err)
	if since := state.Claim.At - state.Settled.Finished.At; since < h.Policy.Floor {
		t.Errorf("it claimed %s after the success, want the floor", since)
	}
}

// Gates that claim at once, whatever touches they meet, keep the floor between any two claims, and each gets its turn.
func TestGatesAtOnce(t *testing.T) {
	h := newHost(t)
	h.Gate.Clock = SystemClock{}
	h.Policy = Policy{Floor: 100 * time.Millisecond, RetryMax: 200 * time.Millisecond, Sweep: time.Hour}
	h.Log = func(Event) {}
	const gates, rounds = 4, 3
	var mu sync.Mutex
	var at []time.Duration
	var all sync.WaitGroup
	for range gates {
		all.Go(func() {
			gate := *h.Gate
			for range rounds {
				gate.Invocation = newEpoch()
				c, err := gate.Claim(context.Background())
				err = errors.Join(err, gate.Settle(context.Background()), Touch(h.Folders.Spool))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				at = append(at, c.At)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(at)
	for i := range at[1:] {
		if since := at[i+1] - at[i]; since < h.Policy.Floor {
			t.Errorf("two claims of different gates are %s apart, want the floor of %s", since, h.Policy.Floor)
		}
	}
}

// A signal ends the wait for a lock that another holds, in each place where one is waited for; a free lock is taken all
// the same.
func TestStopWhileLocked(t *testing.T) {
	h := newHost(t)
	h.claim()
	state, err := openDir(h.Folders.State)
	check(t, err)
	defer state.close()
	release, err := lock(context.Background(), state, h.clock)
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	h.clock.stuck = func() bool { cancel(); return true } // nothing but the signal ends a wait
	if err := h.Settle(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Settle under a held lock: %v, want context.Canceled", err)
	}
	if _, err := h.record(ctx, readState(state)); !errors.Is(err, context.Canceled) {
		t.Errorf("claiming under a held lock: %v, want context.Canceled", err)
	}
	if err := h.publish(ctx, Status{}); !errors.Is(err, context.Canceled) {
		t.Errorf("publishing under a held lock: %v, want context.Canceled", err)
	}
	release()
	if err := h.Settle(ctx); err != nil || exists(h.Folders.State+"/claim") {
		t.Errorf("Settle with a free lock: %v, and the claim stands: %v", err, exists(h.Folders.State+"/claim"))
	}
}
