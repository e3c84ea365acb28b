package sqlite

import (
	"path/filepath"
	"testing"

	"trueup/reconcile"
)

// TestClaimsOfAnOlderTrueup: what a trueup writes that knows of one trigger alone is what the claims of that trigger asked, be
// it from before the ledger was migrated or by a sweep that goes on.
func TestClaimsOfAnOlderTrueup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	migrated(t, path, texts[:4])
	older := rawDB(t, path)
	older.SetMaxOpenConns(1)
	ask, err := older.Prepare(`INSERT INTO standings (target, asked, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, failures, state, note, run, changes, policy, fingerprint)
		VALUES ('test:one', ?1, '', ?2, ?3, '2026-11-29T14:02:11.000000Z', ?1, 0, 0, 'waiting', '', '', 0, '', '') ON CONFLICT (target) DO UPDATE SET
		asked = excluded.asked, claim_epoch = excluded.claim_epoch, claim_n = excluded.claim_n, claim_at = excluded.claim_at, claim_asked = excluded.claim_asked`)
	if err != nil {
		t.Fatal(err)
	}
	settle, err := older.Prepare(`REPLACE INTO standings (target, asked, reason, claim_epoch, claim_n, claim_at, claim_asked, covered, settled_epoch, settled_n, settled_at,
			failures, state, note, run, changes, policy, fingerprint)
		SELECT target, asked, reason, claim_epoch, claim_n, claim_at, claim_asked, ?1, claim_epoch, claim_n, claim_at, 0, 'ok', '', '', 0, '', '' FROM standings`)
	if err != nil {
		t.Fatal(err)
	}
	old := func(do func() (any, error)) {
		t.Helper()
		if _, err := do(); err != nil {
			t.Fatal(err)
		}
	}
	asks := func(fence int, epoch string, n int) {
		t.Helper()
		old(func() (any, error) { return ask.Exec(fence, epoch, n) })
	}
	settles := func(fence int) {
		t.Helper()
		old(func() (any, error) { return settle.Exec(fence) })
	}
	asks(1, "E", 3)
	settles(2)
	asks(3, "E", 4)
	s := reopen(t, path)
	is := func(when, epoch string, asked, settled uint64) {
		t.Helper()
		standings := must(s.Standings(t.Context()))(t)
		a, _ := standings[0].AskedBy(epoch)
		c, _ := standings[0].SettledOf(epoch)
		if a.N != asked || c.N != settled || asked > 0 && a.Claimed.IsZero() {
			t.Errorf("%s epoch %s has asked %d and settled %d, want %d and %d: %+v", when, epoch, a.N, c.N, asked, settled, standings[0].Claims)
		}
	}
	is("migrated,", "E", 4, 3)
	settles(4)
	is("settled by an older trueup,", "E", 4, 4)
	asks(5, "F", 1)
	is("asked by another trigger,", "F", 1, 0)
	is("and before,", "E", 4, 4)
	if err := s.Commit(t.Context(), reconcile.Batch{Gone: []string{"E"}}); err != nil {
		t.Fatal(err)
	}
	is("once E is gone,", "E", 0, 0)
	settles(6)
	is("settled after that,", "F", 1, 1)
	is("which brings nothing back,", "E", 0, 0)
}
