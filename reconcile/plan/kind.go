package plan

import (
	"context"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

// Input is what a kind works on.
type Input struct {
	Target reconcile.Target
	Run    reconcile.RunID // empty in a preview, as Fence is
	Fence  reconcile.Fence
	Policy policy.Document // zero where the target has none
	Known  []byte          // what a Learner has learned, at an earlier tick or before this one's changes; nil where there was none
	// Log keeps what a command printed, without secrets. The stream is the command's name for people.
	Log func(stream, text string)
	// Guard returns an error when the lease is lost. It was asked before each Apply; a kind asks it again before each
	// further external write of the same Apply, and does not write where it fails.
	Guard func(context.Context) error
}

// A Kind compares what is wanted with what is so. W is what it observes. It is used by many goroutines at once.
type Kind[W any] interface {
	// Observe reads the outside and writes nothing. It returns a *reconcile.UnknownError where it could not read all of
	// it; what only concerns some things can also be planned as reconcile.Unknown. It sees what Apply did, pending or not:
	// it is asked again after the changes, and what is still wanted then counts as failed.
	Observe(ctx context.Context, in Input) (W, error)
	// Plan compares. It does nothing else, and wants nothing of a world in which all of its changes were done.
	Plan(in Input, seen W) (reconcile.Plan, error)
	// Apply does one change. A *reconcile.NotBeforeError means that the outside refused it for the time being: it was
	// surely not done, and nothing else is tried. After any other error it may have been done.
	Apply(ctx context.Context, in Input, seen W, c reconcile.Change) error
}

// An Asker is a Kind whose plans have changes that are Once: it tells whether such a change, which a run has begun or done
// and which the plan still wants or does not tell of, is so outside: an invitation that stands, not one that has lapsed. It
// asks where the answer is never late. Without it such a change waits for a person.
type Asker[W any] interface {
	Happened(ctx context.Context, in Input, seen W, c reconcile.Change) (bool, error)
}

// A Learner is a Kind that keeps something of what it has seen for its later ticks, such as the number behind a name, which
// tells when the name has gone to somebody else.
type Learner[W any] interface {
	// Learn gives what is to be known from now on, as JSON that is the same whenever the same is known. It is asked before the
	// changes of a tick, where something is known already, and after them.
	Learn(in Input, seen W) []byte
}

// A Reader reads what is wanted. Each of its errors is a *reconcile.UnknownError.
type Reader interface {
	Read(ctx context.Context, s policy.Source, at policy.Moment) (policy.Document, error)
}
