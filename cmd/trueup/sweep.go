package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/spf13/cobra"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
	"trueup/reconcile/trigger"
)

func sweepVerb(u *ui) *cobra.Command {
	var w which
	var state string
	var dry, asJSON bool
	c := &cobra.Command{
		Use:   "sweep [flags]",
		Short: "true up every target that is asked for, or all",
		Long: `true up every target that is asked for, or all

It is what trueup.service runs: behind the trigger it ticks what the claim asks for and what is still
owed. By hand it ticks everything. It exits 1 when a target failed; what waits for approval or is held by
somebody else is no failure, and stays owed.`,
		Example: "  trueup sweep --dry-run",
		Args:    exactly(0, "nothing"),
	}
	w.flags(c)
	c.Flags().StringVar(&state, "state", "", "the trigger's state `DIR`, as the service was installed with; refuse where the configuration names another")
	c.Flags().BoolVar(&dry, "dry-run", false, "write nothing, only say what would be done: trueup plan")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := refuseWithinRun(c); err != nil {
			return err
		}
		if dry {
			return plans(c.Context(), u, w, "", false, asJSON)
		}
		debug.SetGCPercent(50) // a sweep of 10,000 targets in 60 MB, and no slower
		s, err := w.open(c.Context(), holderName("sweep"))
		if err != nil {
			return err
		}
		defer s.close()
		if file, is := s.ledger.(*sqlite.Store); is {
			err = file.TellLoss(c.Context(), func(last reconcile.Fence) {
				u.warning("the ledger was gone, and a new one is made: what was paused and reserved in it is no longer, and numbers go on after %d; a backup can be restored, see docs/ledger.md", last)
			})
		}
		if err != nil {
			return err
		}
		if state != "" && state != s.Trigger.State {
			return fail(exitConfig, "trueup install makes the service follow the configuration",
				"sweeping: the service was installed with the state folder %s, and the configuration names %s", state, s.Trigger.State)
		}
		if err := s.join(c.Context(), "sweeping"); err != nil {
			return err
		}
		return s.sweep(c.Context(), u, state != "", asJSON)
	}
	return c
}

// sweep answers the trigger's claim, where this is its activation. As a service it is nothing but that.
func (s *site) sweep(ctx context.Context, u *ui, service, asJSON bool) error {
	order, claim, err := s.order(service)
	if err != nil {
		return err
	}
	view := watchSweep(ctx, u, s.ledger, s.engine.Targets, asJSON)
	s.engine.Progress = view.progress
	outcome, err := s.engine.Sweep(ctx, order)
	view.end(outcome, err)
	standings, showErr := s.showTargets(ctx, claim, outcome)
	if err == nil {
		err = showErr
	}
	s.showPage(ctx, u, swept{claim, outcome, standings, time.Since(view.began), err})
	if err != nil {
		return s.shutOut("sweeping", err)
	}
	if s.session != nil && s.session.Drains() {
		u.note("node %s drains and takes nothing more: trueup node undrain%s %s", s.session.Node.Name, s.which.again(), s.session.Node.Name)
	}
	if asJSON {
		if err := sayJSON(u, sweepDocument(outcome)); err != nil {
			return err
		}
	}
	if outcome.PruneError != nil {
		u.warning("%v; the next sweep tries again", outcome.PruneError)
	}
	if failed := outcome.Failed(); len(failed) > 0 {
		return fail(exitNeeds, "trueup status says more", "%d of %s failed: %s", len(failed), counted(len(outcome.Reports), "target"), someKeys(failed))
	}
	return nil
}

// order is what the trigger's claim asks for, if it was made for this activation, and that claim; everything when there is
// none. A sweep that took itself for one by hand while settle finds its claim would have that settle what it has left.
func (s *site) order(service bool) (reconcile.Order, *trigger.Claim, error) {
	everything := reconcile.Wanted{All: true}
	order := reconcile.Order{Owing: everything, Fresh: everything}
	watch := os.Getenv("TRUEUP_INVOCATION")
	invocation := cmp.Or(watch, os.Getenv("INVOCATION_ID")) // trueup watch's, or systemd's
	state, err := trigger.ReadState(s.Trigger.State)
	claim := state.Claim
	switch {
	case err != nil && (service || watch != ""):
		return order, nil, fmt.Errorf("reading what is claimed: %w", err)
	case err == nil && claim != nil && invocation != "" && claim.Invocation == invocation:
	case watch != "" && os.Getenv("TRUEUP_CLAIM") != "0":
		return order, nil, fail(exitConfig, "give trueup watch the --state, --spool and --outbox of the configuration",
			"sweeping: claim %s of trueup watch does not stand in %s", printable(os.Getenv("TRUEUP_CLAIM")), s.Trigger.State)
	default:
		return order, nil, nil // by hand; or the gate could not record a claim, and the run is to go on for everything
	}
	order.Owing = reconcile.Wanted{All: claim.All, Touched: claim.Touched, Keys: asKeys(withoutHints(claim.Requests))}
	order.Fresh = reconcile.Wanted{All: claim.Fresh.All, Touched: claim.Touched && claim.Fresh.All, Keys: asKeys(withoutHints(claim.Fresh.Requests))}
	if trigger.Published(s.Outbox, *claim) {
		order.Claim = &reconcile.Claim{Epoch: claim.Epoch, N: claim.N, Claimed: claim.Claimed}
	} else {
		order.Fresh = order.Owing
	}
	return order, claim, nil
}

func asKeys(names []string) []reconcile.Key {
	keys := make([]reconcile.Key, len(names))
	for i, name := range names {
		keys[i] = reconcile.Key(name)
	}
	return keys
}

// showTargets publishes how far each target's tickets are covered, and tells settle how far all are. Where that cannot be
// recorded the sweep has to fail, since settle would cover what is not. It returns what is known of the targets then.
func (s *site) showTargets(ctx context.Context, claim *trigger.Claim, o reconcile.Outcome) (map[reconcile.Key]reconcile.Standing, error) {
	if claim != nil {
		if err := trigger.LagBehind(s.Trigger.State, trigger.Behind{Epoch: claim.Epoch, Claim: claim.N, Covered: o.Covered, Until: o.CoveredUntil}); err != nil {
			return nil, err
		}
	}
	published, _ := trigger.ReadStatus(s.Outbox) // one that cannot be read is told when it is written
	standings, err := s.known(ctx, published.Epoch)
	if err == nil {
		if err = s.engine.Alone(ctx, published.Epoch); errors.Is(err, reconcile.ErrCopied) {
			published.Epoch, err = "", nil // what is settled there answers another host's tickets
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is known of the targets: %w", err)
	}
	shown := map[string]trigger.TargetReport{}
	for _, t := range standings {
		report := trigger.TargetReport{State: string(stateWord(t))}
		if settled, is := t.SettledOf(published.Epoch); is {
			report.Epoch, report.Covered = settled.Epoch, settled.N
		}
		shown[string(t.Target)] = report
	}
	if err := trigger.ShowTargets(ctx, s.folders(), trigger.SystemClock{}, shown); err != nil {
		trigger.Journal(trigger.Event{ID: trigger.MsgOutbox, Priority: journal.PriWarning, Message: "publishing the targets: " + err.Error()})
	}
	return standings, nil
}

// sweepJSON is what sweep --json prints.
type sweepJSON struct {
	Version int                                `json:"version"`
	Targets map[reconcile.Key]reconcile.Report `json:"targets"`
	Strange []reconcile.Key                    `json:"strange"` // asked for, and not declared
	Gone    []reconcile.Key                    `json:"gone"`    // no longer declared, and forgotten
}

func sweepDocument(o reconcile.Outcome) sweepJSON {
	return sweepJSON{1, o.Reports, append([]reconcile.Key{}, o.Strange...), append([]reconcile.Key{}, o.Gone...)}
}

// someKeys names a few targets.
func someKeys(keys []reconcile.Key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = string(k)
	}
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("%d more", more))
	}
	return list(names)
}

// summary counts the targets by state: "38 ok, 1 held, 1 failing".
func summary(reports map[reconcile.Key]reconcile.Report) string {
	counts := map[reconcile.State]int{}
	for _, r := range reports {
		counts[r.State]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
	}
	return list(parts)
}
