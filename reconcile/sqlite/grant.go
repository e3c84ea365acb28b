package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"trueup/reconcile"
)

// Grant is as reconcile.Ledger says.
func (s *Store) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) (answers []reconcile.Answer, err error) {
	if len(bids) == 0 {
		return nil, nil
	}
	err = s.write(ctx, "granting leases", func(t *tx) error {
		answers, err = t.grant(bids, ttl)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (t *tx) grant(bids []reconcile.Bid, ttl time.Duration) ([]reconcile.Answer, error) {
	session, err := t.attend()
	if err != nil {
		return nil, err
	}
	held, err := t.holders(bids)
	if err != nil {
		return nil, err
	}
	next, err := t.upcoming()
	if err != nil {
		return nil, err
	}
	first := next
	answers := make([]reconcile.Answer, len(bids))
	var targets []reconcile.Key
	for i, b := range bids {
		scopes := scopes(b)
		if answers[i].Refused = reconcile.Reserved(scopes, held); answers[i].Refused != nil {
			continue
		}
		l := reconcile.Lease{
			Fence: next, Run: reconcile.NewRunID(next), Target: b.Target, Scopes: scopes,
			Holder: t.s.holder, Reason: b.Reason, Asked: b.Asked.UTC().Truncate(time.Microsecond), Since: t.now, Until: t.now.Add(ttl).Truncate(time.Microsecond),
		}
		next++
		answers[i].Lease = l
		targets = append(targets, b.Target)
		for _, scope := range scopes {
			held[scope] = reconcile.ReservedError{Run: l.Run, Holder: l.Holder, Until: l.Until}
		}
		if err := t.lease(l, session); err != nil {
			return nil, fmt.Errorf("leasing %s: %w", b.Target, err)
		}
	}
	if err := t.handOver(bids, answers, session); err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return answers, nil
	}
	if _, err := t.draw(int(next - first)); err != nil {
		return nil, err
	}
	known, err := t.standings(targets)
	for i, a := range answers {
		if a.Refused == nil {
			answers[i].Standing = known[bids[i].Target].At(t.now)
		}
	}
	return answers, err
}

// handOver counts what was refused for what another process or a person holds. What this one holds itself it gives back.
func (t *tx) handOver(bids []reconcile.Bid, answers []reconcile.Answer, session string) error {
	ours := map[reconcile.RunID]bool{}
	var over []reconcile.Key
	for i, a := range answers {
		by, reserved := a.Refused.(*reconcile.ReservedError)
		if !reserved {
			continue
		}
		if len(ours) == 0 {
			ours[""] = false // read once
			err := t.each("SELECT run FROM leases WHERE session = ? AND boot = ?", func(scan scanner) error {
				var run reconcile.RunID
				err := scan(&run)
				ours[run] = true
				return err
			}, session, t.s.session.boot)
			if err != nil {
				return err
			}
		}
		if !ours[by.Run] {
			over = append(over, bids[i].Target)
		}
	}
	return t.tallyHandedOver(over)
}

// upcoming is the number that will be drawn next. Nobody else draws before this transaction ends.
func (t *tx) upcoming() (reconcile.Fence, error) {
	last, err := t.value("SELECT last FROM sequence")
	return reconcile.Fence(last) + 1, err
}

// holders say who holds the scopes of the bids, each without the scopes.
func (t *tx) holders(bids []reconcile.Bid) (map[reconcile.Scope]reconcile.ReservedError, error) {
	var wanted []reconcile.Scope
	for _, b := range bids {
		wanted = append(wanted, scopes(b)...)
	}
	return t.holdersOf(wanted)
}

func (t *tx) holdersOf(wanted []reconcile.Scope) (map[reconcile.Scope]reconcile.ReservedError, error) {
	held := map[reconcile.Scope]reconcile.ReservedError{}
	err := t.each(holdersSQL, func(scan scanner) error {
		var scope reconcile.Scope
		var by reconcile.ReservedError
		var until sql.NullString
		if err := scan(&scope, &by.Run, &by.Item, &by.Holder, &until); err != nil {
			return err
		}
		var err error
		by.Until, err = instant(until)
		held[scope] = by
		return err
	}, list(wanted))
	return held, err
}

// What keeps its scopes without a live session shows who held them last.
const holdersSQL = `
SELECT scope, coalesce(leases.run, ''), coalesce(s.item, ''), coalesce(leases.holder, s.holder, ''),
	coalesce(leases.until, CASE WHEN s.state = 'active' THEN s.until END)
FROM scopes LEFT JOIN leases USING (fence)
LEFT JOIN work_sessions AS s ON s.fence = (SELECT max(fence) FROM work_sessions WHERE item = scopes.item)
WHERE scope IN (SELECT value FROM json_each(?))`

func (t *tx) lease(l reconcile.Lease, session string) error {
	_, err := t.exec(`INSERT INTO leases (fence, run, target, holder, session, boot, reason, asked, since, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		int64(l.Fence), string(l.Run), string(l.Target), l.Holder, session, t.s.session.boot, l.Reason, stamp(l.Asked), stamp(l.Since), stamp(l.Until))
	for i, scope := range l.Scopes {
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO scopes (scope, fence, position) VALUES (?, ?, ?)", string(scope), int64(l.Fence), i)
	}
	return err
}

// scopes are what a bid asks for, the target's own first, none twice.
func scopes(b reconcile.Bid) []reconcile.Scope {
	return reconcile.Target{Key: b.Target, Scopes: b.Scopes}.Holds()
}
