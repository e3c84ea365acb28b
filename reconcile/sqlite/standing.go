package sqlite

import (
	"database/sql"
	"encoding/json"
	"time"

	"trueup/reconcile"
)

// A standing is a row of the table, which knows one thing more than the domain does.
type standing struct {
	reconcile.Standing
	claimAsked reconcile.Fence // the last ask that had a claim
}

const standingColumns = `target, asked, asked_at, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, covered_at,
	settled_epoch, settled_n, settled_at, ticked, failures, not_before, since, state, note, run, changes, policy, good, fingerprint`

// claim is the three columns of a claim that may not be.
type claim struct {
	epoch sql.NullString
	n     sql.NullInt64
	at    sql.NullString
}

func (c claim) read() (*reconcile.Claim, error) {
	if !c.epoch.Valid {
		return nil, nil
	}
	at, err := instant(c.at)
	return &reconcile.Claim{Epoch: c.epoch.String, N: uint64(c.n.Int64), Claimed: at}, err
}

func claimArgs(c *reconcile.Claim) []any {
	if c == nil {
		return []any{nil, nil, nil}
	}
	return []any{c.Epoch, int64(c.N), stamp(c.Claimed)}
}

// readStanding reads a row of standingColumns.
func readStanding(scan scanner) (s standing, err error) {
	var asked, settled claim
	var good sql.NullString
	var times [5]sql.NullString
	r := &s.Report
	err = scan(&s.Target, &s.Asked, &times[0], &s.Reason, &asked.epoch, &asked.n, &asked.at, &s.claimAsked, &s.Covered, &times[1],
		&settled.epoch, &settled.n, &settled.at, &times[2], &s.Failures, &times[3], &times[4],
		&r.State, &r.Note, &r.Run, &r.Changes, &r.Policy, &good, &s.Fingerprint)
	if err != nil {
		return s, err
	}
	if err := instants(times[:], &s.AskedAt, &s.CoveredAt, &s.Ticked, &s.NotBefore, &s.Since); err != nil {
		return s, err
	}
	if s.AskedClaim, err = asked.read(); err != nil {
		return s, err
	}
	if s.Settled, err = settled.read(); err != nil {
		return s, err
	}
	if good.Valid {
		s.Good = new(reconcile.Report)
		err = json.Unmarshal([]byte(good.String), s.Good)
	}
	return s, err
}

// put writes the row as it is to be.
func (t *tx) put(s standing) error {
	var good any
	if s.Good != nil {
		text, err := json.Marshal(s.Good)
		if err != nil {
			return err
		}
		good = string(text)
	}
	r := s.Report
	args := []any{string(s.Target), int64(s.Asked), stamp(s.AskedAt), s.Reason}
	args = append(args, claimArgs(s.AskedClaim)...)
	args = append(args, int64(s.claimAsked), int64(s.Covered), stamp(s.CoveredAt))
	args = append(args, claimArgs(s.Settled)...)
	args = append(args, stamp(s.Ticked), s.Failures, stamp(s.NotBefore), stamp(s.Since),
		string(r.State), r.Note, string(r.Run), r.Changes, r.Policy, good, s.Fingerprint)
	_, err := t.exec(`REPLACE INTO standings (`+standingColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...)
	return err
}

// standings reads what is known of the targets. One of which nothing is known has a standing all the same.
func (t *tx) standings(targets []reconcile.Key) (map[reconcile.Key]standing, error) {
	found := make(map[reconcile.Key]standing, len(targets))
	for _, key := range targets {
		found[key] = standing{Standing: reconcile.Standing{Target: key}}
	}
	err := t.each(`SELECT `+standingColumns+` FROM standings WHERE target IN (SELECT value FROM json_each(?))`, func(scan scanner) error {
		s, err := readStanding(scan)
		found[s.Target] = s
		return err
	}, list(targets))
	return found, err
}

// at is the standing as the domain sees it at an instant: a tick is no longer useless once its time has come.
func (s standing) at(now time.Time) reconcile.Standing {
	if !s.NotBefore.After(now) {
		s.NotBefore = time.Time{}
	}
	return s.Standing
}

// after is the standing once a tick has ended with a report.
func (s standing) after(r reconcile.Report, now time.Time) standing {
	if r.State != s.Report.State {
		s.Since = now
	}
	switch r.State {
	case reconcile.OK:
		good := r
		s.Good, s.Failures = &good, 0
	case reconcile.Held:
		s.Failures = 0
	case reconcile.Failing, reconcile.Uncertain:
		s.Failures++
	}
	s.Report, s.Ticked = r, now
	return s
}

// cover is the standing once a tick under the fence has covered what was asked before it. Fences of a target come in
// order here, since its ticks exclude each other.
func (s standing) cover(f reconcile.Fence, now time.Time) standing {
	s.Covered, s.CoveredAt = f, now
	if s.AskedClaim != nil && s.claimAsked < f {
		s.Settled = s.AskedClaim
	}
	return s
}

// settled is the standing once a tick has been settled.
func (s standing) settled(e reconcile.Settlement, now time.Time) standing {
	s = s.after(e.Report, now)
	if e.Covered {
		s = s.cover(e.Lease.Fence, now)
	}
	s.NotBefore, s.Fingerprint = e.NotBefore, e.Fingerprint
	return s
}
