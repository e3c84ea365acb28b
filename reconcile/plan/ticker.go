package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"trueup/reconcile"
	"trueup/reconcile/policy"
)

// Options are what a Ticker is told of its target.
type Options[W any] struct {
	Policy  policy.Source // none where the kind needs no policy
	Breaker Breaker
	// Size tells how many things there are, of which the breaker takes its fraction; zero where it cannot tell.
	Size func(W) int
}

// A Ticker keeps one target of a kind true. It is a reconcile.Ticker.
type Ticker[W any] struct {
	kind    Kind[W]
	read    Reader
	options Options[W]
}

// New makes a ticker of a kind. The reader may be nil where there is no policy.
func New[W any](kind Kind[W], read Reader, o Options[W]) *Ticker[W] {
	return &Ticker[W]{kind: kind, read: read, options: o}
}

// Tick trues the target up, see the package comment. It returns an error when not all that is wanted is so, except what
// waits for a person.
func (t *Ticker[W]) Tick(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
	in := Input{Target: run.Target, Run: run.Lease.Run, Fence: run.Lease.Fence, Guard: run.Check,
		Log: func(stream, text string) { run.Log(reconcile.Log{Stream: stream, Text: text}) }}
	s, err := t.look(ctx, in, run.Standing, run)
	if err != nil {
		return reconcile.Report{Policy: s.in.Policy.Digest}, err
	}
	if err := s.record(ctx, run); err != nil {
		return reconcile.Report{Policy: s.in.Policy.Digest}, fmt.Errorf("recording what is about to be done: %w", err)
	}
	if s.known.there() { // what is out of date is forgotten before the changes: neither they nor a kill may find it so
		if err := t.learn(ctx, run, s); err != nil {
			return reconcile.Report{Policy: s.in.Policy.Digest}, err
		}
	}
	d := t.apply(ctx, run, s)
	if d.halt == nil && len(d.done) > 0 {
		d.halt = t.readBack(ctx, s, &d)
	}
	if d.halt == nil {
		d.halt = t.learn(ctx, run, s)
	}
	return s.report(run, d)
}

// A Preview is what a tick would do, found out without writing anything, neither outside nor to the ledger.
type Preview interface {
	Preview(ctx context.Context, target reconcile.Target, known reconcile.Standing, records Records) (Outlook, error)
}

// Records are what a preview reads of a ledger.
type Records interface {
	Records(ctx context.Context, family, prefix string) ([]reconcile.Record, error)
}

// Preview tells what a tick would do with what is known of the target. It needs no lease, so a tick that runs at the same
// time may change what it says. It takes no longer than a tick may. A panic of the kind is a *reconcile.PanicError.
func (t *Ticker[W]) Preview(ctx context.Context, target reconcile.Target, known reconcile.Standing, records Records) (Outlook, error) {
	in := Input{Target: target, Log: func(string, string) {}, Guard: func(context.Context) error { return reconcile.ErrLeaseLost }}
	var o Outlook
	err := target.Bounded(ctx, func(ctx context.Context) error {
		return reconcile.Caught(func() error {
			s, err := t.look(ctx, in, known, records)
			o = s.outlook
			return err
		})
	})
	return o, err
}

// A sight is what a tick has seen, and what it comes to.
type sight[W any] struct {
	in      Input
	seen    W
	wanted  reconcile.Plan // the kind's plan as it is
	outlook Outlook

	evidence
	known     kept[json.RawMessage]
	markers   shelf[marker]
	recovered []recovery
	stale     []reconcile.Write // forgets markers of changes that were done and show
	failures  []failure         // changes whose markers could not be asked after
}

// look reads and writes nothing.
func (t *Ticker[W]) look(ctx context.Context, in Input, known reconcile.Standing, r Records) (*sight[W], error) {
	s := &sight[W]{in: in}
	if !t.options.Policy.IsZero() {
		read, err := t.read.Read(ctx, t.options.Policy, policy.Moment{Asked: known.Asked, Fence: in.Fence})
		if err != nil {
			return s, err // it says what was read
		}
		s.in.Policy = read
	}
	if err := t.recall(ctx, s, r); err != nil {
		return s, err
	}
	var err error
	if s.seen, err = t.kind.Observe(ctx, s.in); err != nil {
		return s, fmt.Errorf("observing: %w", err)
	}
	if s.wanted, err = t.kind.Plan(s.in, s.seen); err != nil {
		return s, fmt.Errorf("planning: %w", err)
	}
	if err := s.load(ctx, r); err != nil {
		return s, err
	}
	s.breaker, s.first = t.options.Breaker, known.Good == nil
	if t.options.Size != nil {
		s.size = t.options.Size(s.seen)
	}
	s.outlook = s.judge(t.withoutMarked(ctx, s, s.wanted.Sorted()))
	s.outlook.Policy = s.in.Policy.Digest
	return s, nil
}

// load reads what earlier ticks and people have left about the target.
func (s *sight[W]) load(ctx context.Context, r Records) (err error) {
	if s.hold, err = find[hold](ctx, r, heldFamily, string(s.in.Target.Key)); err != nil {
		return err
	}
	if s.approvals, err = open[approval](ctx, r, approvalFamily, s.in.Target.Key); err != nil {
		return err
	}
	s.markers, err = open[marker](ctx, r, markerFamily, s.in.Target.Key)
	return err
}
