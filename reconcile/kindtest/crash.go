package kindtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/reconcile/plan"
)

// lostLease takes the lease away before each look at it in its turn. That nothing is written then is held by probedLedger.
func lostLease[W any](h *host[W]) {
	for nth := 1; ; nth++ {
		looks := 0
		fresh := h.again()
		_, _ = fresh.sweep(&probe{at: func(_ int, call string, after bool) error {
			if call == "check" && !after {
				if looks++; looks == nth {
					fresh.later += ttl + time.Second
				}
			}
			return nil
		}})
		if looks < nth {
			return
		}
		fresh.converges(fmt.Sprintf("the lease was lost before look %d", nth))
	}
}

// cancelledAnywhere tells a process to stop as each of its calls begins, in turn, and as each change has been done.
func cancelledAnywhere[W any](h *host[W]) {
	spots := h.spots(unprepared[W], func(call string, after bool) bool { return !after || strings.HasPrefix(call, "apply ") })
	everywhere(h, spots, unprepared[W], func(fresh *host[W], here func(int, bool) bool) {
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()
		_, _ = fresh.sweepUnder(ctx, &probe{at: func(n int, _ string, after bool) error {
			if here(n, after) {
				cancel()
			}
			return nil
		}})
	})
}

// killedAnywhere ends a process after each of its writes, outside and to the ledger: from there on nothing that it does
// gets anywhere. To die before a write is to die after the one before it.
func killedAnywhere[W any](h *host[W]) { killed(h, unprepared[W]) }

// killedApproved does the same while removals are done that were approved.
func killedApproved[W any](h *host[W]) {
	if h.Gentle {
		return
	}
	killed(h, func(h *host[W]) {
		h.Options.Breaker = plan.Breaker{}
		_, _ = h.sweep(&probe{}) // where this fails, so does the approval
		h.approve()
	})
}

func unprepared[W any](*host[W]) {}

func killed[W any](h *host[W], prepare func(*host[W])) {
	spots := h.spots(prepare, func(call string, after bool) bool {
		return after && !slices.Contains([]string{"observe", "records", "check"}, call)
	})
	everywhere(h, spots, prepare, func(fresh *host[W], here func(int, bool) bool) {
		_, _ = fresh.sweep(&probe{at: func(n int, _ string, after bool) error {
			if here(n, after) {
				return errKilled
			}
			return nil
		}})
	})
}

// A spot is before or after a call of a sweep.
type spot struct {
	call
	after bool
}

// spots are those of a whole sweep that are wanted.
func (h *host[W]) spots(prepare func(*host[W]), wanted func(call string, after bool) bool) (spots []spot) {
	h.Helper()
	fresh := h.again()
	prepare(fresh)
	_, err := fresh.sweep(&probe{at: func(n int, name string, after bool) error {
		if wanted(name, after) {
			spots = append(spots, spot{call{n, name}, after})
		}
		return nil
	}})
	if err != nil || len(spots) == 0 {
		h.Fatalf("a whole sweep has %d spots to look at, %v", len(spots), err)
	}
	return spots
}

// everywhere ends a sweep at each spot, each time in a world of its own, and has new processes make up for it.
func everywhere[W any](h *host[W], spots []spot, prepare func(*host[W]), end func(fresh *host[W], here func(n int, after bool) bool)) {
	for _, s := range spots {
		fresh, hit := h.again(), false
		prepare(fresh)
		end(fresh, func(n int, after bool) bool {
			here := n == s.n && after == s.after
			hit = hit || here
			return here
		})
		where := fmt.Sprintf("ended at call %d, %s, after it: %v", s.n, s.name, s.after)
		if !hit {
			h.Fatalf("%s: that call was never made", where)
		}
		if fresh.converges(where); h.Failed() {
			return
		}
	}
}
