package trigger

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// Phase is the coarse state that the web app may know.
type Phase string

// The phases of a trigger.
const (
	Idle    Phase = "idle"    // nothing is asked for
	Waiting Phase = "waiting" // asked for; the floor is not yet over
	Running Phase = "running" // claimed; the run is on
	Failing Phase = "failing" // the last run failed; the next one waits out its backoff
)

// Status is outbox/status.json, which the web app reads. It faces a hostile container: numbers and coarse
// states, nothing else.
type Status struct {
	Version      int        `json:"version"` // 1
	Unit         string     `json:"unit"`
	Epoch        string     `json:"epoch"`         // numbers compare only within one epoch
	Claims       uint64     `json:"claims"`        // the last claim's number; a ticket is this, read after the commit
	Settled      uint64     `json:"settled"`       // every ticket below it is covered
	CoveredUntil *time.Time `json:"covered_until"` // for people: what was written before this instant is live
	State        Phase      `json:"state"`
	// Targets are shown by a run that keeps several targets true, see ShowTargets. The gate keeps what it finds there.
	Targets map[string]TargetStatus `json:"targets,omitempty"`
}

const statusFile = "status.json"

// ReadStatus reads status.json from an outbox.
func ReadStatus(outbox string) (Status, error) {
	d, err := openDir(outbox)
	if err != nil {
		return Status{}, err
	}
	defer d.close()
	var s Status
	if err := readJSON(d, statusFile, &s); err != nil {
		return Status{}, err
	}
	if s.Version != 1 || s.Epoch == "" {
		return Status{}, fmt.Errorf("reading %s: version %d is not known here, or the epoch is missing", filepath.Join(outbox, statusFile), s.Version)
	}
	return s, nil
}

// Published tells whether the outbox shows a claim's number, or nobody looks at one. Where it does not, somebody may still
// commit and read the number before: such a claim's run covers no ticket.
func Published(outbox string, c Claim) bool {
	if outbox == "" {
		return true
	}
	shown, err := ReadStatus(outbox)
	return err == nil && shown.Epoch == c.Epoch && shown.Claims >= c.N
}

// publish puts the given fields into status.json and keeps the others: each writer owns its own.
// It is durable: after a power cut the number must not be lower than one that a run has already read under.
func publish(d dir, own Status) error {
	fields := map[string]json.RawMessage{}
	if err := readJSON(d, statusFile, &fields); err != nil || fields == nil {
		fields = map[string]json.RawMessage{} // damaged or missing: what others own comes back with their next write
	}
	var before string
	if json.Unmarshal(fields["epoch"], &before) != nil || before != own.Epoch {
		delete(fields, "targets") // their numbers are of another epoch
	}
	encoded, err := json.Marshal(own)
	if err == nil {
		err = json.Unmarshal(encoded, &fields)
	}
	if err != nil {
		return fmt.Errorf("encoding %s: %w", statusFile, err)
	}
	return writeDurable(d, statusFile, 0o644, fields)
}
