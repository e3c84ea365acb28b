package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trueup/reconcile"
)

// closing is how long the end of a change may take to be recorded after the tick's context has ended.
const closing = 20 * time.Second

// apply does the changes one by one. A change that fails stops no other, unless the lease is lost, the context is over,
// the outside asks for patience, or the ledger does not record: what cannot be recorded is not done.
func (t *Ticker[W]) apply(ctx context.Context, run *reconcile.Run, s *sight[W]) deeds {
	d := deeds{failures: s.failures}
	for _, c := range s.outlook.Do {
		failed, halt := t.do(ctx, run, s, c)
		if halt != nil {
			d.halt = fmt.Errorf("%s %s: %w", c.Op, c.Text, halt)
			break
		}
		if failed != nil {
			d.failures = append(d.failures, failure{c, failed})
		} else {
			d.done = append(d.done, c)
		}
	}
	return d
}

// do does one change: marker, look at the lease, the change itself, record. The look comes last before the change.
func (t *Ticker[W]) do(ctx context.Context, run *reconcile.Run, s *sight[W], c reconcile.Change) (failed, halt error) {
	allowed := s.approval(c)
	if allowed.there() {
		if live, err := allowed.stands(ctx, run); err != nil {
			return nil, err
		} else if !live {
			return nil, fmt.Errorf("the approval of run %s has ended before this was done, or was taken back; the next tick says what becomes of the rest", allowed.value.Run)
		}
	}
	mark := s.markers.of(c.ID)
	if c.Once {
		mark.value = marker{Run: run.Lease.Run, Change: c}
		if err := run.Do(ctx, reconcile.Begin{Change: c.ID}, mark.put(mark.value, 0)); err != nil {
			return nil, err
		}
		mark.revision++
	}
	if err := run.Check(ctx); err != nil {
		return nil, err
	}
	begun := time.Now()
	failed = t.kind.Apply(ctx, s.in, s.seen, c)
	if err := s.finish(ctx, run, mark, allowed, reconcile.Finish{Change: c.ID, Took: time.Since(begun), Err: failed}); err != nil {
		return nil, errors.Join(failed, err)
	}
	if isLater(failed) || ctx.Err() != nil || errors.Is(failed, reconcile.ErrLeaseLost) {
		return nil, failed
	}
	return failed, nil
}

// finish records how a change ended, in one transaction with what becomes of its marker and its approval. It does also when the process
// was told to stop meanwhile; under a lost lease the ledger refuses it.
func (s *sight[W]) finish(ctx context.Context, run *reconcile.Run, mark kept[marker], allowed kept[approval], f reconcile.Finish) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	var writes []reconcile.Write
	switch { // after any other error it may have been done
	case isLater(f.Err):
		writes = mark.drop()
	case f.Err == nil && mark.there(): // it stays: what is done may be slow to show
		mark.value.Done = true
		writes = []reconcile.Write{mark.put(mark.value, 0)}
	}
	if f.Err == nil && allowed.there() {
		f.Approved = allowed.value.Run
		live, err := allowed.stands(ctx, run)
		if err != nil {
			return err
		}
		if live { // else it ended while the change that it allowed was being done
			writes = append(writes, allowed.drop()...)
		}
	}
	return run.Do(ctx, f, extras(writes)...)
}

// isLater tells whether the outside refused a change for the time being.
func isLater(err error) bool {
	_, later := errors.AsType[*reconcile.NotBeforeError](err)
	return later
}
