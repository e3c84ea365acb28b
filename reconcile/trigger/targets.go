package trigger

import (
	"context"
	"fmt"
	"io/fs"
	"time"
)

// TargetStatus is what the web app may know of one target.
type TargetStatus struct {
	Settled uint64 `json:"settled"` // every ticket below it is covered as far as this target goes
	State   string `json:"state"`   // one coarse word
}

// CoversTarget is Covers for a web app that waits for one target only: it need not wait for the others. A target that is
// not shown has covered nothing.
func (s Status) CoversTarget(name string, t Ticket) bool {
	s.Settled = s.Targets[name].Settled
	return s.Covers(t)
}

// A TargetReport is what ShowTargets is told of one target: the number up to which it has covered claims, in which epoch.
type TargetReport struct {
	Epoch   string
	Covered uint64
	State   string
}

// ShowTargets publishes the targets' states in status.json, in place of those that were there. A number of another epoch
// means nothing there, and one above the published one may be that of a claim whose number nobody could read: neither is
// shown.
func ShowTargets(ctx context.Context, f Folders, c Clock, targets map[string]TargetReport) error {
	if f.Outbox == "" {
		return nil
	}
	state, err := openDir(f.State)
	if err != nil {
		return err
	}
	defer state.close()
	release, err := lock(ctx, state, c)
	if err != nil {
		return err
	}
	defer release()
	shown, err := ReadStatus(f.Outbox)
	if missing(err) {
		return nil // no gate has published an epoch yet, so there are no tickets
	}
	if err != nil {
		return err
	}
	before := shown.Targets
	shown.Targets = map[string]TargetStatus{}
	for name, t := range targets {
		status := TargetStatus{State: t.State}
		if t.Epoch == shown.Epoch {
			status.Settled = min(t.Covered, shown.Claims)
		}
		status.Settled = max(status.Settled, min(before[name].Settled, shown.Claims)) // somebody slow knows less
		shown.Targets[name] = status
	}
	outbox, err := openDir(f.Outbox)
	if err != nil {
		return err
	}
	defer outbox.close()
	return publish(outbox, shown)
}

const behindFile = "behind"

// Behind says how far tickets are covered by a run that knows it of each target: one for everything may be a success although a
// target waits for a person, or is held by somebody else, and one for names may be of the last that others waited for.
type Behind struct {
	Epoch   string    `json:"epoch"`
	Claim   uint64    `json:"claim"`   // of the run that says so
	Covered uint64    `json:"covered"` // tickets below it are covered
	Until   time.Time `json:"until"`   // when the claim of that number was made, for people; zero when nobody knows
}

// LagBehind tells Settle, before the run ends, how far the run's claim may be shown as settled. It is durable.
func LagBehind(state string, b Behind) error {
	d, err := openDir(state)
	if err != nil {
		return err
	}
	defer d.close()
	if err := writeDurable(d, behindFile, 0o600, b); err != nil {
		return fmt.Errorf("recording what claim %d leaves uncovered: %w", b.Claim, err)
	}
	return nil
}

// coveredBy is how far a claim's success covers, and the instant of the claim with that number. Where it cannot be read
// what the run said, it covers nothing.
func coveredBy(d dir, c Claim) (n uint64, until time.Time) {
	switch b, err := behind(d, c); {
	case err == nil && b.Covered < c.N:
		return b.Covered, b.Until
	case err != nil && !missing(err):
		return 0, time.Time{}
	}
	return c.N, c.Claimed
}

// behind is what the claim's run said; an error that is missing where it said nothing.
func behind(d dir, c Claim) (b Behind, err error) {
	if err = readJSON(d, behindFile, &b); err == nil && (b.Epoch != c.Epoch || b.Claim != c.N) {
		err = fs.ErrNotExist // another run's
	}
	return b, err
}

// raise covers more, and never less.
func (s *Settled) raise(n uint64, until time.Time) {
	if n > s.Covered {
		s.Covered, s.CoveredUntil = n, until
	}
}
