package kindtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"trueup/reconcile"
)

// Errors by which a probe ends what it watches.
var (
	errKilled  = errors.New("the process was killed")
	errRefused = errors.New("refused by the test")
)

// A probe counts the calls of one process to its ledger and to its kind, and ends it at one of them.
type probe struct {
	mu   sync.Mutex
	n    int
	dead bool
	// at is told each call twice, before and after it; an error becomes the call's own.
	at func(n int, call string, after bool) error
}

// A call is one that a probe has counted.
type call struct {
	n    int
	name string
}

func (p *probe) before(name string) (call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	c := call{p.n, name}
	return c, p.tell(c, false, nil)
}

func (p *probe) after(c call, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tell(c, true, err)
}

func (p *probe) tell(c call, after bool, err error) error {
	if p.at != nil && !p.dead {
		if fault := p.at(c.n, c.name, after); fault != nil {
			p.dead = fault == errKilled
			return fault
		}
	}
	if p.dead {
		return errKilled
	}
	return err
}

// probedLedger is a ledger with a probe before it. It also holds that looks at the lease and external writes alternate.
type probedLedger struct {
	reconcile.Ledger
	probe  *probe
	writes func() int
	wrong  func(format string, args ...any)

	mu   sync.Mutex
	seen int // writes at the last look
	may  int // writes that may follow it
}

// look compares what was written since the last look with what that look allowed.
func (l *probedLedger) look(may int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.writes()
	if n := now - l.seen; n > l.may {
		l.wrong("%d external writes after a look at the lease that allowed %d", n, l.may)
	}
	l.seen, l.may = now, may
}

// at puts a call at a point of the probe.
func (l *probedLedger) at(call string, do func() error) error {
	c, err := l.probe.before(call)
	if err != nil {
		return err
	}
	return l.probe.after(c, do())
}

// Grant is the ledger's.
func (l *probedLedger) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) (answers []reconcile.Answer, err error) {
	err = l.at("grant", func() error {
		answers, err = l.Ledger.Grant(ctx, bids, ttl)
		return err
	})
	return answers, err
}

// Check is the ledger's.
func (l *probedLedger) Check(ctx context.Context, f reconcile.Fence) error {
	l.look(0)
	err := l.at("check", func() error { return l.Ledger.Check(ctx, f) })
	if err == nil {
		l.look(1)
	}
	return err
}

// Commit is the ledger's.
func (l *probedLedger) Commit(ctx context.Context, b reconcile.Batch) error {
	return l.at("commit", func() error { return l.Ledger.Commit(ctx, b) })
}

// Settle is the ledger's.
func (l *probedLedger) Settle(ctx context.Context, ends []reconcile.Settlement) (answers []error, err error) {
	err = l.at("settle", func() error {
		answers, err = l.Ledger.Settle(ctx, ends)
		return err
	})
	return answers, err
}

// Records is the ledger's.
func (l *probedLedger) Records(ctx context.Context, family, prefix string) (records []reconcile.Record, err error) {
	err = l.at("records", func() error {
		records, err = l.Ledger.Records(ctx, family, prefix)
		return err
	})
	return records, err
}
