package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// An Event is one thing that happened in a run. What it says is in Fact; the types of facts and their fields are a
// promise (docs/ledger.md): they gain fields, and lose and change none.
type Event struct {
	Seq  int       // 1 for the opening event
	At   time.Time // the store's clock, set when the event is appended
	Fact Fact
}

// A Fact is what an event says: one of the types in this file.
type Fact interface{ fact() string }

// Leased opens a run.
type Leased struct {
	Lease
}

// Planned says what the run is about to do.
type Planned struct {
	Policy  string `json:"policy,omitempty"`
	Changes Plan   `json:"changes"`
	Waits   RunID  `json:"waits,omitempty"` // the run that holds back what else is wanted
}

// HeldBack says which of the planned changes wait for approval, and why.
type HeldBack struct {
	Digest  string   `json:"digest"` // of the changes that wait
	Changes []string `json:"changes"`
	Why     string   `json:"why"`
}

// Intended is the recovery marker: the change is about to be done, and may have been when nothing follows.
type Intended struct {
	Change string `json:"change"`
}

// Applied says that a change was done.
type Applied struct {
	Change   string        `json:"change"`
	Took     time.Duration `json:"took"`               // nanoseconds
	Approved RunID         `json:"approved,omitempty"` // the held run whose approval allowed it
}

// ChangeFailed says that a change was not done, or may not have been.
type ChangeFailed struct {
	Change string `json:"change"`
	Error  string `json:"error"`
}

// Recovered settles another run's marker after asking the outside.
type Recovered struct {
	Run      RunID  `json:"run"`
	Change   string `json:"change"`
	Happened bool   `json:"happened"`
}

// Succeeded closes a run: everything planned and not held back was done.
type Succeeded struct {
	Changes int `json:"changes"`
}

// Failed closes a run.
type Failed struct {
	Error     string     `json:"error"`
	NotBefore *time.Time `json:"not_before,omitempty"`
}

// LeaseExpired closes a run whose holder died, or lost touch with the store.
type LeaseExpired struct {
	Why string `json:"why"`
}

// Approved allows the changes that a run held back, once.
type Approved struct {
	By     string    `json:"by"`
	Digest string    `json:"digest"`
	Until  time.Time `json:"until"`
}

// Rejected says that the changes that a run held back are not wanted. It takes back an approval that was given before.
type Rejected struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	Done   int    `json:"done,omitempty"` // how many of the changes were done under that approval
}

func (Leased) fact() string       { return "leased" }
func (Planned) fact() string      { return "planned" }
func (HeldBack) fact() string     { return "held" }
func (Intended) fact() string     { return "intended" }
func (Applied) fact() string      { return "applied" }
func (ChangeFailed) fact() string { return "change_failed" }
func (Recovered) fact() string    { return "recovered" }
func (Succeeded) fact() string    { return "succeeded" }
func (Failed) fact() string       { return "failed" }
func (LeaseExpired) fact() string { return "lease_expired" }
func (Approved) fact() string     { return "approved" }
func (Rejected) fact() string     { return "rejected" }

// ErrUnknownEvent means that a newer trueup wrote to the ledger, or that the ledger is damaged. Nothing is decided on a
// history that is not understood whole.
var ErrUnknownEvent = errors.New("unknown type of event")

// EncodeFact gives a fact's type and its JSON, for a store.
func EncodeFact(f Fact) (typ string, data []byte, err error) {
	data, err = json.Marshal(f)
	return f.fact(), data, err
}

// DecodeFact reads what EncodeFact wrote.
func DecodeFact(typ string, data []byte) (Fact, error) {
	for _, known := range []Fact{Leased{}, Planned{}, HeldBack{}, Intended{}, Applied{}, ChangeFailed{}, Recovered{},
		Succeeded{}, Failed{}, LeaseExpired{}, Approved{}, Rejected{}} {
		if known.fact() != typ {
			continue
		}
		into := reflect.New(reflect.TypeOf(known))
		if err := json.Unmarshal(data, into.Interface()); err != nil {
			return nil, fmt.Errorf("reading an event of type %s: %w", typ, err)
		}
		return into.Elem().Interface().(Fact), nil
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownEvent, typ)
}
