package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Fence is the token of a lease. A store draws fences from one sequence that only grows, also across restarts and
// restored backups, so a later holder of a scope always has the greater fence.
type Fence uint64

// A Lease is the exclusive hold of a set of scopes until an instant of the store's clock.
type Lease struct {
	Fence  Fence     `json:"fence"`
	Run    RunID     `json:"run"`
	Target Key       `json:"target"`
	Scopes []Scope   `json:"scopes"`
	Holder string    `json:"holder"` // the process, for people: "sweep on host-a"
	Reason string    `json:"reason"` // why the target is ticked, for people: "asked by claim 12 for everything"
	Asked  time.Time `json:"asked"`  // when it was asked for; zero when nobody did
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
}

// ErrLeaseLost means that a fence is not, or no longer, that of a live lease. Nothing may be written under it.
var ErrLeaseLost = errors.New("the lease is lost")

// ReservedError says who holds scopes that were asked for: a run under its lease, or a work item.
type ReservedError struct {
	Run    RunID  // empty for an item
	Item   ItemID // empty for a run
	Holder string
	Scopes []Scope
	Until  time.Time // zero for an item that keeps its scopes until a person decides
}

func (e *ReservedError) Error() string {
	scopes := make([]string, len(e.Scopes))
	for i, s := range e.Scopes {
		scopes[i] = string(s)
	}
	return fmt.Sprintf("scope reserved by %s (%s): %s until %s", e.By(), inLine(e.Holder), strings.Join(scopes, ", "), shownUntil(e.Until))
}

// By names the run or the item.
func (e *ReservedError) By() string { return cmp.Or(string(e.Run), string(e.Item)) }

// inLine is somebody's name as an error may have it: quoted where it would make a line of its own, or command a terminal.
func inLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

// shownUntil is the end of a reservation for people.
func shownUntil(t time.Time) string {
	if t.IsZero() {
		return "a person decides"
	}
	return t.Format(time.RFC3339)
}

// A RunID names a run: "r-" and at least five letters or digits.
type RunID string

// NewRunID is the name of the run that holds a fence. Each fence gives another name, and neighbours look nothing alike,
// so that a slip of the finger does not name another run.
func NewRunID(f Fence) RunID {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32: no letter is taken for another
	bits := 25
	for bits < 65 && uint64(f) >= 1<<bits {
		bits += 5
	}
	n := uint64(f) * 0x9e3779b97f4a7c15 & (1<<bits - 1) // an odd factor is a bijection modulo a power of two
	name := make([]byte, bits/5)
	for i := range name {
		name[i] = digits[n>>(5*i)&31]
	}
	return RunID("r-" + string(name))
}

// Lapsed is what a store appends to the run of a lease that has lapsed, and what becomes of the target's report. A run
// that had not been opened, since nothing had happened in it, is opened first: that its holder died is worth telling.
func Lapsed(l Lease, opened bool, why string) ([]Fact, Report) {
	facts := []Fact{Leased{l}, LeaseExpired{Why: why}}
	if opened {
		facts = facts[1:]
	}
	return facts, Report{State: Failing, Note: "lease expired: " + why, Run: l.Run}
}
