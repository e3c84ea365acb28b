package reconcile

import (
	"context"
	"fmt"
	"time"
)

// A Ticker trues up one target, once, under the lease that the run holds. It records in the run what it is about to do
// before it does it, and calls Check before each external write. Where nothing is to be done it records nothing.
//
// Its context ends when the lease is lost or cannot be renewed, when the target's time is up, or when the process is
// told to stop. A Ticker is used by many goroutines at once, a run by one at a time.
type Ticker interface {
	Tick(ctx context.Context, run *Run) (Report, error)
}

// A Run is one tick under way, as its ticker sees it.
type Run struct {
	Target   Target
	Standing Standing // what was known of the target when the lease was granted
	Lease    Lease

	ledger  Ledger
	keeper  *keeper
	history History
	logs    []Log // printed since the last event
}

// History is the run so far.
func (r *Run) History() History { return r.history }

// Check returns ErrLeaseLost unless the run's lease is live, by the ledger and by every clock of this process: one that was
// suspended for longer than its lease is refused at once when it goes on. Between this look and the write that follows it a process
// can still hang for longer than its lease: what must not happen even then needs the fence at the other end.
func (r *Run) Check(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := r.ledger.Check(ctx, r.Lease.Fence); err != nil {
		return err
	}
	if r.keeper.over(r.Lease.Fence) { // it may have taken long to look
		return fmt.Errorf("fence %d: %w", r.Lease.Fence, ErrLeaseLost)
	}
	return context.Cause(ctx)
}

// Do decides a command, appends what it comes to, and only then believes it. The writes of records are part of the
// same transaction, and so is what was logged before.
func (r *Run) Do(ctx context.Context, c Command, more ...Extra) error {
	facts, expected, err := r.decide(c)
	if err != nil {
		return err
	}
	b := Batch{Under: r.Lease.Fence, Append: []Append{{Run: r.Lease.Run, Expected: expected, Facts: facts}}}
	b.Logs = r.logs
	for _, m := range more {
		m.to(&b)
	}
	if err := r.ledger.Commit(ctx, b); err != nil {
		return fmt.Errorf("recording in run %s: %w", r.Lease.Run, err)
	}
	r.logs = nil
	r.history, err = r.history.after(time.Time{}, facts...)
	return err
}

// Log keeps what a command printed, without secrets. It is recorded with the run's next event, if there is one: what a
// quiet tick printed is not worth keeping.
func (r *Run) Log(l Log) {
	l.Run = r.Lease.Run
	r.logs = append(r.logs, l)
}

// Records lists records, see Ledger.
func (r *Run) Records(ctx context.Context, family, prefix string) ([]Record, error) {
	return r.ledger.Records(ctx, family, prefix)
}

// Write writes records under the run's lease, without an event.
func (r *Run) Write(ctx context.Context, writes ...Write) error {
	return r.ledger.Commit(ctx, Batch{Under: r.Lease.Fence, Records: writes})
}

// decide is what a command comes to, with the opening event where the run has none yet.
func (r *Run) decide(c Command) (facts []Fact, expected int, err error) {
	h, expected := r.history, r.history.Seq()
	if expected == 0 {
		facts = []Fact{Leased{r.Lease}}
		if h, err = h.after(r.Lease.Since, facts...); err != nil {
			return nil, 0, err
		}
	}
	more, err := h.Decide(c)
	return append(facts, more...), expected, err
}

// An Extra joins something to the transaction of a command.
type Extra interface{ to(b *Batch) }

func (w Write) to(b *Batch) { b.Records = append(b.Records, w) }
