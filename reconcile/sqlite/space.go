package sqlite

import (
	"context"
	"fmt"
)

// space gives free pages back. A database that was not made by this program cannot do that by and by: it is written anew
// where nobody minds how long that takes, and a quarter of it is free.
func (p *pruner) space(ctx context.Context) error {
	for !p.spent() {
		var mode, before, after int64
		err := p.s.write(ctx, "giving space back", func(t *tx) (err error) {
			if mode, err = t.value("PRAGMA auto_vacuum"); err != nil || mode != incremental {
				return err
			}
			if before, err = t.value("PRAGMA freelist_count"); err != nil || before == 0 {
				return err
			}
			err = t.each(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", freeing), func(scanner) error { return nil })
			if err == nil {
				after, err = t.value("PRAGMA freelist_count")
			}
			return err
		})
		if err != nil {
			return err
		}
		p.did(before > 0)
		if after == 0 && p.r.Most == 0 {
			return p.finish(ctx, mode != incremental)
		}
		if after == 0 {
			return nil
		}
	}
	return nil
}

// finish has the file itself become smaller now.
func (p *pruner) finish(ctx context.Context, anew bool) error {
	w := p.s.writer
	if err := w.gate.enter(ctx); err != nil {
		return err
	}
	defer w.gate.leave()
	worthwhile, err := w.value("SELECT freelist_count * 4 > page_count FROM pragma_freelist_count, pragma_page_count")
	if err == nil && anew && worthwhile != 0 {
		_, err = w.conn.ExecContext(ctx, "VACUUM")
	}
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint") // as far as readers let it
	}
	return unwritable(explain(err))
}

// size is the database's, in bytes, as the last commit has it.
func (s *Store) size(ctx context.Context) (bytes int64, err error) {
	err = s.query(ctx, "looking at the size", "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", func(scan scanner) error {
		return scan(&bytes)
	})
	return bytes, err
}
