package plan

import (
	"context"
	"slices"

	"trueup/reconcile"
)

// record lays down what is known of earlier runs' changes and what is about to be done. Where there is nothing to tell it
// tells nothing, so that a tick that finds everything as it was leaves no trace.
func (s *sight[W]) record(ctx context.Context, run *reconcile.Run) error {
	for _, r := range s.recovered {
		if err := run.Do(ctx, r.Recover, r.marker); err != nil {
			return err
		}
		delete(s.markers.values, r.Change)
	}
	o, raises := s.outlook, s.raises()
	writes := append(s.stale, s.tidy(run.Lease.Run)...)
	if len(o.Do) == 0 && !raises {
		if len(writes) == 0 {
			return nil
		}
		return run.Write(ctx, writes...)
	}
	propose := reconcile.Propose{Policy: o.Policy, Plan: without(o.Plan, set(o.Later))}
	if raises {
		propose.Hold, propose.Why = ids(o.Wait), o.Why
	} else { // a run that does the rest tells nothing of what an earlier one has raised
		propose.Plan = without(propose.Plan, set(o.Wait))
		if o.asks() {
			propose.Waits = o.Run
		}
	}
	return run.Do(ctx, propose, extras(writes)...)
}

// raises tells whether something waits that no person was asked about.
func (s *sight[W]) raises() bool { return len(s.outlook.Wait) > 0 && s.outlook.Run == "" }

// tidy brings the records of hold and approvals to what waits now. At any time they are about one set of changes: a new
// hold takes the place of old approvals, and both go when nothing asks for a person any more.
func (s *sight[W]) tidy(run reconcile.RunID) []reconcile.Write {
	o := s.outlook
	switch {
	case s.raises():
		h := hold{Run: run, Digest: o.Wait.Digest(), Changes: ids(o.Wait), Why: o.Why}
		return append(s.approvals.clear(), s.hold.put(h, 0))
	case len(o.Wait) > 0, len(o.Dark) > 0, slices.ContainsFunc(o.Do, s.approved):
		return nil
	}
	return append(s.approvals.clear(), s.hold.drop()...)
}

func extras(writes []reconcile.Write) []reconcile.Extra {
	all := make([]reconcile.Extra, len(writes))
	for i, w := range writes {
		all[i] = w
	}
	return all
}
