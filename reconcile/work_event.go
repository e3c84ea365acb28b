package reconcile

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// A WorkEvent is one thing that happened to a work item. The types and fields of its fact are a promise, as those of runs
// are (docs/ledger.md).
type WorkEvent struct {
	Seq int       // 1 for the first start, and growing by one
	At  time.Time // the store's clock
	WorkFact
}

// A WorkFact is what a work item's event says. Which fields are set depends on the type.
type WorkFact struct {
	Type   WorkFactType `json:"-"`
	By     string       `json:"by"`               // who ordered it; of an expiry, whose session it was
	Fence  Fence        `json:"fence,omitempty"`  // of the session that begins, goes on, or ends
	Until  *time.Time   `json:"until,omitempty"`  // of the session; none when it never expires
	Scopes []Scope      `json:"scopes,omitempty"` // that a start reserves
	Note   string       `json:"note,omitempty"`   // why, or how far
}

// A WorkFactType says what kind of fact it is, in the word that the ledger keeps.
type WorkFactType string

// The types of facts of work items.
const (
	WorkStarted      WorkFactType = "started"       // reserves the scopes and begins a session
	WorkCheckpointed WorkFactType = "checkpointed"  // prolongs the session
	WorkBlocked      WorkFactType = "blocked"       // ends the session, if one is live, and keeps the scopes
	WorkReviewed     WorkFactType = "in_review"     // likewise
	WorkUnblocked    WorkFactType = "unblocked"     // begins another session
	WorkExpired      WorkFactType = "lease_expired" // nobody renewed the session: the item is BLOCKED
	WorkEnded        WorkFactType = "done"          // gives the scopes back
)

// state is the one that a fact of the type leaves an item in; empty for a type that is unknown.
func (t WorkFactType) state() WorkState {
	switch t {
	case WorkStarted, WorkCheckpointed, WorkUnblocked:
		return InProgress
	case WorkBlocked, WorkExpired:
		return Blocked
	case WorkReviewed:
		return InReview
	case WorkEnded:
		return WorkDone
	}
	return ""
}

// EncodeWorkFact gives a fact's type and its JSON, for a store.
func EncodeWorkFact(f WorkFact) (typ string, data []byte, err error) {
	data, err = json.Marshal(f)
	return string(f.Type), data, err
}

// DecodeWorkFact reads what EncodeWorkFact wrote.
func DecodeWorkFact(typ string, data []byte) (f WorkFact, err error) {
	if WorkFactType(typ).state() == "" {
		return f, fmt.Errorf("%w %q", ErrUnknownEvent, typ)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("reading an event of type %s: %w", typ, err)
	}
	f.Type = WorkFactType(typ)
	return f, nil
}

// FoldWork reads an item from its events, or from those since any of its starts. As with runs, what makes no sense is
// damage and is refused. Nothing is missing but earlier checkpoints of a session, which a later one makes superfluous: it
// has the session's fence, so that nothing else can have been between.
func FoldWork(id ItemID, events []WorkEvent) (Item, error) {
	i := Item{ID: id}
	for n, e := range events {
		begins := n == 0 && e.Seq > 0
		supersedes := e.Seq > i.Next() && e.Type == WorkCheckpointed && e.Fence == i.Session.Fence
		if e.Seq != i.Next() && !begins && !supersedes {
			return i, fmt.Errorf("event %d of work item %s follows event %d", e.Seq, id, i.Next()-1)
		}
		if err := i.add(e); err != nil {
			return i, fmt.Errorf("event %d of work item %s: %w", e.Seq, id, err)
		}
	}
	return i, nil
}

func (i *Item) add(e WorkEvent) error {
	state := e.Type.state()
	if state == "" {
		return fmt.Errorf("%w %q", ErrUnknownEvent, e.Type)
	}
	if !i.takes(e.Type) {
		return fmt.Errorf("%s does not follow while it is %q", e.Type, i.State)
	}
	switch e.Type {
	case WorkStarted:
		i.Reason, i.Scopes, i.Events = e.Note, e.Scopes, nil
		i.begin(e)
	case WorkUnblocked:
		i.begin(e)
	case WorkCheckpointed:
		i.Session.Until = untilOf(e)
	}
	if e.Type != WorkStarted {
		i.Note = e.Note
	}
	if state != i.State {
		i.State, i.Since = state, e.At
	}
	i.Events = append(i.Events, e)
	return nil
}

func (i *Item) begin(e WorkEvent) {
	i.Session, i.Note = Session{Fence: e.Fence, Holder: e.By, Since: e.At, Until: untilOf(e)}, ""
}

func untilOf(e WorkEvent) time.Time {
	if e.Until == nil {
		return time.Time{}
	}
	return *e.Until
}

// takes tells whether a fact of the type can follow.
func (i Item) takes(t WorkFactType) bool {
	from := map[WorkFactType][]WorkState{
		WorkStarted:      {"", WorkDone},
		WorkCheckpointed: {InProgress},
		WorkExpired:      {InProgress},
		WorkBlocked:      {InProgress, InReview},
		WorkReviewed:     {InProgress, Blocked},
		WorkUnblocked:    {Blocked, InReview},
		WorkEnded:        {InProgress, Blocked, InReview},
	}
	return slices.Contains(from[t], i.State)
}
