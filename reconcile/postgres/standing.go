package postgres

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Standings are what is known of targets. One of which nothing is known has a standing all the same.
type standings struct {
	found map[reconcile.Key]reconcile.Standing
}

const (
	standingColumns = `target, asked, asked_at, reason, covered, covered_at, ticked, failures, not_before, since,
	state, note, run, changes, policy, good, fingerprint`
	claimsColumns = "target, epoch, n, at, asked, settled_n, settled_at"
)

// read queues the reading of some, without their claims. They are not locked: but for what is asked, which nobody here writes back, they
// change under the lease of their target alone.
func (k *standings) read(b *pgx.Batch, targets []reconcile.Key) {
	k.found = map[reconcile.Key]reconcile.Standing{}
	reading(b, "SELECT "+standingColumns+" FROM standings WHERE target = ANY($1::text[])", func(scan scanner) error {
		s, err := readStanding(scan)
		k.found[s.Target] = s
		return err
	}, list(targets))
}

// readClaims queues the reading of what the claims of each trigger asked of them.
func (k *standings) readClaims(b *pgx.Batch, targets []reconcile.Key) {
	reading(b, "SELECT "+claimsColumns+" FROM claims WHERE target = ANY($1::text[]) ORDER BY target, epoch", func(scan scanner) error {
		key, c, err := readClaims(scan)
		s := k.of(key)
		s.Claims = append(s.Claims, c)
		k.found[key] = s
		return err
	}, list(targets))
}

func (k *standings) of(target reconcile.Key) reconcile.Standing {
	s := k.found[target]
	s.Target = target
	return s
}

// readStanding reads a row of standingColumns.
func readStanding(scan scanner) (s reconcile.Standing, err error) {
	var times [5]*time.Time
	var good *string
	r := &s.Report
	err = scan(&s.Target, &s.Asked, &times[0], &s.Reason, &s.Covered, &times[1], &times[2], &s.Failures, &times[3], &times[4],
		&r.State, &r.Note, &r.Run, &r.Changes, &r.Policy, &good, &s.Fingerprint)
	if err != nil {
		return s, err
	}
	for i, into := range []*time.Time{&s.AskedAt, &s.CoveredAt, &s.Ticked, &s.NotBefore, &s.Since} {
		*into = instant(times[i])
	}
	if good != nil {
		err = s.Succeeded(*good)
	}
	return s, err
}

// readClaims reads a row of claimsColumns.
func readClaims(scan scanner) (target reconcile.Key, c reconcile.Claims, err error) {
	var at, settledAt *time.Time
	var settled *uint64
	err = scan(&target, &c.Asked.Epoch, &c.Asked.N, &at, &c.Last, &settled, &settledAt)
	c.Asked.Claimed = instant(at)
	if settled != nil {
		c.Settled = &reconcile.Claim{Epoch: c.Asked.Epoch, N: *settled, Claimed: instant(settledAt)}
	}
	return target, c, err
}

// A standingRow is a row of standings.
type standingRow struct {
	Target      reconcile.Key   `json:"target"`
	Asked       reconcile.Fence `json:"asked"`
	AskedAt     *time.Time      `json:"asked_at"`
	Reason      string          `json:"reason"`
	Covered     reconcile.Fence `json:"covered"`
	CoveredAt   *time.Time      `json:"covered_at"`
	Ticked      *time.Time      `json:"ticked"`
	Failures    int             `json:"failures"`
	NotBefore   *time.Time      `json:"not_before"`
	Since       *time.Time      `json:"since"`
	State       reconcile.State `json:"state"`
	Note        string          `json:"note"`
	Run         reconcile.RunID `json:"run"`
	Changes     int             `json:"changes"`
	Policy      string          `json:"policy"`
	Good        *string         `json:"good"`
	Fingerprint string          `json:"fingerprint"`
}

// stand notes a standing to be written, with what it covers.
func (w *writes) stand(s reconcile.Standing, covers bool) {
	r := s.Report
	row := standingRow{Target: s.Target, Covered: s.Covered, CoveredAt: stamp(s.CoveredAt), Ticked: stamp(s.Ticked), Failures: s.Failures,
		NotBefore: stamp(s.NotBefore), Since: stamp(s.Since), State: r.State, Note: clean(r.Note), Run: r.Run, Changes: r.Changes,
		Policy: clean(r.Policy), Fingerprint: clean(s.Fingerprint)}
	if s.Good != nil {
		text, _ := json.Marshal(s.Good) // which cannot fail to encode
		good := cleanJSON(string(text))
		row.Good = &good
	}
	w.standings = append(w.standings, row)
	if covers {
		w.covered = append(w.covered, string(s.Target))
	}
}

// settledLast tells whether the claim that asked last is covered by then.
const settledLast = "CASE WHEN standings.claim_epoch IS NOT NULL AND standings.claim_asked < excluded.covered THEN standings.claim_"

// What is asked of a target is left alone: somebody may ask meanwhile.
const standSQL = `INSERT INTO standings (target, asked, reason, claim_asked, covered, covered_at, ticked, failures, not_before, since,
		state, note, run, changes, policy, good, fingerprint)
	SELECT target, 0, '', 0, covered, covered_at, ticked, failures, not_before, since, state, note, run, changes, policy, good, fingerprint
	FROM jsonb_populate_recordset(NULL::standings, $1::text::jsonb) ORDER BY target
	ON CONFLICT (target) DO UPDATE SET settled_epoch = ` + settledLast + `epoch ELSE standings.settled_epoch END,
		settled_n = ` + settledLast + `n ELSE standings.settled_n END, settled_at = ` + settledLast + `at ELSE standings.settled_at END,
		covered = excluded.covered, covered_at = excluded.covered_at, ticked = excluded.ticked,
		failures = excluded.failures, not_before = excluded.not_before, since = excluded.since, state = excluded.state, note = excluded.note,
		run = excluded.run, changes = excluded.changes, policy = excluded.policy, good = excluded.good, fingerprint = excluded.fingerprint`

// coverSQL settles the claims of targets that are covered: all that asked below the fence that covers.
const coverSQL = `UPDATE claims SET settled_n = claims.n, settled_at = claims.at FROM standings
	WHERE claims.target = ANY($1::text[]) AND standings.target = claims.target AND claims.asked < standings.covered
		AND claims.settled_n IS DISTINCT FROM claims.n`

const oweSQL = `UPDATE standings SET asked = row.asked, asked_at = row.asked_at, reason = row.reason
	FROM jsonb_populate_recordset(NULL::standings, $1::text::jsonb) AS row WHERE standings.target = row.target`

// putStandings queues the standings that were noted.
func (t *tx) putStandings(w *writes) {
	if len(w.standings) > 0 {
		t.Queue(standSQL, rows(w.standings))
	}
	if len(w.covered) > 0 {
		t.Queue(coverSQL, w.covered)
	}
	if len(w.owed) > 0 {
		t.Queue(oweSQL, rows(w.owed))
	}
}
