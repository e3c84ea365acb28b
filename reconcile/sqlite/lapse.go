package sqlite

import (
	"fmt"

	"trueup/reconcile"
)

// lapse ends the leases that have expired or whose process is dead and the sessions of work items that have expired, and
// removes records that have.
func (t *tx) lapse() (some bool, err error) {
	if _, err := t.exec("DELETE FROM records WHERE expires <= ?", stamp(t.now)); err != nil {
		return false, err
	}
	over := map[reconcile.Fence]string{}
	note := func(why string) func(scanner) error {
		return func(scan scanner) error {
			var f reconcile.Fence
			err := scan(&f)
			over[f] = why
			return err
		}
	}
	if err := t.each("SELECT fence FROM leases WHERE until <= ?", note("not renewed in time"), stamp(t.now)); err != nil {
		return false, err
	}
	dead, err := t.dead()
	if err != nil {
		return false, err
	}
	for _, of := range dead {
		if err := t.each("SELECT fence FROM leases WHERE session = ? AND boot = ?", note("its holder is gone"), of[0], of[1]); err != nil {
			return false, err
		}
	}
	if some, err = t.lapseWork(); err != nil || len(over) == 0 {
		return some, err
	}
	return true, t.end(over)
}

// dead are the sessions, each with its boot, that have leases and are over.
func (t *tx) dead() (dead [][2]string, err error) {
	err = t.each(`SELECT DISTINCT session, boot FROM leases WHERE session < ?1
		UNION ALL SELECT DISTINCT session, boot FROM leases WHERE session > ?1`, func(scan scanner) error {
		var of [2]string
		err := scan(&of[0], &of[1])
		if err == nil && !t.s.session.alive(of[0], of[1]) {
			dead = append(dead, of)
			t.s.session.bury(of[0])
		}
		return err
	}, t.s.session.own())
	return dead, err
}

// end closes the runs of leases that are over, for the reasons given, and leaves their targets owed.
func (t *tx) end(over map[reconcile.Fence]string) error {
	fences := make([]reconcile.Fence, 0, len(over))
	for f := range over {
		fences = append(fences, f)
	}
	var leases []holding
	err := t.each(`SELECT `+leaseColumns+` FROM leases WHERE fence IN (SELECT value FROM json_each(?)) ORDER BY fence`, func(scan scanner) error {
		h, err := readLease(scan)
		leases = append(leases, h)
		return err
	}, list(fences))
	if err != nil {
		return err
	}
	for _, h := range leases {
		if err := t.expire(h.Lease, over[h.Fence]); err != nil {
			return fmt.Errorf("lapsing the lease of run %s: %w", h.Run, err)
		}
	}
	_, err = t.exec("DELETE FROM leases WHERE fence IN (SELECT value FROM json_each(?))", list(fences))
	return err
}

func (t *tx) expire(l reconcile.Lease, why string) error {
	last, err := t.last(l.Run)
	if err != nil {
		return err
	}
	closed, err := t.closed(l.Run)
	if err != nil {
		return err
	}
	facts, report := reconcile.Lapsed(l, last > 0, why)
	if !closed {
		if err := t.append(&l, reconcile.Append{Run: l.Run, Expected: last, Facts: facts}); err != nil {
			return err
		}
	}
	if err := t.tallyTicks([]tallied{{Target: l.Target, Fence: l.Fence, State: reconcile.Lapse}}); err != nil {
		return err
	}
	known, err := t.standings([]reconcile.Key{l.Target})
	if err != nil {
		return err
	}
	s := known[l.Target]
	s.Standing = s.After(report, t.now)
	if !s.Owed() {
		if s.Asked, err = t.draw(1); err != nil {
			return err
		}
		s.AskedAt, s.Reason = t.now, report.Note
	}
	return t.put(s)
}
