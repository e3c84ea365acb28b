package simtest

import (
	"context"
	"fmt"
	"slices"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// Commit is as reconcile.Ledger says.
func (l *ledger) Commit(_ context.Context, b reconcile.Batch) error {
	return l.write(func(t *tx) error {
		var under *reconcile.Lease
		if h, live := t.leases[b.Under]; live {
			under = &h.Lease
		} else if b.Under != 0 {
			return fmt.Errorf("fence %d: %w", b.Under, reconcile.ErrLeaseLost)
		}
		for _, a := range b.Append {
			if err := t.append(under, a); err != nil {
				return err
			}
		}
		for _, w := range b.Records {
			if err := t.record(w); err != nil {
				return err
			}
		}
		for key, s := range t.standings {
			kept := slices.DeleteFunc(slices.Clone(s.Claims), func(c reconcile.Claims) bool { return slices.Contains(b.Gone, c.Asked.Epoch) })
			if len(kept) < len(s.Claims) {
				s.Claims = kept
				put(t, t.standings, key, s)
			}
		}
		for _, a := range b.Ask {
			t.ask(a)
		}
		for _, key := range b.Forget {
			drop(t, t.standings, key)
		}
		t.log(b.Logs)
		return nil
	})
}

// append adds facts to a run: that of the lease, or a closed one.
func (t *tx) append(under *reconcile.Lease, a reconcile.Append) error {
	r := t.runs[a.Run]
	switch last := len(r.events); {
	case under != nil && under.Run == a.Run:
	case last == 0:
		return fmt.Errorf("run %s: %w", a.Run, reconcile.ErrNoRun)
	case !r.closed():
		return fmt.Errorf("run %s is open, and not of this lease: %w", a.Run, reconcile.ErrLeaseLost)
	}
	if last := len(r.events); last != a.Expected {
		return fmt.Errorf("run %s has %d events and not %d: %w", a.Run, last, a.Expected, reconcile.ErrConflict)
	}
	if len(a.Facts) == 0 {
		return nil
	}
	if len(r.events) == 0 {
		if _, opens := a.Facts[0].(reconcile.Leased); !opens {
			return fmt.Errorf("run %s does not open with its lease: %w", a.Run, reconcile.ErrUndecidable)
		}
		r.fence, r.target = under.Fence, under.Target
	}
	r.events = slices.Clip(r.events)
	for _, f := range a.Facts {
		typ, data, err := reconcile.EncodeFact(f)
		if err != nil {
			return fmt.Errorf("encoding an event of run %s: %w: %w", a.Run, reconcile.ErrUndecidable, err)
		}
		r.events = append(r.events, event{t.now, typ, data})
	}
	put(t, t.runs, a.Run, r)
	return nil
}

// record is one compare-and-swap. Expired records are gone by now.
func (t *tx) record(w reconcile.Write) error {
	at := [2]string{w.Family, w.Key}
	r := t.records[at]
	switch {
	case w.Revision == 0 && w.Value == nil:
		return fmt.Errorf("record %s %s: neither a value nor a revision to delete: %w", w.Family, w.Key, reconcile.ErrUndecidable)
	case r.Revision != w.Revision:
		return fmt.Errorf("record %s %s is not at revision %d: %w", w.Family, w.Key, w.Revision, reconcile.ErrConflict)
	case w.Value == nil:
		drop(t, t.records, at)
		return nil
	}
	r = reconcile.Record{Family: w.Family, Key: w.Key, Revision: w.Revision + 1, Value: slices.Clone(w.Value)}
	if w.TTL != 0 {
		r.Expires = t.now.Add(w.TTL)
	}
	put(t, t.records, at, r)
	return nil
}

// ask makes targets owed. An older claim of the same epoch that asks late does not replace a newer one.
func (t *tx) ask(a reconcile.Ask) {
	if len(a.Targets) == 0 {
		return
	}
	n := t.last
	if t.fault != askWithoutANumber {
		n = t.draw()
	}
	for _, key := range a.Targets {
		s := t.of(key)
		if s.Report.State == "" {
			s.Report.State, s.Since = reconcile.Waiting, t.now
		}
		s.Asked, s.AskedAt, s.Reason = n, t.now, a.Reason
		if c := a.Claim; c != nil {
			s = s.Claimed(*c, n)
		}
		put(t, t.standings, key, s)
	}
}

func (t *tx) log(logs []reconcile.Log) {
	before := t.logs
	t.undo = append(t.undo, func() { t.logs = before })
	for _, l := range logs {
		l.At, l.Text = t.now, export.Plain(l.Text)
		t.logs = append(slices.Clip(t.logs), l)
	}
}

// Settle is as reconcile.Ledger says.
func (l *ledger) Settle(_ context.Context, ends []reconcile.Settlement) (answers []error, err error) {
	err = l.write(func(t *tx) error {
		for _, e := range ends {
			answers = append(answers, t.attempt(func() error { return t.settle(e) }))
		}
		for i, e := range ends {
			if answers[i] == nil {
				t.ask(reconcile.Ask{Targets: e.Report.Notify, Reason: "notified by " + string(e.Lease.Target)})
			}
		}
		return nil
	})
	return answers, err
}

func (t *tx) settle(e reconcile.Settlement) error {
	h, live := t.leases[e.Lease.Fence]
	if t.fault == releasedByTarget {
		for f, other := range t.leases {
			if !live && other.Target == e.Lease.Target {
				drop(t, t.leases, f)
				return nil
			}
		}
	}
	if refused := e.Fits(h.Lease, len(t.runs[e.Lease.Run].events)); refused != nil {
		return refused
	}
	if err := t.append(&h.Lease, reconcile.Append{Run: h.Run, Expected: e.Expected, Facts: e.Facts}); err != nil {
		return err
	}
	for _, w := range e.Records {
		if err := t.record(w); err != nil {
			return err
		}
	}
	t.log(e.Logs)
	drop(t, t.leases, h.Fence)
	if e.Report.State == "" {
		return nil
	}
	put(t, t.standings, h.Target, t.of(h.Target).Ended(e, t.now))
	return nil
}
