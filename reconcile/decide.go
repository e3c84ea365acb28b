package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Command asks a run to go on. Decide says what it would come to.
type Command interface{ command() }

// The commands.
type (
	// Propose lays the plan down, with what of it has to wait for a person and why.
	Propose struct {
		Policy string
		Plan   Plan
		Hold   []string // ids of changes that have to wait
		Why    string
		Waits  RunID // the run that holds back what else is wanted, and is not in the plan
	}
	// Begin marks a change that is not idempotent before it is done.
	Begin struct{ Change string }
	// Finish tells how a change ended.
	Finish struct {
		Change   string
		Took     time.Duration
		Err      error
		Approved RunID // the held run that allowed it, where approval was needed
	}
	// Recover settles the marker that another run left.
	Recover struct {
		Run      RunID
		Change   string
		Happened bool
	}
	// Close ends the run; a nil Err is success.
	Close struct{ Err error }
	// Expire ends a run whose lease has lapsed.
	Expire struct{ Why string }
	// Approve allows what the run held back, until an instant.
	Approve struct {
		By     string
		Digest string // what the approver saw
		Until  time.Time
	}
	// Reject refuses what the run held back, or what is left of it where it was approved before.
	Reject struct {
		By, Reason string
		Done       int // how many of the changes were done under that approval
	}
)

func (Propose) command() {}
func (Begin) command()   {}
func (Finish) command()  {}
func (Recover) command() {}
func (Close) command()   {}
func (Expire) command()  {}
func (Approve) command() {}
func (Reject) command()  {}

// ErrUndecidable means that a command does not fit the run as it is.
var ErrUndecidable = errors.New("does not fit the run")

// Decide says what a command would add to the run's events. It looks at nothing but the history and changes nothing;
// only what the ledger has then appended is believed.
func (h History) Decide(c Command) ([]Fact, error) {
	switch c := c.(type) {
	case Approve, Reject:
		return h.judge(c)
	case Propose:
		return h.propose(c)
	}
	if h.Phase != Running {
		return nil, h.unfit("it is %s", h.Phase)
	}
	switch c := c.(type) {
	case Begin:
		if err := h.mayDo(c.Change); err != nil {
			return nil, err
		}
		return []Fact{Intended(c)}, nil
	case Finish:
		if err := h.mayDo(c.Change); err != nil && !h.Intended(c.Change) {
			return nil, err
		}
		if c.Err != nil {
			return []Fact{ChangeFailed{Change: c.Change, Error: c.Err.Error()}}, nil
		}
		return []Fact{Applied{Change: c.Change, Took: c.Took, Approved: c.Approved}}, nil
	case Recover:
		return []Fact{Recovered(c)}, nil
	case Close:
		return h.end(c)
	case Expire:
		return []Fact{LeaseExpired(c)}, nil
	}
	return nil, fmt.Errorf("deciding a %T: %w", c, ErrUndecidable)
}

func (h History) propose(c Propose) ([]Fact, error) {
	switch {
	case h.Phase != Running:
		return nil, h.unfit("it is %s", h.Phase)
	case h.planned():
		return nil, h.unfit("it has a plan")
	}
	seen := map[string]bool{}
	for _, change := range c.Plan {
		if change.ID == "" || seen[change.ID] {
			return nil, fmt.Errorf("planning %s: the change %q has no name of its own", h.Lease.Target, change.Text)
		}
		seen[change.ID] = true
	}
	facts := []Fact{Planned{Policy: c.Policy, Changes: c.Plan, Waits: c.Waits}}
	if len(c.Hold) > 0 {
		held := slices.DeleteFunc(slices.Clone(c.Plan), func(change Change) bool { return !slices.Contains(c.Hold, change.ID) })
		if len(held) != len(c.Hold) {
			return nil, h.unfit("what is held back is not in the plan")
		}
		facts = append(facts, HeldBack{Digest: held.Digest(), Changes: c.Hold, Why: c.Why})
	}
	return facts, nil
}

// mayDo tells whether a change of the plan is still to be done.
func (h History) mayDo(id string) error {
	change, planned := h.Change(id)
	switch {
	case !planned:
		return h.unfit("change %q is not in its plan", id)
	case change.Op == Unknown:
		return h.unfit("change %q is unknown, so nothing is done about it", id)
	case h.Hold != nil && slices.Contains(h.Hold.Changes, id):
		return h.unfit("change %q waits for approval", id)
	case h.applied[id] || h.intended[id]:
		return h.unfit("change %q was begun before", id)
	}
	return nil
}

func (h History) end(c Close) ([]Fact, error) {
	if c.Err != nil {
		failed := Failed{Error: c.Err.Error()}
		if later, ok := errors.AsType[*NotBeforeError](c.Err); ok {
			failed.NotBefore = &later.At
		}
		return []Fact{failed}, nil
	}
	for _, change := range h.Plan {
		if h.mayDo(change.ID) == nil || h.failed[change.ID] || h.Intended(change.ID) {
			return nil, h.unfit("change %q is not done", change.ID)
		}
	}
	return []Fact{Succeeded{Changes: len(h.applied)}}, nil
}

// judge decides on what a run held back. It may have failed in the rest of its plan; while it runs nobody judges. Either
// word can be thought better of, but an approval that was used in part is not given again: what is left is another set.
func (h History) judge(c Command) ([]Fact, error) {
	if h.Hold == nil {
		return nil, h.unfit("it holds nothing back")
	}
	_, rejects := c.(Reject)
	if h.Phase == Running || h.Approval != nil && !rejects || h.Verdict != nil && rejects {
		return nil, h.unfit("it is %s", h.Phase)
	}
	switch c := c.(type) {
	case Approve:
		switch {
		case h.Verdict != nil && h.Verdict.Done > 0:
			return nil, h.unfit("a part of it was done before the rest was rejected")
		case c.Digest != h.Hold.Digest:
			return nil, h.unfit("what was approved is not what it holds back")
		}
		return []Fact{Approved(c)}, nil
	case Reject:
		return []Fact{Rejected(c)}, nil
	}
	return nil, fmt.Errorf("deciding a %T: %w", c, ErrUndecidable)
}

func (h History) planned() bool {
	return slices.ContainsFunc(h.Events, func(e Event) bool { _, is := e.Fact.(Planned); return is })
}

func (h History) unfit(format string, args ...any) error {
	return fmt.Errorf("run %s: %s: %w", h.Lease.Run, fmt.Sprintf(format, args...), ErrUndecidable)
}
