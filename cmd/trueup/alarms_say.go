package main

import (
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
)

// MESSAGE_IDs of the journal entries of alarms. Two alarms may be raised by others as well, who find what is wrong first,
// and have had IDs of their own: trigger-dead by the gate that revives the path, held by the sweep.
const (
	msgRaised  = "2f7c4e9ab1d84b06a3e5c7091d2f6b48" // an alarm was raised
	msgCleared = "84d1b6f03c2e4a7795e0a8c6d4b21f3e" // an alarm is over
)

// sayNotice writes a notice to the journal.
func sayNotice(n publish.Notice) {
	e := trigger.Event{ID: msgRaised, Priority: journal.PriErr, Fields: map[string]string{
		"TRUEUP_ALARM": n.Name, "TRUEUP_STATE": n.State(), "TRUEUP_UNIT": n.Unit, "TRUEUP_SINCE": n.Since.UTC().Format(time.RFC3339)}}
	if n.Target != "" {
		e.Fields["TRUEUP_TARGET"] = n.Target
	}
	switch n.Name {
	case publish.TriggerDead:
		e.ID, e.Priority = trigger.MsgDead, journal.PriAlert
	case publish.Held:
		e.ID, e.Priority = msgHeld, journal.PriWarning
	case publish.Reserved:
		e.Priority = journal.PriWarning
	}
	if e.Message = fmt.Sprintf("alarm %s: %s: %s", n.Name, subject(n.ID), n.Text); n.Do != "" {
		e.Message += "; " + n.Do
	}
	if n.Cleared {
		e.ID, e.Priority = msgCleared, journal.PriNotice
		e.Message = fmt.Sprintf("alarm %s is over after %s: %s", n.Name, span(n.At.Sub(n.Since)), subject(n.ID))
	}
	e.Message = printable(e.Message)
	trigger.Journal(e)
}
