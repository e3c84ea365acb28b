package trigger

import (
	"fmt"
	"strconv"

	"github.com/coreos/go-systemd/v22/journal"
)

// Settle turns the claim of this invocation into a settled one. It is called only after the run has succeeded.
// Without such a claim there is nothing to settle: the run's own was never recorded, and one that stands is
// owed by somebody else. An error means that the state folder refused; the claim stands, and the run counts as
// failed.
func (g *Gate) Settle() error {
	d, err := openDir(g.Folders.State)
	if err != nil {
		return err
	}
	defer d.close()
	state := readState(d)
	claim := state.Claim
	if claim == nil || claim.Invocation != g.Invocation || g.Invocation == "" {
		g.reportUnsettled(claim)
		return nil
	}
	settled := state.Settled
	settled.Covered, settled.CoveredUntil = state.Settled.coveredIn(claim.Epoch)
	settled.Epoch, settled.N, settled.Finished = claim.Epoch, claim.N, now(g.Clock)
	if claim.All {
		settled.Full = settled.Finished
		if g.wasPublished(*claim) {
			settled.Covered, settled.CoveredUntil = claim.N, claim.Claimed
		}
	}
	if err := writeDurable(d, settledFile, 0o600, settled); err != nil {
		return fmt.Errorf("settling claim %d: %w", claim.N, err)
	}
	g.show(State{Settled: settled}, claim.Epoch, claim.N, Idle)
	if err := removeDurable(d, claimFile); err != nil {
		return fmt.Errorf("settling claim %d: %w", claim.N, err)
	}
	g.log(Event{ID: MsgSettled, Priority: journal.PriInfo,
		Message: fmt.Sprintf("claim %d settled", claim.N),
		Fields:  map[string]string{"TRUEUP_CLAIM": strconv.FormatUint(claim.N, 10)}})
	return nil
}

// wasPublished tells whether the outbox showed the claim's number before the run read the world. If it did not,
// a web app may have committed after the run's reading and still have read the number before: showing this
// claim as settled would cover it too early, so its tickets wait for the next one.
func (g *Gate) wasPublished(c Claim) bool {
	if g.Folders.Outbox == "" {
		return true
	}
	shown, err := ReadStatus(g.Folders.Outbox)
	return err == nil && shown.Epoch == c.Epoch && shown.Claims >= c.N
}

func (g *Gate) reportUnsettled(standing *Claim) {
	message := "nothing to settle: no claim stands"
	if standing != nil {
		message = fmt.Sprintf("claim %d is another run's and stands on", standing.N)
	}
	g.log(Event{ID: MsgUnsettled, Priority: journal.PriNotice, Message: message})
}
