package sqlite

import (
	"database/sql"
	"encoding/json"
	"time"

	"trueup/reconcile"
)

// A standing is a row of the table, with the claims of the trigger that asked last. Those of all triggers follow from them in
// the table claims, by triggers: an older trueup that is still sweeping writes the columns alone.
type standing struct {
	reconcile.Standing
	claim        *reconcile.Claim
	claimAsked   reconcile.Fence // the last ask that had a claim
	settledClaim *reconcile.Claim
}

const standingColumns = `target, asked, asked_at, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, covered_at,
	settled_epoch, settled_n, settled_at, ticked, failures, not_before, since, state, note, run, changes, policy, good, fingerprint`

// claimColumns are the three columns of a claim that may not be.
type claimColumns struct {
	epoch sql.NullString
	n     sql.NullInt64
	at    sql.NullString
}

func (c claimColumns) read() (*reconcile.Claim, error) {
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
	var asked, settled claimColumns
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
	if s.claim, err = asked.read(); err != nil {
		return s, err
	}
	if s.settledClaim, err = settled.read(); err != nil {
		return s, err
	}
	if good.Valid {
		err = s.Succeeded(good.String)
	}
	return s, err
}

const claimsColumns = "target, epoch, n, at, asked, settled_n, settled_at"

// readClaims reads a row of claimsColumns.
func readClaims(scan scanner) (target reconcile.Key, c reconcile.Claims, err error) {
	var n sql.NullInt64
	var times [2]sql.NullString
	if err := scan(&target, &c.Asked.Epoch, &c.Asked.N, &times[0], &c.Last, &n, &times[1]); err != nil {
		return target, c, err
	}
	var settled time.Time
	err = instants(times[:], &c.Asked.Claimed, &settled)
	if n.Valid {
		c.Settled = &reconcile.Claim{Epoch: c.Asked.Epoch, N: uint64(n.Int64), Claimed: settled}
	}
	return target, c, err
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
	args = append(args, claimArgs(s.claim)...)
	args = append(args, int64(s.claimAsked), int64(s.Covered), stamp(s.CoveredAt))
	args = append(args, claimArgs(s.settledClaim)...)
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
	if err != nil {
		return nil, err
	}
	err = t.each(`SELECT `+claimsColumns+` FROM claims WHERE target IN (SELECT value FROM json_each(?)) ORDER BY target, epoch`, func(scan scanner) error {
		key, c, err := readClaims(scan)
		s := found[key]
		s.Claims = append(s.Claims, c)
		found[key] = s
		return err
	}, list(targets))
	return found, err
}

// settled is the standing once a tick has been settled.
func (s standing) settled(e reconcile.Settlement, now time.Time) standing {
	s.Standing = s.Ended(e, now)
	if e.Covered && s.claim != nil && s.claimAsked < e.Lease.Fence {
		s.settledClaim = s.claim
	}
	return s
}
