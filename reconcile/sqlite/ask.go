package sqlite

import "trueup/reconcile"

// ask makes the targets owed by a number of their own.
func (t *tx) ask(a reconcile.Ask) error {
	if len(a.Targets) == 0 {
		return nil
	}
	n, err := t.draw(1)
	if err != nil {
		return err
	}
	if err := t.tallyAsks(n, a.Targets); err != nil {
		return err
	}
	args := append([]any{int64(n), stamp(t.now), a.Reason}, claimArgs(a.Claim)...)
	if a.Claim == nil {
		n = 0
	}
	args = append(args, int64(n), string(reconcile.Waiting), list(a.Targets))
	_, err = t.exec(askSQL, args...)
	return err
}

// An older claim of the same epoch that asks late does not replace a newer one, but what it asks for has to be covered
// before the newer one is settled.
const askSQL = `
INSERT INTO standings (target, asked, asked_at, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, failures, since, state, note, run, changes, policy, fingerprint)
SELECT value, ?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, ?2, ?8, '', '', 0, '', '' FROM json_each(?9) WHERE true
ON CONFLICT (target) DO UPDATE SET
	asked = excluded.asked, asked_at = excluded.asked_at, reason = excluded.reason,
	claim_asked = max(claim_asked, excluded.claim_asked),
	(claim_epoch, claim_n, claim_at) = (SELECT c.epoch, c.n, c.at FROM (
		SELECT claim_epoch AS epoch, claim_n AS n, claim_at AS at, 2 AS preference
			WHERE ?4 IS NULL OR (claim_epoch = ?4 AND claim_n > ?5)
		UNION ALL SELECT ?4, ?5, ?6, 1) AS c ORDER BY preference DESC LIMIT 1)`

// gone forgets what the claims of triggers that are gone asked. The columns of standings would bring it back.
func (t *tx) gone(epochs []string) error {
	for _, statement := range []string{
		"UPDATE standings SET claim_epoch = NULL, claim_n = NULL, claim_at = NULL, claim_asked = 0 WHERE claim_epoch IN (SELECT value FROM json_each(?))",
		"UPDATE standings SET settled_epoch = NULL, settled_n = NULL, settled_at = NULL WHERE settled_epoch IN (SELECT value FROM json_each(?))",
		"DELETE FROM claims WHERE epoch IN (SELECT value FROM json_each(?))",
	} {
		if _, err := t.exec(statement, list(epochs)); err != nil {
			return err
		}
	}
	return nil
}
