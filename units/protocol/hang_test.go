package protocol

import (
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// A run that hangs is killed when its time is over, counts as failed, and is made up for (TMR-05, TRG-15).
func hungRun(t *testing.T, p place) { hangs(t, p, "hung", "") }

// So is one that does not heed SIGTERM (TMR-07).
func stubbornRun(t *testing.T, p place) { hangs(t, p, "stubborn", "yes") }

func hangs(t *testing.T, p place, name, stubborn string) {
	h := p.adopt(t, options{name: name, policy: floor(time.Second), timeout: 3 * time.Second, service: "TimeoutStopSec=2"})
	h.tell(t, "stubborn", stubborn)
	h.tell(t, "slow", "1000")
	h.write(t, 1)
	runs := h.awaitAttempts(t, 0, 1, patience)
	h.tell(t, "slow", "")
	h.tell(t, "stubborn", "")
	// Watch gives a run half a minute to stop.
	h.eventually(t, 2*patience, "the gate of the second attempt waits", func() bool { return h.status(t).State == trigger.Failing })
	killed := uptime() - runs[0].began
	if least := h.timeout - 100*time.Millisecond; killed < least {
		t.Errorf("the run was killed after %v, its time is %v", killed, h.timeout)
	}
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	h.leavesNothing(t)
	h.write(t, 2)
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	runs = h.attempts(t)
	if len(runs) != 3 || runs[0].good() || runs[1].Claim.Attempt < 2 || !runs[2].good() {
		t.Errorf("the log shows %d runs: %+v", len(runs), runs)
	}
	h.keepsFloor(t, runs)
	h.mustLive(t)
}
