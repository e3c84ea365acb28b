package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// families are all metrics that are written. The labels: unit is the adopted service, target is KIND:NAME.
func families() []publish.Metric {
	const gauge, counter = "gauge", "counter"
	return []publish.Metric{
		{Name: "trueup_build_info", Type: gauge, Help: "Always 1; the version is its label."},
		{Name: "trueup_check_timestamp_seconds", Type: gauge, Help: "When the units were last looked at."},
		{Name: "trueup_check_faults", Type: gauge, Help: "1 when the last look could not see or read everything, else 0."},
		{Name: "trueup_notices_waiting", Type: gauge, Help: "Raisings and clearings of alarms that the command has not taken yet."},
		{Name: "trueup_alarms", Type: gauge, Help: "How many alarms of that name stand."},
		{Name: "trueup_alarm_raised_timestamp_seconds", Type: gauge, Help: "When an alarm that stands was raised; the target is a work item where alarm is reserved."},

		{Name: "trueup_state", Type: gauge, Help: "1 for the state that the trigger is in: idle, waiting, running or failing; else 0."},
		{Name: "trueup_path_up", Type: gauge, Help: "1 when the path unit hears touches, else 0."},
		{Name: "trueup_claims_total", Type: counter, Help: "Claims, each an attempt at a run; begins anew with the state folder."},
		{Name: "trueup_settled_claim", Type: gauge, Help: "The number of the last claim whose run succeeded."},
		{Name: "trueup_runs_total", Type: counter, Help: "Runs that have ended, by result: success or failure; begins anew with the state folder."},
		{Name: "trueup_failures", Type: gauge, Help: "Runs that have failed since the last success."},
		{Name: "trueup_last_success_timestamp_seconds", Type: gauge, Help: "When the last successful run ended."},
		{Name: "trueup_floor_seconds", Type: gauge, Help: "Least time between a success and the next claim."},
		{Name: "trueup_sweep_interval_seconds", Type: gauge, Help: "How often a run for everything is due."},
		{Name: "trueup_wait_seconds", Type: gauge, Help: "How long the floor or a backoff keeps the next run waiting, at most."},
		{Name: "trueup_spool_removed_total", Type: counter, Help: "Entries of the spool that did not belong there and were removed."},

		{Name: "trueup_target_state", Type: gauge, Help: "1, with the state that the target is in: ok, failing, held, unknown, elsewhere, limited or waiting."},
		{Name: "trueup_target_owed", Type: gauge, Help: "1 when the target was asked for and not covered since, else 0."},
		{Name: "trueup_target_failures", Type: gauge, Help: "Ticks of the target that have failed in a row."},
		{Name: "trueup_target_last_success_timestamp_seconds", Type: gauge, Help: "When a tick of the target last covered what was asked."},
		{Name: "trueup_ticks_total", Type: counter, Help: "Ticks that have ended, by outcome: ok, failing, held, unknown, limited or expired; without a target those of targets that are gone."},
		{Name: "trueup_requests_total", Type: counter, Help: "Requests that have ended, by outcome: ran, coalesced, held, handed_over or dropped; without a target those for targets that are not declared."},
		{Name: "trueup_requests_recorded_total", Type: counter, Help: "Requests that were recorded: those that have ended and those that are open."},
		{Name: "trueup_requests_open", Type: gauge, Help: "Requests that have not ended."},
	}
}

// write writes the metrics, where the configuration names a file.
func (w watchman) write(ctx context.Context, conf alarmsConfig, s seen, memory *publish.Memory) error {
	if conf.Metrics == "" {
		return nil
	}
	m := measures{publish.NewMetrics(families())}
	m.Add("trueup_build_info", 1, "version", version)
	m.Add("trueup_check_timestamp_seconds", seconds(memory.Looked))
	m.Add("trueup_check_faults", truth(s.err != nil))
	m.Add("trueup_notices_waiting", float64(memory.Waiting()))
	var err error
	for _, unit := range unitsOf(memory) {
		m.alarms(unit, memory.Standing())
	}
	for _, f := range s.facts {
		m.trigger(f)
		err = errors.Join(err, m.site(ctx, f))
	}
	for _, a := range memory.Standing() {
		m.Add("trueup_alarm_raised_timestamp_seconds", seconds(a.Since), "alarm", a.Name, "unit", a.Unit, "target", a.Target)
	}
	return errors.Join(err, publish.Replace(conf.Metrics, m.Text(), 0o644))
}

// unitsOf are the units of which alarms may stand, whether or not they could be looked at: an alarm that nobody sees any more is
// not over.
func unitsOf(memory *publish.Memory) []string {
	all := map[string]bool{checkUnit: true}
	for unit := range memory.Units {
		all[unit] = true
	}
	for _, s := range memory.Standing() {
		all[s.Unit] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// measures adds what is known to the metrics.
type measures struct{ *publish.Metrics }

func (m measures) alarms(unit string, standing []publish.Standing) {
	count := map[string]int{}
	for _, a := range standing {
		if a.Unit == unit {
			count[a.Name]++
		}
	}
	for _, name := range publish.Names() {
		m.Add("trueup_alarms", float64(count[name]), "alarm", name, "unit", unit)
	}
}

// trigger measures what every unit has, whatever it runs.
func (m measures) trigger(f facts) {
	unit := []string{"unit", f.unit}
	for _, phase := range []trigger.Phase{trigger.Idle, trigger.Waiting, trigger.Running, trigger.Failing} {
		m.Add("trueup_state", truth(f.phase() == phase), "unit", f.unit, "state", string(phase))
	}
	m.Add("trueup_path_up", truth(f.systemd.Prompt() && !f.systemd.spoolUnwatched), unit...)
	m.Add("trueup_floor_seconds", f.policy.Floor.Seconds(), unit...)
	m.Add("trueup_sweep_interval_seconds", f.interval().Seconds(), unit...)
	if f.stateErr != nil || f.state.Damage != nil {
		return // what cannot be read is not zero
	}
	claims, succeeded, failed := f.runCounts()
	m.Add("trueup_claims_total", float64(claims), unit...)
	m.Add("trueup_settled_claim", float64(f.state.Settled.N), unit...)
	m.Add("trueup_runs_total", float64(succeeded), "unit", f.unit, "result", "success")
	m.Add("trueup_runs_total", float64(failed), "unit", f.unit, "result", "failure")
	m.Add("trueup_failures", float64(f.failures()), unit...)
	if last := f.state.Settled.Finished.Wall; !last.IsZero() {
		m.Add("trueup_last_success_timestamp_seconds", seconds(last), unit...)
	}
	m.Add("trueup_wait_seconds", max(f.floorLeft(), f.backoffLeft()).Seconds(), unit...)
	m.Add("trueup_spool_removed_total", float64(f.trouble.Removed), unit...)
}

// runCounts are the claims of the epoch and how their runs have ended. Each claim is a run, and the one that stands has not
// ended unless it has failed.
func (f facts) runCounts() (claims, succeeded, failed uint64) {
	last, open := f.state.Settled, uint64(0)
	claims, succeeded = last.N, last.Runs
	if c := f.state.Claim; c != nil {
		claims = c.N
		if c.Epoch != last.Epoch {
			succeeded = 0
		}
		if phase := f.phase(); phase == trigger.Running || phase == trigger.Idle { // idle: it has settled a moment ago
			open = 1
		}
	}
	return claims, succeeded, claims - min(claims, succeeded+open)
}

// site measures the targets, where the service is trueup's own.
func (m measures) site(ctx context.Context, f facts) error {
	if f.site == nil || f.site.err != nil {
		return nil // which is a fault of the look
	}
	for _, s := range f.site.seen(f.now) {
		m.target(f.unit, s)
	}
	for _, s := range f.site.standings {
		m.Add("trueup_target_owed", truth(s.Owed()), "unit", f.unit, "target", string(s.Target))
	}
	tallies, err := f.site.tallies(ctx)
	if err != nil {
		return fmt.Errorf("counting the requests of %s: %w", f.unit, err)
	}
	for _, t := range tallies {
		m.tally(f.unit, t)
	}
	return nil
}

func (m measures) target(unit string, s reconcile.Standing) {
	target := []string{"unit", unit, "target", string(s.Target)}
	m.Add("trueup_target_state", 1, append(target, "state", string(stateWord(s)))...)
	m.Add("trueup_target_failures", float64(s.Failures), target...)
	if !s.CoveredAt.IsZero() {
		m.Add("trueup_target_last_success_timestamp_seconds", seconds(s.CoveredAt), target...)
	}
}

func (m measures) tally(unit string, t reconcile.Tally) {
	target := []string{"unit", unit, "target", string(t.Target)}
	for _, end := range reconcile.TickEnds() {
		m.Add("trueup_ticks_total", float64(t.Ticks[end]), append(target, "outcome", string(end))...)
	}
	for _, end := range []struct {
		outcome string
		n       uint64
	}{{"ran", t.Ran}, {"coalesced", t.Coalesced}, {"held", t.Held}, {"handed_over", t.HandedOver}, {"dropped", t.Dropped}} {
		m.Add("trueup_requests_total", float64(end.n), append(target, "outcome", end.outcome)...)
	}
	m.Add("trueup_requests_recorded_total", float64(t.Requests), target...)
	m.Add("trueup_requests_open", float64(t.Open), target...)
}

// tallies reads what the ledger has counted; nothing, while there is none.
func (f *siteFacts) tallies(ctx context.Context) ([]reconcile.Tally, error) {
	s, err := f.which.look(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.ledger.Tallies(ctx)
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
