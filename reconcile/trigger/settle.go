package trigger

import (
	"context"
	"fmt"
	"strconv"

	"github.com/coreos/go-systemd/v22/journal"
)

// Settle turns the claim of this invocation into a settled one. It is called only after the run has succeeded.
// Without such a claim there is nothing to settle: the run's own was never recorded, and one that stands is
// owed by somebody else. An error means that the state folder refused, or that the context ended while another held
// its lock; the claim stands, and the run counts as failed.
func (g *Gate) Settle(ctx context.Context) error {
	d, err := openDir(g.Folders.State)
	if err != nil {
		return err
	}
	defer d.close()
	// One lock from looking to removing: a settle that hangs until systemd gives it up, and wakes when the next
	// gate has claimed, must find that gate's claim and not remove it.
	release, err := lock(ctx, d, g.Clock)
	if err != nil {
		return err
	}
	defer release()
	state := readState(d)
	claim := state.Claim
	if claim == nil || claim.Invocation != g.Invocation || g.Invocation == "" {
		g.reportUnsettled(claim)
		return nil
	}
	settled := state.Settled
	settled.Covered, settled.CoveredUntil = state.Settled.coveredIn(claim.Epoch)
	if settled.Epoch != claim.Epoch {
		settled.Runs = 0
	}
	settled.Runs++
	settled.Epoch, settled.N, settled.Finished = claim.Epoch, claim.N, now(g.Clock)
	if claim.All {
		settled.Full = settled.Finished
		// A number that the outbox did not show before the run covers nothing: a web app may have committed after
		// the run's reading and still have read the number before. Its ticket waits for the next run.
		if Published(g.Folders.Outbox, *claim) {
			settled.raise(coveredBy(d, *claim))
		}
	} else if b, said := behind(d, *claim); said == nil {
		settled.raise(b.Covered, b.Until) // where a target was the last that a run for everything had left behind
	}
	settled.Covered = g.bounded(claim.Epoch, settled.Covered)
	if err := writeDurable(d, settledFile, 0o600, settled); err != nil {
		return fmt.Errorf("settling claim %d: %w", claim.N, err)
	}
	if g.Folders.Outbox != "" {
		if err := g.publishLocked(g.status(State{Settled: settled}, claim.Epoch, claim.N, Idle)); err != nil {
			g.reportOutbox(err)
		}
	}
	if err := removeDurable(d, claimFile); err != nil {
		return fmt.Errorf("settling claim %d: %w", claim.N, err)
	}
	g.log(Event{ID: MsgSettled, Priority: journal.PriInfo,
		Message: fmt.Sprintf("claim %d settled", claim.N),
		Fields:  map[string]string{"TRUEUP_CLAIM": strconv.FormatUint(claim.N, 10)}})
	return nil
}

// bounded is how far what is covered may be shown: not above the number that the outbox shows. In an outbox that came
// back from a backup that is an old one, and tickets may have been drawn from it since the run read.
func (g *Gate) bounded(epoch string, covered uint64) uint64 {
	shown, err := ReadStatus(g.Folders.Outbox)
	switch {
	case err != nil:
		return covered
	case shown.Epoch != epoch:
		return 0
	}
	return min(covered, shown.Claims)
}

func (g *Gate) reportUnsettled(standing *Claim) {
	message := "nothing to settle: no claim stands"
	switch {
	case g.Invocation == "":
		message = "nothing is settled: INVOCATION_ID is not set, so whose claim this is cannot be told"
	case standing != nil:
		message = fmt.Sprintf("claim %d is another run's and stands on", standing.N)
	}
	g.log(Event{ID: MsgUnsettled, Priority: journal.PriNotice, Message: message})
}
