package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"trueup/reconcile"
)

// Deeds are what became of a plan.
type deeds struct {
	done     reconcile.Plan
	failures []failure
	more     reconcile.Plan // wanted only after the rest was done
	halt     error          // why nothing else was tried
}

// A failure is a change that was not done, and why.
type failure struct {
	change reconcile.Change
	err    error
}

var errDidNotTake = errors.New("was done and is still wanted: the outside did not take it")

// readBack observes and plans once more. What was done and is still wanted has failed, except a change that is not
// idempotent and did happen by the outside's own word: that is only slow to show.
func (t *Ticker[W]) readBack(ctx context.Context, s *sight[W], d *deeds) error {
	seen, err := t.kind.Observe(ctx, s.in)
	if err != nil {
		return fmt.Errorf("reading back what was done: %w", err)
	}
	wanted, err := t.kind.Plan(s.in, seen)
	if err != nil {
		return fmt.Errorf("planning again after what was done: %w", err)
	}
	s.seen = seen
	before, done, missed := set(s.wanted), set(d.done), map[string]bool{}
	asker, asks := t.kind.(Asker[W])
	for _, c := range wanted.Sorted() {
		switch {
		case done[c.ID]:
			if c.Once && asks {
				if took, err := asker.Happened(ctx, s.in, seen, c); err == nil && took {
					continue
				}
			}
			missed[c.ID] = true
			d.failures = append(d.failures, failure{c, errDidNotTake})
		case !before[c.ID]:
			d.more = append(d.more, c)
		}
	}
	d.done = without(d.done, missed)
	return nil
}

// report is the outcome in the words of a report, and an error where not all that is wanted is so, but for what waits. A
// failure does not hide that something waits.
func (s *sight[W]) report(run *reconcile.Run, d deeds) (reconcile.Report, error) {
	o := s.outlook
	r := reconcile.Report{State: reconcile.OK, Note: o.note(), Changes: len(d.done), Policy: o.Policy}
	if o.asks() {
		r.State, r.Held = reconcile.Held, cmp.Or(o.Run, run.Lease.Run)
	}
	if err := d.err(o); err != nil {
		if o.asks() {
			err = fmt.Errorf("%w; %s for approval", err, waits(len(o.Wait)))
		}
		r.State, r.Note = reconcile.Failing, err.Error()
		return r, err
	}
	if len(o.Wait) > 0 {
		r.Run = cmp.Or(o.Run, run.Lease.Run)
	}
	return r, nil
}

// waits is a number of changes and what they do.
func waits(n int) string {
	if n == 1 {
		return "1 change waits"
	}
	return counted(n, "change") + " wait"
}

// err says what is not as it is wanted, the gravest first.
func (d deeds) err(o Outlook) error {
	switch {
	case d.halt != nil:
		return fmt.Errorf("%d of %s done, then %w", len(d.done), counted(len(o.Do), "change"), d.halt)
	case len(d.failures) > 0:
		first := d.first()
		return fmt.Errorf("%d of %s failed, the first: %s %s: %w", len(d.failures), counted(len(d.done)+len(d.failures), "change"), first.change.Op, first.change.Text, first.err)
	case len(o.Dark) > 0:
		err := fmt.Errorf("%s could not be read, the first: %s", counted(len(o.Dark), "thing"), o.Dark[0].Text)
		if len(o.Later) > 0 {
			err = fmt.Errorf("%w; until then %s not done and not asked about", err, counted(len(o.Later), "change"))
		}
		return &reconcile.UnknownError{Err: err}
	case len(d.more) > 0:
		return fmt.Errorf("%s wanted after the rest was done, the first: %s %s", counted(len(d.more), "more change"), d.more[0].Op, d.more[0].Text)
	}
	return nil
}

// first is the failure that speaks for all: one that a retry may mend, where there is any.
func (d deeds) first() failure {
	i := slices.IndexFunc(d.failures, func(f failure) bool { return !reconcile.IsTerminal(f.err) })
	return d.failures[max(i, 0)]
}
