package reconcile

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A State is a target's outcome, in the word that people read.
type State string

// The states of a target.
const (
	OK        State = "ok"        // what was wanted is so
	Failing   State = "failing"   // the last tick failed; it is tried again
	Held      State = "held"      // a part of the plan waits for a person's approval
	Uncertain State = "unknown"   // what is wanted, or what is so, could not be read; nothing is removed
	Elsewhere State = "elsewhere" // somebody else holds a scope of it
	Limited   State = "limited"   // the outside asked for patience
	Waiting   State = "waiting"   // asked for and not ticked yet
)

// A Report is the outcome of one tick.
type Report struct {
	State   State  `json:"state"`
	Note    string `json:"note,omitempty"` // one line for people: what is held, what failed
	Run     RunID  `json:"run,omitempty"`  // the run that tells more; none where nothing happened
	Changes int    `json:"changes"`        // how many were applied
	Policy  string `json:"policy,omitempty"`
	Final   bool   `json:"final,omitempty"` // the failure is one that no retry mends
	// Held is the run that holds back what waits for a person's approval, whatever became of the rest of the plan. A ledger
	// does not keep it with the report, since it may be answered before the next tick.
	Held RunID `json:"held,omitempty"`
	// Own is this tick's own run; empty where nothing happened, or only what was told before.
	Own RunID `json:"-"`
	// Notify are targets that this tick gives reason to look at. They are asked for with the settlement.
	Notify []Key `json:"-"`
}

// NotBeforeError carries an instant before which a retry is useless: a rate limit. The lease is given back and the
// target stays owed until then.
type NotBeforeError struct {
	At  time.Time
	Err error
}

func (e *NotBeforeError) Error() string {
	return e.Err.Error() + ", not before " + e.At.Format(time.RFC3339)
}

func (e *NotBeforeError) Unwrap() error { return e.Err }

// UnknownError means that what is wanted or what is so could not be read. The tick did nothing.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string { return e.Err.Error() }

func (e *UnknownError) Unwrap() error { return e.Err }

// A PanicError is a panic that was caught.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Caught does something, and turns a panic of it into a *PanicError: what is wrong with one target never stops another.
func Caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return do()
}

// Terminal marks an error that no retry mends: only a person or another configuration does. The target is tried again
// all the same, since either may have come; a person is told at once and not after some failures.
func Terminal(err error) error { return &terminalError{err} }

// IsTerminal tells whether an error was marked by Terminal.
func IsTerminal(err error) bool {
	_, terminal := errors.AsType[*terminalError](err)
	return terminal
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }
