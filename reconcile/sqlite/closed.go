package sqlite

import (
	"context"
	"strings"
)

// Closed is where the ledger has moved to; empty while it is open.
func (s *Store) Closed(ctx context.Context) (place string, err error) {
	const closed = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'moved_sequence_update'"
	before, after, _ := strings.Cut(movedTo("|"), "|")
	err = s.query(ctx, "looking whether it has moved", closed, func(scan scanner) error {
		err := scan(&place)
		_, place, _ = strings.Cut(place, before)
		place, _, _ = strings.Cut(place, after)
		place = strings.ReplaceAll(place, "''", "'")
		return err
	})
	return place, err
}
