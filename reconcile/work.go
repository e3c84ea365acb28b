package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A WorkLedger keeps work items: people and scripts that hold scopes as ticks do, so that they and the reconciler
// exclude one another. Its promises are tests in package ledgertest, as those of Ledger are.
//
// An item has a session while somebody works on it, with a fence of the same sequence as leases. A session belongs to no
// process and lives by time alone. Once it has expired the item is BLOCKED and keeps its scopes: nobody knows how far the
// work had come, so a person decides.
type WorkLedger interface {
	// Work does what is ordered, in one transaction, and returns the item as it is then. A *ReservedError says who holds
	// a scope that was to be reserved, ErrLeaseLost that the order's fence is not the live session's, ErrFenceNeeded that
	// there is one and the order has none, and an *UnfitError that the item's state does not allow the order.
	Work(ctx context.Context, o WorkOrder) (Item, error)
	// RenewWork prolongs a live session and records nothing. ErrLeaseLost when there is none with the fence.
	RenewWork(ctx context.Context, id ItemID, f Fence, ttl time.Duration) error
	// Item reads an item, done or not, from its last start on. ErrNoItem when it was never started, ErrUnreadable when its
	// events make no sense.
	Item(ctx context.Context, id ItemID) (Item, error)
	// Items lists the items that are not done, by name, also those that cannot be read. It costs as much as has happened in
	// them since their last start.
	Items(ctx context.Context) ([]Item, error)
	// Discard gives back the scopes of an item whose events make no sense, and removes them: nothing else ends it. A
	// *UnfitError when it can be read, ErrNoItem when there is none.
	Discard(ctx context.Context, id ItemID) error
}

// Errors of work items.
var (
	// ErrNoItem means that no work was ever started under the name.
	ErrNoItem = errors.New("no such work item")
	// ErrFenceNeeded means that somebody works on the item, and that who orders did not show to know of it.
	ErrFenceNeeded = errors.New("the fence of that session is needed")
	// ErrUnreadable means that an item's events are damaged, or of a newer version: nothing is decided on them.
	ErrUnreadable = errors.New("its events cannot be read")
)

// An ItemID names a work item, in the words of those who work: "maintenance-db", "pause:command:proxy".
type ItemID string

// ParseItemID checks a name that comes from outside. What could be taken for a run is none.
func ParseItemID(s string) (ItemID, error) {
	number, run := strings.CutPrefix(s, "r-")
	run = run && len(number) >= 5 && IsWord(number, "", 200) && strings.ToLower(number) == number
	if run || !IsWord(s, "._:@-", 200) {
		return "", fmt.Errorf("work item %q: want letters, digits and ._:@-, and no run's name", s)
	}
	return ItemID(s), nil
}

// ParseScope checks a key that comes from outside. It has the form that the configuration's scopes have.
func ParseScope(s string) (Scope, error) {
	if !IsWord(s, "._:@/+-", 200) {
		return "", fmt.Errorf("scope %q: want letters, digits and ._:@/+-", s)
	}
	return Scope(s), nil
}

// pauses is what the names of pauses begin with.
const pauses = "pause:"

// PauseID names the item that keeps a target from being ticked.
func PauseID(target Key) ItemID { return pauses + ItemID(target) }

// Paused is the target whose pause has the name; none when it is no pause's.
func (id ItemID) Paused() (target Key, is bool) {
	rest, is := strings.CutPrefix(string(id), pauses)
	return Key(rest), is
}

// A WorkState is where an item stands, in the word that people read.
type WorkState string

// The states of an item. Each but DONE keeps the item's scopes.
const (
	InProgress WorkState = "IN_PROGRESS" // its session is live
	Blocked    WorkState = "BLOCKED"     // it cannot go on until a person decides
	InReview   WorkState = "REVIEW"      // the work is done, and a person is to look at it
	WorkDone   WorkState = "DONE"        // nothing is held any more; it may be started again
	Unreadable WorkState = "UNREADABLE"  // its events make no sense, and its scopes are kept until it is discarded
)

// A Session is somebody's hold of an item.
type Session struct {
	Fence  Fence
	Holder string // who works, for people
	Since  time.Time
	Until  time.Time // never expires when zero: a pause
}

// An Item is a work item as its events tell it, from its last start on.
type Item struct {
	ID      ItemID
	State   WorkState // empty before the first event
	Since   time.Time // when it came to be in that state
	Reason  string    // why it was started
	Note    string    // what was said last: how far it is, why it is blocked
	Scopes  []Scope   // in the order in which they were asked for, none twice
	Session Session   // the last; live while the item is IN_PROGRESS
	Events  []WorkEvent
}

// NeedsPerson tells whether the item holds scopes that nobody works on.
func (i Item) NeedsPerson() bool {
	return i.State == Blocked || i.State == InReview || i.State == Unreadable
}

// Next is the number that its next event has.
func (i Item) Next() int {
	if len(i.Events) == 0 {
		return 1
	}
	return i.Events[len(i.Events)-1].Seq + 1
}

// checkpoints are how many of a session's are kept: whoever says every minute how far it is leaves no history that must be
// read with each order.
const checkpoints = 50

// Surplus are the numbers of the session's earliest checkpoints, from first to last, which a store removes so that another one
// finds room.
func (i Item) Surplus() (first, last int, many bool) {
	var said []int
	for _, e := range i.Events {
		if e.Type == WorkCheckpointed && e.Fence == i.Session.Fence {
			said = append(said, e.Seq)
		}
	}
	if len(said) < checkpoints {
		return 0, 0, false
	}
	return said[0], said[len(said)-checkpoints], true
}

// Reserves says which of the scopes the item holds; nil when none.
func (i Item) Reserves(scopes []Scope) *ReservedError {
	var common []Scope
	for _, s := range scopes {
		if i.State != WorkDone && slices.Contains(i.Scopes, s) {
			common = append(common, s)
		}
	}
	if common == nil {
		return nil
	}
	by := &ReservedError{Item: i.ID, Holder: i.Session.Holder, Scopes: common}
	if i.State == InProgress {
		by.Until = i.Session.Until
	}
	return by
}

// At is the item as it is at an instant of the store's clock, when no write has lapsed yet what has expired.
func (i Item) At(now time.Time) Item {
	if i.State != InProgress || i.Session.Until.IsZero() || i.Session.Until.After(now) {
		return i
	}
	i.Events = slices.Clip(i.Events)
	_ = i.add(WorkEvent{Seq: i.Next(), At: i.Session.Until, WorkFact: i.Expired()}) // always follows on a live session
	return i
}

// Expired is what a store records when a session has expired.
func (i Item) Expired() WorkFact {
	return WorkFact{Type: WorkExpired, By: i.Session.Holder, Fence: i.Session.Fence, Note: "lease expired"}
}
