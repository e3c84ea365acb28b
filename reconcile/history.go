package reconcile

import (
	"fmt"
	"slices"
	"time"
)

// A History is a run as its events tell it: the fold of the ledger's events, and nothing that is not in them.
type History struct {
	Lease    Lease
	Events   []Event
	Policy   string
	Plan     Plan
	Hold     *HeldBack // nil when nothing was held back
	Waits    RunID     // the run that held back what else was wanted; empty where nothing was
	Approval *Approved // the last word about what was held back; at most one of both is set
	Verdict  *Rejected
	Phase    Phase
	Ended    time.Time

	intended, applied, failed map[string]bool
}

// A Phase is how far a run is.
type Phase string

// The phases of a run.
const (
	Unopened  Phase = ""          // no event yet
	Running   Phase = "running"   // its lease is or was live, and nothing has closed it
	Done      Phase = "succeeded" //
	Broken    Phase = "failed"    //
	Expired   Phase = "expired"   // its lease ran out
	AwaitsYou Phase = "held"      // closed but for what waits for approval
	Allowed   Phase = "approved"  // what it held back may be done once
	Denied    Phase = "rejected"  //
)

// Seq is the number of the last event.
func (h History) Seq() int { return len(h.Events) }

// Fold reads a run from its events. It refuses a gap in their numbers and an event that cannot follow those before it:
// a history that makes no sense is damage, and nothing is decided on damage.
func Fold(events []Event) (History, error) {
	var h History
	for _, e := range events {
		if e.Seq != h.Seq()+1 {
			return h, fmt.Errorf("event %d%s follows event %d", e.Seq, h.ofRun(), h.Seq())
		}
		if err := h.add(e); err != nil {
			return h, fmt.Errorf("event %d%s: %w", e.Seq, h.ofRun(), err)
		}
	}
	return h, nil
}

// ofRun names the run, once its first event has.
func (h History) ofRun() string {
	if h.Phase == Unopened {
		return ""
	}
	return " of run " + string(h.Lease.Run)
}

// after is the history with facts appended, all at one instant.
func (h History) after(at time.Time, facts ...Fact) (History, error) {
	events := slices.Clip(h.Events)
	for _, f := range facts {
		events = append(events, Event{Seq: len(events) + 1, At: at, Fact: f})
	}
	return Fold(events)
}

func (h *History) add(e Event) error {
	if err := h.follows(e.Fact); err != nil {
		return err
	}
	switch f := e.Fact.(type) {
	case Leased:
		h.Lease, h.Phase = f.Lease, Running
		h.intended, h.applied, h.failed = map[string]bool{}, map[string]bool{}, map[string]bool{}
	case Planned:
		h.Policy, h.Plan, h.Waits = f.Policy, f.Changes, f.Waits
	case HeldBack:
		h.Hold = &f
	case Intended:
		h.intended[f.Change] = true
	case Applied:
		h.applied[f.Change] = true
		delete(h.failed, f.Change)
	case ChangeFailed:
		h.failed[f.Change] = true
	case Recovered:
	case Succeeded:
		h.close(Done, e.At)
	case Failed:
		h.close(Broken, e.At)
	case LeaseExpired:
		h.close(Expired, e.At)
	case Approved:
		h.Approval, h.Verdict, h.Phase = &f, nil, Allowed
	case Rejected:
		h.Approval, h.Verdict, h.Phase = nil, &f, Denied
	default:
		return fmt.Errorf("%w %T", ErrUnknownEvent, f)
	}
	h.Events = append(h.Events, e)
	return nil
}

// follows refuses what no run can have said at this point.
func (h *History) follows(f Fact) error {
	_, opens := f.(Leased)
	judges := false
	switch f.(type) {
	case Approved, Rejected:
		judges = true
	}
	switch {
	case opens != (h.Phase == Unopened):
		return fmt.Errorf("a run opens with its lease, and only with it: %T", f)
	case opens:
		return nil
	case judges && (h.Phase == Running || h.Hold == nil):
		return fmt.Errorf("%s, and it runs or holds nothing back", f.fact())
	case !judges && h.Phase != Running:
		return fmt.Errorf("%s after its end", f.fact())
	}
	return nil
}

func (h *History) close(p Phase, at time.Time) {
	h.Phase, h.Ended = p, at
	if p == Done && h.Hold != nil {
		h.Phase = AwaitsYou
	}
}

// Applied tells whether a change of the plan was done.
func (h History) Applied(id string) bool { return h.applied[id] }

// Failed tells whether a change of the plan was tried in vain.
func (h History) Failed(id string) bool { return h.failed[id] }

// Intended tells whether a change may have been done: its marker stands, and no outcome follows.
func (h History) Intended(id string) bool { return h.intended[id] && !h.applied[id] && !h.failed[id] }

// Change finds a change of the plan.
func (h History) Change(id string) (Change, bool) {
	i := slices.IndexFunc(h.Plan, func(c Change) bool { return c.ID == id })
	if i < 0 {
		return Change{}, false
	}
	return h.Plan[i], true
}

// Waiting are the changes that the run held back.
func (h History) Waiting() Plan {
	var waiting Plan
	if h.Hold != nil {
		for _, id := range h.Hold.Changes {
			if c, ok := h.Change(id); ok {
				waiting = append(waiting, c)
			}
		}
	}
	return waiting
}
