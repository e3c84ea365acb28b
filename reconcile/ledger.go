package reconcile

import (
	"context"
	"errors"
	"time"
)

// A Ledger keeps runs as events, leases, what is asked of each target, and records. Package ledgertest holds what each
// method promises, as tests that every store passes.
//
// The store's clock is the only one: it sets the times of events and leases, and says when a lease has lapsed. Every
// method that changes something first lapses what has expired, so nobody has to watch the clock.
type Ledger interface {
	// Grant leases scopes, each bid all or none, and draws a fence for each lease that it grants. The answers stand in the
	// order of the bids. One bid's refusal is no other's.
	Grant(ctx context.Context, bids []Bid, ttl time.Duration) ([]Answer, error)
	// Renew prolongs leases of this process and returns the fences of those that are lost.
	Renew(ctx context.Context, fences []Fence, ttl time.Duration) (lost []Fence, err error)
	// Check returns ErrLeaseLost unless the fence is that of a live lease. It is asked before each external write.
	Check(ctx context.Context, f Fence) error
	// Commit does everything in the batch or nothing.
	Commit(ctx context.Context, b Batch) error
	// Settle ends ticks in one transaction and gives their leases back. An error among the answers is one tick's alone.
	Settle(ctx context.Context, ends []Settlement) (answers []error, err error)

	// Events reads a run, whole. ErrNoRun when there is none.
	Events(ctx context.Context, run RunID) ([]Event, error)
	// Runs lists runs, the latest first, at most limit; of one target unless the key is empty.
	Runs(ctx context.Context, target Key, limit int) ([]RunID, error)
	// Standings lists what is known of each target, with what claims of these epochs have asked; of all where none is named.
	// Others may be there too.
	Standings(ctx context.Context, epochs ...string) ([]Standing, error)
	// Leases lists the live leases.
	Leases(ctx context.Context) ([]Lease, error)
	// Records lists the records of a family whose key begins with the prefix, by key. Expired ones are gone.
	Records(ctx context.Context, family, prefix string) ([]Record, error)
	// Logs reads what a run's commands printed, in order.
	Logs(ctx context.Context, run RunID) ([]Log, error)
}

// Errors of a ledger.
var (
	// ErrConflict means that what a batch was decided on has changed since: another sequence, another revision.
	ErrConflict = errors.New("the ledger has moved on")
	// ErrNoRun means that the ledger has no such run.
	ErrNoRun = errors.New("no such run")
	// ErrUnwritable means that the store refuses to be written. Nothing may be applied: what cannot be recorded is not done.
	ErrUnwritable = errors.New("the ledger cannot be written")
)

// A Bid asks for a lease.
type Bid struct {
	Target Key
	Scopes []Scope // all that the lease covers, the target's own first
	Reason string
	Asked  time.Time // see Lease
}

// An Answer to a bid is a lease with what is known of its target, or the reason why there is none: a *ReservedError.
type Answer struct {
	Lease    Lease
	Standing Standing
	Refused  error
}

// A Batch is what one transaction writes.
type Batch struct {
	// Under is the lease that the batch is written under. Without one (zero) only a closed run may be written to.
	Under   Fence
	Append  []Append
	Records []Write
	Ask     []Ask
	Strange int      // how many requests came for targets that are not declared: they are counted, see Tally
	Forget  []Key    // standings of targets that are gone
	Gone    []string // epochs of triggers that are gone: what their claims asked is owed still, and nobody holds a ticket for it
	Logs    []Log
}

// An Append adds facts to a run, whose last event must have the expected number; zero opens it.
type Append struct {
	Run      RunID
	Expected int
	Facts    []Fact
}

// An Ask makes targets owed: each draws one number from the sequence of the fences, and is owed until a tick whose
// fence is greater has covered it.
type Ask struct {
	Targets []Key
	Reason  string
	Claim   *Claim // nil when nobody holds a ticket for it
	// Aloud is for targets that the asker does not tick itself: a store that several hosts share tells those who listen.
	Aloud bool
}

// A Claim is the trigger's number behind an ask.
type Claim struct {
	Epoch   string    `json:"epoch"`
	N       uint64    `json:"n"`
	Claimed time.Time `json:"claimed"`
}

// A Settlement ends one tick. Without a Report.State the lease is only given back, and the standing stays as it was.
// The targets in Report.Notify are asked for in the same transaction.
type Settlement struct {
	Lease       Lease
	Expected    int    // the run's last event; zero when it was never opened
	Facts       []Fact // what closes the run; none where it was never opened
	Report      Report
	Covered     bool          // the tick's success covers what was asked before its fence was drawn
	Wait        time.Duration // for how long from now on, by the store's clock, another tick is useless
	Fingerprint string
	Records     []Write
	Logs        []Log // none where there are no facts
}

// A Record is a value under compare-and-swap. Families are listed in docs/ledger.md.
type Record struct {
	Family   string
	Key      string
	Revision int64 // 1 when created, and one more with each update
	Value    []byte
	Expires  time.Time // never when zero
}

// A Write creates a record (Revision 0), updates it at a revision, or deletes it at one (Value nil). It fails with
// ErrConflict where the revision is another.
type Write struct {
	Family   string
	Key      string
	Revision int64
	Value    []byte
	TTL      time.Duration // never expires when zero
}

// A Log is what a command printed.
type Log struct {
	Run    RunID
	At     time.Time // set by the store
	Stream string    // the command: "check", "apply user ada"
	Text   string    // also says where something was left out, and how much
}
