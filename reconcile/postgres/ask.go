package postgres

import (
	"slices"
	"time"

	"trueup/reconcile"
)

// lockSQL locks standings in the order in which all do, and with them what each trigger has asked of their targets.
const lockSQL = `SELECT count(*) FROM (SELECT FROM standings WHERE target = ANY($1::text[])
		OR claim_epoch = ANY($2::text[]) OR settled_epoch = ANY($2::text[]) OR target IN (SELECT target FROM claims WHERE epoch = ANY($2::text[]))
	ORDER BY target FOR UPDATE) AS locked`

// lock locks what several statements after it change: the targets that are asked for and forgotten, and those of epochs that are gone.
func (t *tx) lock(asks []reconcile.Ask, forgotten []reconcile.Key, gone []string) {
	targets := cleanList(forgotten)
	for _, a := range asks {
		targets = append(targets, cleanList(a.Targets)...)
	}
	t.Queue(lockSQL, targets, list(gone))
}

// ask makes the targets of each ask owed by a number of the ask's own.
func (t *tx) ask(asks ...reconcile.Ask) {
	if len(asks) > 1 {
		t.lock(asks, nil, nil)
	}
	for _, a := range asks {
		t.askOne(a)
	}
}

func (t *tx) askOne(a reconcile.Ask) {
	if len(a.Targets) == 0 {
		return
	}
	targets := cleanList(a.Targets)
	slices.Sort(targets) // in the order in which all lock them
	targets = slices.Compact(targets)
	n := int64(t.draw())
	var epoch *string
	var number, asked int64
	var at *time.Time
	if c := a.Claim; c != nil {
		epoch, number, at, asked = &c.Epoch, int64(c.N), stamp(c.Claimed), n
	}
	t.Queue(askSQL, n, t.now, clean(a.Reason), epoch, number, at, asked, string(reconcile.Waiting), targets)
	if a.Claim != nil {
		t.Queue(claimSQL, targets, epoch, number, at, n)
	}
	t.tallyAsks(n, targets)
}

// Of the claims of several triggers the columns hold what was asked last; table claims holds what each asked.
const askSQL = `INSERT INTO standings (target, asked, asked_at, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, failures, since, state, note, run, changes, policy, fingerprint)
	SELECT target, $1::bigint, $2::timestamptz, $3::text, $4::text, CASE WHEN $4::text IS NOT NULL THEN $5::bigint END, $6::timestamptz, $7::bigint,
		0, 0, $2::timestamptz, $8::text, '', '', 0, '', ''
	FROM unnest($9::text[]) AS target
	ON CONFLICT (target) DO UPDATE SET
		asked = excluded.asked, asked_at = excluded.asked_at, reason = excluded.reason,
		claim_asked = greatest(standings.claim_asked, excluded.claim_asked),
		claim_n = CASE WHEN excluded.claim_epoch IS NULL OR standings.claim_epoch = excluded.claim_epoch AND standings.claim_n > excluded.claim_n
			THEN standings.claim_n ELSE excluded.claim_n END,
		claim_at = CASE WHEN excluded.claim_epoch IS NULL OR standings.claim_epoch = excluded.claim_epoch AND standings.claim_n > excluded.claim_n
			THEN standings.claim_at ELSE excluded.claim_at END,
		claim_epoch = coalesce(excluded.claim_epoch, standings.claim_epoch)`

// An older claim of the same epoch that asks late does not replace a newer one, but what it asks for has to be covered
// before the newer one is settled.
const claimSQL = `INSERT INTO claims (target, epoch, n, at, asked) SELECT target, $2::text, $3::bigint, $4::timestamptz, $5::bigint FROM unnest($1::text[]) AS target
	ON CONFLICT (target, epoch) DO UPDATE SET asked = excluded.asked,
		at = CASE WHEN excluded.n >= claims.n THEN excluded.at ELSE claims.at END, n = greatest(claims.n, excluded.n)`

// gone forgets what the claims of triggers that are gone asked.
func (t *tx) gone(epochs []string) {
	if len(epochs) == 0 {
		return
	}
	t.Queue("UPDATE standings SET claim_epoch = NULL, claim_n = NULL, claim_at = NULL, claim_asked = 0 WHERE claim_epoch = ANY($1::text[])", epochs)
	t.Queue("UPDATE standings SET settled_epoch = NULL, settled_n = NULL, settled_at = NULL WHERE settled_epoch = ANY($1::text[])", epochs)
	t.Queue("DELETE FROM claims WHERE epoch = ANY($1::text[])", epochs)
}
