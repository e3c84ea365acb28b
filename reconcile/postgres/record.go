package postgres

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Revisions are those at which records stand, by family and key. What is not there stands at zero; what has expired is gone
// by now.
type revisions map[[2]string]int64

// read locks the records, in the order in which all do.
func (r *revisions) read(b *pgx.Batch, writes []reconcile.Write) {
	*r = revisions{}
	if len(writes) == 0 {
		return
	}
	var families, keys []string
	for _, w := range writes {
		if fits(w.Key) {
			families, keys = append(families, w.Family), append(keys, w.Key)
		}
	}
	reading(b, `SELECT family, key, revision FROM records WHERE (family, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))
		ORDER BY family, key FOR UPDATE`, func(scan scanner) error {
		var at [2]string
		var revision int64
		err := scan(&at[0], &at[1], &revision)
		(*r)[at] = revision
		return err
	}, families, keys)
}

// longestKey is how long a key may be, in bytes: an index of the server's takes little more.
const longestKey = 2000

func fits(key string) bool { return len(key) <= longestKey && clean(key) == key }

// swap compares and swaps, one after the other, all or none.
func (r *revisions) swap(writes []reconcile.Write) ([]reconcile.Write, error) {
	after := maps.Clone(*r)
	for _, w := range writes {
		at := [2]string{w.Family, w.Key}
		switch {
		case !fits(w.Key):
			return nil, fmt.Errorf("record %s %.40q: its key is no text of at most %d bytes: %w", w.Family, w.Key, longestKey, reconcile.ErrUndecidable)
		case w.Revision == 0 && w.Value == nil:
			return nil, fmt.Errorf("record %s %s: neither a value nor a revision to delete: %w", w.Family, w.Key, reconcile.ErrUndecidable)
		case after[at] != w.Revision:
			return nil, fmt.Errorf("record %s %s is not at revision %d: %w", w.Family, w.Key, w.Revision, reconcile.ErrConflict)
		case w.Value == nil:
			delete(after, at)
		default:
			after[at]++
		}
	}
	*r = after
	return writes, nil
}

// record queues what has been swapped.
func (t *tx) record(writes []reconcile.Write) {
	for _, w := range writes {
		if json.Valid(w.Value) {
			w.Value = []byte(cleanJSON(string(w.Value)))
		}
		var expires *time.Time
		if w.TTL != 0 {
			expires = stamp(t.now.Add(w.TTL))
		}
		switch {
		case w.Revision == 0:
			t.Queue("INSERT INTO records (family, key, revision, value, expires) VALUES ($1, $2, 1, $3, $4)", w.Family, w.Key, w.Value, expires)
		case w.Value == nil:
			t.Queue("DELETE FROM records WHERE family = $1 AND key = $2", w.Family, w.Key)
		default:
			t.Queue("UPDATE records SET revision = revision + 1, value = $3, expires = $4 WHERE family = $1 AND key = $2", w.Family, w.Key, w.Value, expires)
		}
	}
}
