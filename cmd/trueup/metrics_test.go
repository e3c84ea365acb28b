package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

const prometheus = "../../docs/examples/prometheus/"

// labelsOf are the labels that metrics are written with.
func labelsOf() map[string][]string {
	one, target := []string{"unit"}, []string{"unit", "target"}
	return map[string][]string{
		"trueup_build_info": {"version"}, "trueup_check_timestamp_seconds": nil, "trueup_check_faults": nil, "trueup_notices_waiting": nil,
		"trueup_alarms": {"alarm", "unit"}, "trueup_alarm_raised_timestamp_seconds": {"alarm", "unit", "target"},
		"trueup_state": {"unit", "state"}, "trueup_path_up": one, "trueup_claims_total": one, "trueup_settled_claim": one,
		"trueup_runs_total": {"unit", "result"}, "trueup_failures": one, "trueup_last_success_timestamp_seconds": one,
		"trueup_floor_seconds": one, "trueup_sweep_interval_seconds": one, "trueup_wait_seconds": one, "trueup_spool_removed_total": one,
		"trueup_target_state": {"unit", "target", "state"}, "trueup_target_owed": target, "trueup_target_failures": target,
		"trueup_target_last_success_timestamp_seconds": target, "trueup_ticks_total": {"unit", "target", "outcome"},
		"trueup_requests_total": {"unit", "target", "outcome"}, "trueup_requests_recorded_total": target, "trueup_requests_open": target,
	}
}

// measured is a text with every metric there is.
func measured() string {
	m := measures{publish.NewMetrics(families())}
	f := well()
	f.state.Settled.Runs = 5
	f.state.Claim, f.shown.State = claim(2, 0), trigger.Failing
	f.trouble.Removed = 7
	m.Add("trueup_build_info", 1, "version", "devel")
	m.Add("trueup_check_timestamp_seconds", seconds(noon))
	m.Add("trueup_check_faults", truth(false))
	m.Add("trueup_notices_waiting", 0)
	m.Add("trueup_alarm_raised_timestamp_seconds", 1, "alarm", publish.Failing, "unit", f.unit, "target", "command:a")
	m.alarms(f.unit, []publish.Standing{{Alarm: publish.Alarm{ID: publish.ID{Name: publish.Stale, Unit: f.unit}}}})
	m.trigger(f)
	m.target(f.unit, reconcile.Standing{Target: "command:a", CoveredAt: noon, Report: reconcile.Report{State: reconcile.OK}})
	m.Add("trueup_target_owed", 1, "unit", f.unit, "target", "command:a")
	m.tally(f.unit, reconcile.Tally{Target: "command:a", Requests: 6, Ran: 1, Coalesced: 2, Open: 3})
	return string(m.Text())
}

// Names, types and labels are as Prometheus' conventions want them, and as they are documented.
func TestMetrics(t *testing.T) {
	text := measured()
	for _, f := range families() {
		if counter := strings.HasSuffix(f.Name, "_total"); counter != (f.Type == "counter") || f.Help == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%+v", f)
		}
		labels, known := labelsOf()[f.Name]
		samples := regexp.MustCompile(`(?m)^`+f.Name+`(?:\{(.*)\})? [0-9.]+$`).FindAllStringSubmatch(text, -1)
		if !known || len(samples) == 0 {
			t.Errorf("%s has %d samples", f.Name, len(samples))
		}
		for _, s := range samples {
			var got []string
			for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(s[1], -1) {
				got = append(got, l[1])
			}
			if !slices.Equal(got, labels) {
				t.Errorf("%s: labels %q, want %q", s[0], got, labels)
			}
		}
	}
	for _, want := range []string{`trueup_runs_total{unit="web.service",result="success"} 5`, `trueup_runs_total{unit="web.service",result="failure"} 3`,
		`trueup_alarms{alarm="stale",unit="web.service"} 1`, `trueup_alarms{alarm="disk",unit="web.service"} 0`, `trueup_state{unit="web.service",state="failing"} 1`,
		`trueup_spool_removed_total{unit="web.service"} 7`, `trueup_last_success_timestamp_seconds{unit="web.service"} 1795953560`,
		`trueup_requests_total{unit="web.service",target="command:a",outcome="coalesced"} 2`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

// Runs that have failed are counted up only, whatever is seen of a run between its steps.
func TestRunCounts(t *testing.T) {
	at := func(settled, runs, claimed uint64, phase trigger.Phase) facts {
		f := well()
		f.state.Settled.N, f.state.Settled.Runs, f.shown.State = settled, runs, phase
		if claimed > 0 {
			f.state.Claim = &trigger.Claim{Epoch: "E", N: claimed}
		}
		return f
	}
	for i, step := range []struct {
		facts
		failed uint64
	}{
		{at(4, 4, 0, trigger.Idle), 0}, {at(4, 4, 5, trigger.Idle), 0}, {at(4, 4, 5, trigger.Running), 0}, {at(4, 4, 5, trigger.Failing), 1},
		{at(4, 4, 6, trigger.Running), 1}, {at(4, 4, 6, trigger.Idle), 1}, {at(6, 5, 0, trigger.Idle), 1}, {at(6, 5, 0, trigger.Waiting), 1}, {at(6, 5, 7, trigger.Running), 1},
	} {
		if _, _, failed := step.runCounts(); failed != step.failed {
			t.Errorf("step %d: %d have failed, want %d", i, failed, step.failed)
		}
	}
}

// The examples name metrics that exist, with labels that they have; the page lists them all.
func TestPrometheusExamples(t *testing.T) {
	labels := labelsOf()
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(prometheus + name)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`\btrueup_[a-z_]+(\{[^}]*\})?`).FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1)
		if len(found) < 8 {
			t.Errorf("%s names %d metrics", name, len(found))
		}
		for _, use := range found {
			metric, _, _ := strings.Cut(use[0], "{")
			has, exists := labels[metric]
			if !exists {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
			for _, l := range regexp.MustCompile(`(\w+)=~?"`).FindAllStringSubmatch(use[1], -1) {
				if l[1] != "instance" && !slices.Contains(has, l[1]) {
					t.Errorf("%s: %s has no label %s", name, metric, l[1])
				}
			}
		}
	}
	text, err := os.ReadFile(prometheus + "dashboard.json")
	if err != nil || !json.Valid(text) {
		t.Errorf("the dashboard is no JSON: %v", err)
	}
	page, err := os.ReadFile(prometheus + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, f := range families() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", f.Name, strings.Join(labels[f.Name], ", "), f.Help)
	}
	if !strings.Contains(string(page), table.String()) {
		if *update {
			page = regexp.MustCompile(`(?m)(^\| metric .*\n.*\n)(\|.*\n|@TABLE@\n)*`).ReplaceAll(page, []byte("${1}"+table.String()+"\n"))
			if err := os.WriteFile(prometheus+"README.md", page, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the table of %sREADME.md is not\n%s(-update writes it)", prometheus, table.String())
	}
}

// The alarms of a unit that could not be looked at stay in the metrics, as those of the looks' own unit do.
func TestBlindLookKeepsItsAlarms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.prom")
	blind := publish.Standing{Alarm: publish.Alarm{ID: publish.ID{Name: publish.Stale, Unit: "blind.service"}}, Since: noon}
	memory := &publish.Memory{Looked: noon, Alarms: []publish.Standing{blind}, Units: map[string]publish.Unit{"well.service": {}, "blind.service": {}}}
	if err := (watchman{}).write(t.Context(), alarmsConfig{Metrics: file}, seen{}, memory); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`trueup_alarms{alarm="stale",unit="blind.service"} 1`, `trueup_alarms{alarm="disk",unit="blind.service"} 0`,
		`trueup_alarms{alarm="stale",unit="well.service"} 0`, `trueup_alarms{alarm="disk",unit="trueup-check.service"} 0`} {
		if strings.Count(string(text), want+"\n") != 1 {
			t.Errorf("the metrics have not %s once:\n%s", want, text)
		}
	}
}
