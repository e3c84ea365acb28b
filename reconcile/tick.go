package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// tick runs the ticker under the lease and says how it ended.
func (r *Reconciler) tick(ctx context.Context, run *Run) Settlement {
	if t := run.Target.Timeout; t > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, t, fmt.Errorf("not done within its timeout of %s", t))
		defer cancel()
		ctx = limited
	}
	report, err := r.guarded(ctx, run)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return run.settlement(report, err)
}

// guarded turns a panic into an error: one target's failure never stops another.
func (r *Reconciler) guarded(ctx context.Context, run *Run) (report Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ticking %s: panic: %v\n%s", run.Target.Key, p, debug.Stack())
		}
	}()
	ticker, known := r.Tickers[run.Target.Key]
	if !known {
		return Report{}, Terminal(fmt.Errorf("ticking %s: nothing here knows its kind", run.Target.Key))
	}
	return ticker.Tick(ctx, run)
}

// settlement is how a tick ends. What went quietly leaves no run behind, and a failure that was told before is not told
// again: the run that told it first stays the report's.
func (r *Run) settlement(report Report, err error) Settlement {
	s := Settlement{Lease: r.Lease, Expected: r.history.Seq(), Fingerprint: r.Standing.Fingerprint}
	if err == nil && s.Expected > 0 {
		s.Facts, s.Expected, err = r.decide(Close{})
	}
	if err != nil {
		report.State, report.Note = stateOf(err), err.Error()
		if later, ok := errors.AsType[*NotBeforeError](err); ok {
			s.NotBefore = later.At
		}
		if before := r.Standing.Report; s.Expected == 0 && before.State == report.State && before.Note == report.Note {
			report.Run = before.Run
		} else {
			s.Facts, s.Expected, _ = r.decide(Close{Err: err}) // a running run can always be closed by a failure
		}
	}
	if len(s.Facts) > 0 {
		s.Logs = r.logs
		report.Run = cmp.Or(report.Run, r.Lease.Run) // what waits for a person may be told by an earlier run
	}
	report.New = report.Run == r.Lease.Run
	s.Report, s.Covered = report, report.State == OK
	if s.Covered {
		s.Fingerprint = r.Target.Fingerprint
	}
	return s
}

// stateOf is the state that an error puts a target in.
func stateOf(err error) State {
	if _, later := errors.AsType[*NotBeforeError](err); later {
		return Limited
	}
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		return Uncertain
	}
	return Failing
}

// closing is how long the last words of ticks may take to be recorded after the process was told to stop.
const closing = 20 * time.Second
