package main

import (
	"time"

	"trueup/reconcile"
	"trueup/reconcile/trigger"
)

// statusJSON is what status --json prints of one trigger: what the outbox shows, and the operator's part.
type statusJSON struct {
	trigger.Status
	Trigger     triggerJSON `json:"trigger"`
	Claim       *claimJSON  `json:"claim"`
	LastSuccess *time.Time  `json:"last_success"`
	Needs       []finding   `json:"needs"`    // a person is needed when there are any
	Warnings    []string    `json:"warnings"` // worth changing
	Notes       []string    `json:"notes"`    // set right by itself within the last day
	Alarms      []alarmJSON `json:"alarms"`   // that stand, as the last look of trueup alarms found it
	// Reconciler is what is known of each target, where the service is trueup's own.
	Reconciler []standingJSON `json:"reconciler,omitempty"`
	// Work are the work items that hold scopes.
	Work []itemJSON `json:"work,omitempty"`
	// Nodes are the hosts that share the ledger, and what none of them may tick.
	Nodes *nodesJSON `json:"nodes,omitempty"`
}

type triggerJSON struct {
	Path      *string    `json:"path"`  // waiting, running, disabled, stopped, failed, missing, unheard; null for trueup watch
	Timer     *string    `json:"timer"` // the timer's unit
	Floor     *string    `json:"floor"` // as a flag takes it: 30s
	NextSweep *time.Time `json:"next_sweep"`
}

type claimJSON struct {
	N        uint64    `json:"n"`
	Claimed  time.Time `json:"claimed"`
	Attempt  int       `json:"attempt"`
	All      bool      `json:"all"`
	Requests []string  `json:"requests"`
}

// standingJSON is what is known of a target.
type standingJSON struct {
	Target      reconcile.Key   `json:"target"`
	State       reconcile.State `json:"state"`
	Since       *time.Time      `json:"since"`
	LastSuccess *time.Time      `json:"last_success"`
	Ticked      *time.Time      `json:"ticked"`
	Owed        bool            `json:"owed"`
	Failures    int             `json:"failures"`
	NotBefore   *time.Time      `json:"not_before"`
	Next        *time.Time      `json:"next"` // null where it is no matter of time, or nobody knows
	Note        string          `json:"note,omitempty"`
	Run         reconcile.RunID `json:"run,omitempty"`
	// ReservedBy is the work item that keeps it from being ticked.
	ReservedBy reconcile.ItemID `json:"reserved_by,omitempty"`
}

func standingDocument(s reconcile.Standing, next schedule) standingJSON {
	return standingJSON{s.Target, stateWord(s), instant(since(s)), instant(s.CoveredAt), instant(s.Ticked), s.Owed(), s.Failures,
		instant(s.NotBefore), instant(next.of(s)), s.Report.Note, s.Report.Run, ""}
}

// unitsJSON is what it prints of several.
type unitsJSON struct {
	Version int          `json:"version"`
	Units   []statusJSON `json:"units"`
}

func statusDocument(reports []facts) any {
	if len(reports) == 1 {
		return document(reports[0])
	}
	several := unitsJSON{Version: 1}
	for _, f := range reports {
		several.Units = append(several.Units, document(f))
	}
	return several
}

func document(f facts) statusJSON {
	d := statusJSON{
		Status: f.published(), LastSuccess: instant(f.state.Settled.Finished.Wall),
		Needs:    append([]finding{}, f.needs()...), // never null
		Warnings: append([]string{}, f.warnings()...),
		Notes:    append([]string{}, f.notes()...),
		Alarms:   alarmDocuments(f.alarms),
	}
	if f.site != nil {
		for _, s := range f.site.standings {
			shown := standingDocument(s, f.next())
			if i, reserved := f.site.reserved[s.Target]; reserved {
				shown.State, shown.ReservedBy, shown.Next = reconcile.Elsewhere, i.ID, nil
			}
			d.Reconciler = append(d.Reconciler, shown)
		}
		d.Work = itemDocuments(f.site.items)
		if f.site.nodes != nil {
			nodes := f.site.nodes.document()
			d.Nodes = &nodes
		}
	}
	if c := f.state.Claim; c != nil {
		d.Claim = &claimJSON{c.N, c.Claimed, c.Attempt, c.All, append([]string{}, c.Requests...)}
	}
	if f.policy.Floor > 0 {
		floor := f.policy.Floor.String()
		d.Trigger.Floor = &floor
	}
	if s := f.systemd; s != nil {
		path := s.path()
		d.Trigger.Path = &path
		d.Trigger.NextSweep = instant(s.nextSweep())
		if timer := s.timer().Unit; timer != "" {
			d.Trigger.Timer = &timer
		}
	}
	return d
}

// path is what becomes of a touch: waiting and running hear it.
func (s *systemdFacts) path() string {
	switch {
	case s.Path.Load != "loaded":
		return "missing"
	case s.Path.Active == "failed":
		return "failed"
	case !s.Prompt() && !s.pathEnabled():
		return "disabled"
	case !s.Prompt():
		return "stopped"
	case s.spoolUnwatched:
		return "unheard"
	}
	return s.Path.Sub
}

// published is what the outbox shows, or would show if there were one.
func (f facts) published() trigger.Status {
	if f.shown.Version != 0 {
		shown := f.shown
		shown.Unit = f.unit
		return shown
	}
	s := f.state.Settled
	status := trigger.Status{Version: 1, Unit: f.unit, Epoch: s.Epoch, Claims: s.N, Settled: s.Covered,
		CoveredUntil: instant(s.CoveredUntil), State: f.phase()}
	if c := f.state.Claim; c != nil {
		status.Claims = c.N
		if c.Epoch != s.Epoch {
			status.Epoch, status.Settled, status.CoveredUntil = c.Epoch, 0, nil
		}
	}
	return status
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
