package sqlite

import (
	"fmt"

	"trueup/reconcile"
	"trueup/reconcile/export"
)

// record is one compare-and-swap. Expired records are gone by now.
func (t *tx) record(w reconcile.Write) error {
	expires := stamp(t.now.Add(w.TTL))
	if w.TTL == 0 {
		expires = nil
	}
	var changed int64
	var err error
	switch {
	case w.Revision == 0 && w.Value == nil:
		return fmt.Errorf("record %s %s: neither a value nor a revision to delete: %w", w.Family, w.Key, reconcile.ErrUndecidable)
	case w.Revision == 0:
		changed, err = t.exec("INSERT INTO records (family, key, revision, value, expires) VALUES (?, ?, 1, ?, ?) ON CONFLICT DO NOTHING",
			w.Family, w.Key, w.Value, expires)
	case w.Value == nil:
		changed, err = t.exec("DELETE FROM records WHERE family = ? AND key = ? AND revision = ?", w.Family, w.Key, w.Revision)
	default:
		changed, err = t.exec("UPDATE records SET revision = revision + 1, value = ?, expires = ? WHERE family = ? AND key = ? AND revision = ?",
			w.Value, expires, w.Family, w.Key, w.Revision)
	}
	if err == nil && changed == 0 {
		err = fmt.Errorf("record %s %s is not at revision %d: %w", w.Family, w.Key, w.Revision, reconcile.ErrConflict)
	}
	return err
}

// logs keeps what was printed. The oldest makes room for it.
func (t *tx) logs(logs []reconcile.Log) error {
	for _, l := range logs {
		_, err := t.exec("INSERT INTO logs (run, at, stream, text, cut) VALUES (?, ?, ?, ?, 0)", // the text says itself what was left out
			string(l.Run), stamp(t.now), export.Plain(l.Stream), export.Plain(l.Text))
		if err != nil {
			return err
		}
	}
	if len(logs) == 0 {
		return nil
	}
	_, err := t.thin()
	return err
}

// thinning is how many logs go in one transaction at most.
const thinning = 500

// thin removes the oldest logs as far as they are over the quota.
func (t *tx) thin() (removed int64, err error) {
	if t.s.quota == 0 {
		return 0, nil
	}
	kept, err := t.value("SELECT logs FROM usage")
	if err != nil || kept <= t.s.quota {
		return 0, err
	}
	return t.exec(`DELETE FROM logs WHERE id IN (
		SELECT id FROM (
			SELECT id, sum(size) OVER (ORDER BY id) - size AS before
			FROM (SELECT id, octet_length(text) AS size FROM logs ORDER BY id LIMIT ?)
		) WHERE before < ?)`, thinning, kept-t.s.quota)
}
