package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// tick runs the ticker under the lease and says how it ended.
func (r *Reconciler) tick(ctx context.Context, run *Run) Settlement {
	var report Report
	err := run.Target.Bounded(ctx, func(ctx context.Context) (err error) {
		report, err = r.guarded(ctx, run)
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, ErrLeaseLost) {
		return run.stopped(err)
	}
	return run.settlement(report, err)
}

// stopped is how a tick ends that was told to, because the process was: it says nothing against the target, which stays as
// it was known, and owed. Only a run that was opened tells of it.
func (r *Run) stopped(err error) Settlement {
	s := r.settlement(Report{}, err)
	if r.history.Seq() == 0 {
		s.Facts, s.Logs = nil, nil
	}
	s.Report, s.Wait = Report{}, 0
	return s
}

// guarded turns a panic into an error. The stack goes with what was printed, since it differs each time, and a failure that
// was told before is not told again.
func (r *Reconciler) guarded(ctx context.Context, run *Run) (report Report, err error) {
	ticker, known := r.Tickers[run.Target.Key]
	if !known {
		return Report{}, Terminal(fmt.Errorf("ticking %s: nothing here knows its kind", run.Target.Key))
	}
	err = Caught(func() (err error) {
		report, err = ticker.Tick(ctx, run)
		return err
	})
	if p, panicked := errors.AsType[*PanicError](err); panicked {
		run.Log(Log{Stream: "panic", Text: string(p.Stack)})
		err = fmt.Errorf("ticking %s: %w", run.Target.Key, err)
	}
	return report, err
}

// settlement is how a tick ends. What went quietly leaves no run behind, and a failure that was told before is not told
// again: the run that told it first stays the report's.
func (r *Run) settlement(report Report, err error) Settlement {
	s := Settlement{Lease: r.Lease, Expected: r.history.Seq(), Fingerprint: r.Standing.Fingerprint}
	if err == nil && s.Expected > 0 {
		s.Facts, s.Expected, err = r.decide(Close{})
	}
	if err != nil {
		report.State, report.Note, report.Final = stateOf(err), err.Error(), IsTerminal(err)
		if later, ok := errors.AsType[*NotBeforeError](err); ok {
			s.Wait = min(time.Until(later.At), patience) // a clock or an answer that is off must not park a target for years
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
		report.Own = r.Lease.Run
	}
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
