package simtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/ledgertest"
)

// Events is as reconcile.Ledger says.
func (l *ledger) Events(_ context.Context, id reconcile.RunID) ([]reconcile.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, is := l.runs[id]
	if !is {
		return nil, fmt.Errorf("run %s: %w", id, reconcile.ErrNoRun)
	}
	events := make([]reconcile.Event, len(r.events))
	for i, e := range r.events {
		fact, err := reconcile.DecodeFact(e.typ, e.data)
		if err != nil {
			return nil, fmt.Errorf("reading run %s: event %d: %w", id, i+1, err)
		}
		events[i] = reconcile.Event{Seq: i + 1, At: e.at, Fact: fact}
	}
	return events, nil
}

// Runs is as reconcile.Ledger says.
func (l *ledger) Runs(_ context.Context, target reconcile.Key, limit int) ([]reconcile.RunID, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := slices.Collect(maps.Keys(l.runs))
	ids = slices.DeleteFunc(ids, func(id reconcile.RunID) bool { return target != "" && l.runs[id].target != target })
	slices.SortFunc(ids, func(a, b reconcile.RunID) int { return cmp.Compare(l.runs[b].fence, l.runs[a].fence) })
	return ids[:min(len(ids), limit)], nil
}

// Standings is as reconcile.Ledger says.
func (l *ledger) Standings(context.Context, ...string) (all []reconcile.Standing, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(l.standings)) {
		all = append(all, l.standings[key].At(l.clock()))
	}
	return all, nil
}

// Records is as reconcile.Ledger says.
func (l *ledger) Records(_ context.Context, family, prefix string) (records []reconcile.Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.Family == family && strings.HasPrefix(r.Key, prefix) && (r.Expires.IsZero() || r.Expires.After(l.clock())) {
			records = append(records, r)
		}
	}
	slices.SortFunc(records, func(a, b reconcile.Record) int { return strings.Compare(a.Key, b.Key) })
	return records, nil
}

// Logs is as reconcile.Ledger says.
func (l *ledger) Logs(_ context.Context, id reconcile.RunID) (logs []reconcile.Log, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range l.logs {
		if entry.Run == id {
			logs = append(logs, entry)
		}
	}
	return logs, nil
}

// The simulation stands on the contract that every store keeps.
func TestLedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, newDesk)
}

func newDesk(*testing.T) ledgertest.Store {
	d := &desk{now: time.Date(2026, 11, 29, 14, 2, 11, 123456789, time.UTC)}
	d.store = newStore(d.clock)
	return d
}

// A desk is a store whose clock moves on demand.
type desk struct {
	store *store
	mu    sync.Mutex
	now   time.Time
}

func (d *desk) Open(*testing.T) ledgertest.Ledger { return d.store.open("a test") }

func (d *desk) Advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *desk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *desk) Plant(_ *testing.T, id reconcile.RunID, seq int, typ, data string) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	r := d.store.runs[id]
	r.events = append(slices.Clone(r.events[:min(seq-1, len(r.events))]), event{d.clock(), typ, []byte(data)})
	d.store.runs[id] = r
}
