package reconcile

import (
	"context"
	"io"
	"time"
)

// An Archive is a ledger as those see it who look after it. Its promises are tests in package ledgertest, as those of
// Ledger are.
type Archive interface {
	// Prune cuts what the retention does not keep, in transactions so short that nobody has to wait for it, and gives the
	// space back. It never cuts a run that is open, that a record or a target's standing names (what waits for approval,
	// what was approved, a marker), nor a work item that is not done. On an error what it had cut by then stays cut.
	Prune(ctx context.Context, r Retention) (Pruned, error)
	// Export writes everything as it is at one instant, as lines of JSON (docs/ledger.md). Two exports of a ledger that
	// nobody has written to between them are the same, byte by byte.
	Export(ctx context.Context, to io.Writer) error
	// Inspect looks for what is damaged or makes no sense. An error means that it could not look.
	Inspect(ctx context.Context) ([]Flaw, error)
	// Tallies are how requests and ticks have ended, of each target that was ever asked for, by target.
	Tallies(ctx context.Context) ([]Tally, error)
	// Leave has the ledger carried to another place while nobody can write to it, and then closes it for good: from then on
	// the store itself refuses every write, whoever tries, and says what place that is. Where carry fails nothing has
	// changed. A *ReservedError while somebody has a lease, or a session of work that ends.
	Leave(ctx context.Context, place string, carry func(ctx context.Context) error) error
}

// A Retention says how much of the past is kept.
type Retention struct {
	Keep time.Duration // how long: what is younger is not cut
	Runs int           // how many of the last runs of each target that is known are kept, however old
	Most int           // in how many transactions one call cuts, each of tens of milliseconds; in all it takes when zero
}

// Pruned is what was cut.
type Pruned struct {
	Runs  int   `json:"runs"`
	Items int   `json:"items"` // work that was done, each time that an item was started
	Logs  int   `json:"logs"`  // over the quota; those of the runs that were cut do not count
	Bytes int64 `json:"bytes"` // that the ledger became smaller by
	More  bool  `json:"more"`  // there is more to cut than one call was to do
}

// A Flaw is something in a ledger that is not as it must be.
type Flaw struct {
	Where string `json:"where"` // the run, the target, the record
	What  string `json:"what"`
	Do    string `json:"do"` // for the operator
}

// families are the records that a ledger holds, see docs/ledger.md.
const (
	approvalFamily = "approval"
	claimFamily    = "claim"
	declaredFamily = "declared"
	heldFamily     = "held"
	knownFamily    = "known"
	markerFamily   = "marker"
	pruneFamily    = "prune"
)

// LostFamily is that of the record which a store leaves in a ledger that it made in the place of one that was gone, until
// somebody has been told.
const LostFamily = "lost"

// NodeFamily is that of the hosts that share a ledger, SeenFamily that of those of them which are present.
const (
	NodeFamily = "node"
	SeenFamily = "seen"
)

// WaitingFamily is that of the plans which wait until somebody is granted their targets, GrantedFamily that of those which
// somebody was granted, see package registry.
const (
	WaitingFamily = "waiting"
	GrantedFamily = "granted"
)

// OwnedFamilies are the families whose keys are the names of reconcilers, see Reconciler.Owner.
func OwnedFamilies() []string { return []string{claimFamily, declaredFamily} }

// Families are the families of records that this trueup knows. Others are a newer one's.
func Families() []string {
	return []string{approvalFamily, claimFamily, declaredFamily, GrantedFamily, heldFamily, knownFamily, LostFamily, markerFamily, NodeFamily, pruneFamily, SeenFamily,
		WaitingFamily}
}
