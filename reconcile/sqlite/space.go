package sqlite

import (
	"context"
	"fmt"
	"math"
)

// space gives free pages back. A database that was not made by this program cannot do that by and by: it is written anew,
// once, when a quarter of it is free. Unless somebody has asked for all to be done, that is for one of which little is left:
// others wait meanwhile.
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
		switch {
		case after > 0:
		case p.r.Most == 0:
			return p.finish(ctx, mode != incremental)
		case mode != incremental:
			_ = p.anew(ctx, p.s.little) // it takes as much room again, for a moment, and where there is none nothing is lost
			return nil
		default:
			return nil
		}
	}
	return nil
}

// finish has the file itself become smaller now.
func (p *pruner) finish(ctx context.Context, anew bool) error {
	if anew {
		if err := p.anew(ctx, math.MaxInt64); err != nil {
			return err
		}
	}
	return p.alone(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(ctx, "PRAGMA wal_checkpoint") // as far as readers let it
		return err
	})
}

// anew writes the database anew where that is worthwhile and what is left is not more than so many bytes. From then on it
// gives space back by and by.
func (p *pruner) anew(ctx context.Context, most int64) error {
	return p.alone(ctx, func(w *writer) error {
		left, err := w.value(`SELECT CASE WHEN free.freelist_count * 4 > page_count THEN (page_count - free.freelist_count) * page_size ELSE 0 END
			FROM pragma_freelist_count AS free, pragma_page_count, pragma_page_size`)
		if err == nil && left > 0 && left <= most {
			_, err = w.conn.ExecContext(ctx, "VACUUM")
		}
		return err
	})
}

// alone does something outside any transaction while nobody else writes.
func (p *pruner) alone(ctx context.Context, do func(w *writer) error) error {
	w := p.s.writer
	if err := w.gate.enter(ctx); err != nil {
		return err
	}
	defer w.gate.leave()
	if err := w.stands(); err != nil {
		return unwritable(err)
	}
	return unwritable(explain(do(w)))
}

// size is the database's, in bytes, as the last commit has it.
func (s *Store) size(ctx context.Context) (bytes int64, err error) {
	err = s.query(ctx, "looking at the size", "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", func(scan scanner) error {
		return scan(&bytes)
	})
	return bytes, err
}
