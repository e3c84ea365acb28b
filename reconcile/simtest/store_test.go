package simtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"trueup/reconcile"
)

// A store is the data of a ledger, in memory. It is as plain as the promises of ledgertest allow.
type store struct {
	mu        sync.Mutex
	clock     func() time.Time
	fault     fault // that is planted
	last      reconcile.Fence
	leases    map[reconcile.Fence]holding
	runs      map[reconcile.RunID]run
	standings map[reconcile.Key]reconcile.Standing
	records   map[[2]string]reconcile.Record
	items     map[reconcile.ItemID]reconcile.Item
	logs      []reconcile.Log
}

// A holding is a lease with its process.
type holding struct {
	reconcile.Lease
	session *session
}

// A session is what a store knows of a process.
type session struct{ over bool }

type run struct {
	fence  reconcile.Fence
	target reconcile.Key
	events []event
}

// An event is kept in the form in which it leaves a process.
type event struct {
	at   time.Time
	typ  string
	data []byte
}

func newStore(clock func() time.Time) *store {
	return &store{clock: clock, leases: map[reconcile.Fence]holding{}, runs: map[reconcile.RunID]run{},
		standings: map[reconcile.Key]reconcile.Standing{}, records: map[[2]string]reconcile.Record{},
		items: map[reconcile.ItemID]reconcile.Item{}}
}

// A ledger is the store as one process sees it.
type ledger struct {
	*store
	holder  string
	session *session
}

func (s *store) open(holder string) *ledger { return &ledger{s, holder, new(session)} }

// Close ends the process, as far as the store can tell.
func (l *ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session.over = true
	return nil
}

// A tx is a transaction: what it changes it can undo.
type tx struct {
	*ledger
	now  time.Time
	undo []func()
}

// write is one transaction. What has lapsed stays so also when the work is refused.
func (l *ledger) write(work func(t *tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &tx{ledger: l, now: l.clock().Truncate(time.Microsecond)} // to which domain and stores keep time
	if err := t.lapse(); err != nil {
		return err
	}
	return t.attempt(func() error { return work(t) })
}

// attempt does work that leaves nothing behind where it is refused.
func (t *tx) attempt(work func() error) error {
	mark := len(t.undo)
	err := work()
	if err != nil {
		for len(t.undo) > mark {
			t.undo[len(t.undo)-1]()
			t.undo = t.undo[:len(t.undo)-1]
		}
	}
	return err
}

func put[K comparable, V any](t *tx, m map[K]V, k K, v V) {
	before, was := m[k]
	t.undo = append(t.undo, func() {
		if delete(m, k); was {
			m[k] = before
		}
	})
	m[k] = v
}

func drop[K comparable, V any](t *tx, m map[K]V, k K) {
	put(t, m, k, m[k])
	delete(m, k)
}

func (t *tx) draw() reconcile.Fence {
	t.last++
	return t.last
}

// lapse ends what has expired, and the leases of processes that are over.
func (t *tx) lapse() error {
	for at, r := range t.records {
		if !r.Expires.IsZero() && !r.Expires.After(t.now) {
			drop(t, t.records, at)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(t.leases)) {
		h, why := t.leases[f], ""
		switch {
		case h.session.over:
			why = "its holder is gone"
		case !h.Until.After(t.now):
			why = "not renewed in time"
		default:
			continue
		}
		drop(t, t.leases, f)
		if err := t.expire(h.Lease, why); err != nil {
			return err
		}
	}
	return t.lapseWork()
}

func (t *tx) expire(l reconcile.Lease, why string) error {
	last := len(t.runs[l.Run].events)
	facts, report := reconcile.Lapsed(l, last > 0, why)
	if !t.runs[l.Run].closed() {
		if err := t.append(&l, reconcile.Append{Run: l.Run, Expected: last, Facts: facts}); err != nil {
			return err
		}
	}
	s := t.of(l.Target).After(report, t.now)
	if !s.Owed() {
		s.Asked, s.AskedAt, s.Reason = t.draw(), t.now, report.Note
	}
	put(t, t.standings, l.Target, s)
	return nil
}

func (r run) closed() bool {
	return slices.ContainsFunc(r.events, func(e event) bool {
		return e.typ == "succeeded" || e.typ == "failed" || e.typ == "lease_expired"
	})
}

// of is what is known of a target.
func (t *tx) of(key reconcile.Key) reconcile.Standing {
	s := t.standings[key]
	s.Target = key
	return s
}

// Grant is as reconcile.Ledger says.
func (l *ledger) Grant(_ context.Context, bids []reconcile.Bid, ttl time.Duration) (answers []reconcile.Answer, err error) {
	err = l.write(func(t *tx) error {
		for _, b := range bids {
			answers = append(answers, t.grant(b, ttl))
		}
		return nil
	})
	return answers, err
}

func (t *tx) grant(b reconcile.Bid, ttl time.Duration) reconcile.Answer {
	scopes := reconcile.Target{Key: b.Target, Scopes: b.Scopes}.Holds()
	if by := t.reserved(scopes); by != nil {
		return reconcile.Answer{Refused: by}
	}
	f := t.draw()
	l := reconcile.Lease{Fence: f, Run: reconcile.NewRunID(f), Target: b.Target, Scopes: scopes, Holder: t.holder, Reason: b.Reason,
		Asked: b.Asked, Since: t.now, Until: t.now.Add(ttl)}
	put(t, t.leases, f, holding{l, t.session})
	if t.fault == coveredAtTheGrant {
		put(t, t.standings, b.Target, t.of(b.Target).CoveredBy(f, t.now))
	}
	return reconcile.Answer{Lease: l, Standing: t.of(b.Target).At(t.now)}
}

// reserved names the first run or item that holds one of the scopes, with all of them that it holds.
func (t *tx) reserved(scopes []reconcile.Scope) (by *reconcile.ReservedError) {
	if t.fault == otherScopesForgotten {
		scopes = scopes[:min(1, len(scopes))]
	}
	for _, scope := range scopes {
		for _, h := range t.leases {
			switch {
			case !slices.Contains(h.Scopes, scope):
			case by == nil:
				by = &reconcile.ReservedError{Run: h.Run, Holder: h.Holder, Until: h.Until, Scopes: []reconcile.Scope{scope}}
			case by.Run == h.Run:
				by.Scopes = append(by.Scopes, scope)
			}
		}
		for _, i := range t.items {
			if held := i.Reserves([]reconcile.Scope{scope}); by == nil && held != nil && (t.fault != expiredWorkForgotten || i.State == reconcile.InProgress) {
				by = i.Reserves(scopes)
			}
		}
	}
	return by
}

// Renew is as reconcile.Ledger says.
func (l *ledger) Renew(_ context.Context, fences []reconcile.Fence, ttl time.Duration) (lost []reconcile.Fence, err error) {
	renew := func(t *tx) error {
		for _, f := range fences {
			h, live := t.leases[f]
			if !live || h.session != t.session {
				lost = append(lost, f)
				continue
			}
			h.Until = t.now.Add(ttl)
			put(t, t.leases, f, h)
		}
		return nil
	}
	if l.fault == renewedAfterExpiry {
		l.mu.Lock()
		defer l.mu.Unlock()
		return lost, renew(&tx{ledger: l, now: l.clock()})
	}
	err = l.write(renew)
	return lost, err
}

// Check is as reconcile.Ledger says.
func (l *ledger) Check(_ context.Context, f reconcile.Fence) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, is := l.leases[f]; !is || !h.live(l.clock()) {
		return fmt.Errorf("fence %d: %w", f, reconcile.ErrLeaseLost)
	}
	return nil
}

func (h holding) live(now time.Time) bool { return h.Until.After(now) && !h.session.over }

// Leases is as reconcile.Ledger says.
func (l *ledger) Leases(context.Context) (leases []reconcile.Lease, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.leases {
		if h.live(l.clock()) {
			leases = append(leases, h.Lease)
		}
	}
	slices.SortFunc(leases, func(a, b reconcile.Lease) int { return cmp.Compare(a.Fence, b.Fence) })
	return leases, nil
}
