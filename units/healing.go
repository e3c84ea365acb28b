package units

import (
	"context"
	"errors"
	"fmt"

	"trueup/units/heal"
)

// A Healing is what Heal found and did about one adopted unit.
type Healing struct {
	Unit    string
	Changes Changes      // of files that had drifted
	Path    string       // the path unit
	Outcome heal.Outcome // what became of it; where it died again the service was started, whose gate clears the spool and heals it
	Err     error        // what could not be set right
}

// Heal sets right what another build of trueup, or a hostile web app, has left of the adoptions: a drop-in, path unit or
// timer that this build would write otherwise is written anew, and a path unit that is enabled and has died is revived. What
// an operator disabled or stopped stays so. A unit whose gate is not of this build keeps its files, since only that gate knows
// what may stand in them. What is wrong with one unit keeps no other from being looked at.
func (m *Manager) Heal(ctx context.Context) ([]Healing, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := records(m.config)
	if err != nil {
		return nil, err
	}
	var all []Healing
	for _, rec := range found {
		h := Healing{Unit: rec.Unit, Path: rec.Path()}
		h.Changes, h.Err = m.redress(ctx, rec)
		h.Err = errors.Join(h.Err, m.revive(ctx, &h))
		all = append(all, h)
	}
	return all, nil
}

// revive heals the path unit. One that dies again dies of what is in the spool, and only the gate may clear that.
func (m *Manager) revive(ctx context.Context, h *Healing) (err error) {
	if h.Outcome, err = heal.Heal(ctx, m.user, h.Path, false); err != nil || h.Outcome.Action != heal.Dead {
		return err
	}
	return m.startNoWait(ctx, h.Unit)
}

// redress adopts a unit again that has drifted.
func (m *Manager) redress(ctx context.Context, rec record) (Changes, error) {
	changes := Changes{User: m.user, Adoption: rec.Adoption}
	state, err := m.Trigger(ctx, rec.Unit)
	if err != nil || !state.Drifted || rec.Gate != findGate() {
		return changes, err
	}
	j := &adopting{m: m, asWanted: true, recorder: recorder{&changes, false}}
	if err := j.run(ctx, Adoption{Unit: rec.Unit}); err != nil {
		return changes, fmt.Errorf("adopting %s again: %w", rec.Unit, err)
	}
	return changes, nil
}
