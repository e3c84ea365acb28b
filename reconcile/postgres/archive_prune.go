package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"trueup/reconcile"
)

// How much one transaction does: what takes tens of milliseconds.
const (
	cutting = 1000 // rows that go, unless one run has more
	looking = 500  // runs that are looked at
)

// Prune is as reconcile.Archive says, and brings the logs down to the store's quota. The space is the server's to use again,
// and none is given back.
func (s *Store) Prune(ctx context.Context, r reconcile.Retention) (reconcile.Pruned, error) {
	p := pruner{s: s, r: r}
	for _, part := range []func(context.Context) error{p.runs, p.items, p.logs} {
		if err := part(ctx); err != nil {
			return p.pruned, fmt.Errorf("pruning %s: %w", s.place, err)
		}
	}
	return p.pruned, nil
}

type pruner struct {
	s      *Store
	r      reconcile.Retention
	pruned reconcile.Pruned
	done   int // transactions
}

// spent tells whether one call has done its most.
func (p *pruner) spent() bool {
	p.pruned.More = p.pruned.More || p.r.Most > 0 && p.done >= p.r.Most
	return p.pruned.More
}

// did is one transaction, in which so many things were cut, perhaps none.
func (p *pruner) did(n int) {
	if n > 0 {
		p.done++
	}
}

// keptSQL is the runs that standings name. Whoever reads has them beside the runs that may be cut, by hash: the planner, which cannot
// know how many there are, would join them row by row.
const keptSQL = `SELECT run FROM standings UNION ALL SELECT good::json ->> 'run' FROM standings WHERE good IS NOT NULL`

// Of some runs those that somebody names by then. Until the end of the transaction no record comes to do so: who approves an old run
// finds it, or finds it gone.
const (
	stillSQL   = "SELECT run FROM (" + keptSQL + ") AS kept WHERE run = ANY($1::text[])"
	recordsSQL = "LOCK TABLE records IN SHARE MODE"
	namedSQL   = `SELECT said[1] FROM records, regexp_matches(encode(value, 'escape'), '"run"[[:space:]]*:[[:space:]]*"([^"]*)"', 'g') AS said
		WHERE position('"run"'::bytea IN value) > 0 AND (expires IS NULL OR expires > ledger_clock()) AND said[1] = ANY($1::text[])`
)

// cutSQL finds the runs that may be cut, unless something names them, from one on.
const cutSQL = `
SELECT run, fence, (SELECT count(*) FROM events WHERE events.run = r.run) + (SELECT count(*) FROM logs WHERE logs.run = r.run)
FROM runs AS r
WHERE opened < ledger_clock() - $1::bigint * interval '1 microsecond' AND fence > $2
	AND EXISTS (SELECT 1 FROM events WHERE events.run = r.run AND type IN ('succeeded', 'failed', 'lease_expired'))
	AND ($3::int = 0 OR target NOT IN (SELECT target FROM standings)
		OR (SELECT fence FROM runs AS newer WHERE newer.target = r.target AND newer.fence > r.fence
			ORDER BY fence LIMIT 1 OFFSET greatest($3::int - 1, 0)) IS NOT NULL)
ORDER BY fence LIMIT $4`

// A cut is a run that may be cut.
type cut struct {
	run   string
	fence int64
	rows  int
}

// runs cuts runs, the oldest first.
func (p *pruner) runs(ctx context.Context) error {
	kept := map[string]bool{"": true}
	err := p.s.look(ctx, "looking for runs that are kept", func(b *pgx.Batch) {
		reading(b, keptSQL, func(scan scanner) error {
			var run *string
			err := scan(&run)
			if run != nil {
				kept[*run] = true
			}
			return err
		})
	})
	for after := int64(0); err == nil && !p.spent(); {
		var found []cut
		found, err = gather(ctx, p.s, "looking for old runs", cutSQL, func(scan scanner) (c cut, err error) {
			err = scan(&c.run, &c.fence, &c.rows)
			return c, err
		}, p.r.Keep.Microseconds(), after, p.r.Runs, looking)
		if err != nil || len(found) == 0 {
			return err
		}
		var runs []string
		if runs, after = some(found, kept, after); len(runs) > 0 {
			err = p.cut(ctx, runs)
		}
	}
	return err
}

// some are as many runs as one transaction cuts, and the fence of the last that was looked at.
func some(found []cut, kept map[string]bool, after int64) (runs []string, last int64) {
	last = after
	rows := 0
	for _, c := range found {
		if !kept[c.run] {
			if rows += c.rows; len(runs) > 0 && rows > cutting {
				break
			}
			runs = append(runs, c.run)
		}
		last = c.fence
	}
	return runs, last
}

// cut cuts runs but for those that somebody names by now.
func (p *pruner) cut(ctx context.Context, runs []string) error {
	var named map[string]bool
	n := 0
	err := p.s.write(ctx, "cutting old runs", deed{
		read: func(b *pgx.Batch) {
			named = map[string]bool{}
			names := func(scan scanner) error {
				var run string
				err := scan(&run)
				named[run] = true
				return err
			}
			reading(b, stillSQL, names, runs)
			b.Queue(recordsSQL)
			reading(b, namedSQL, names, runs)
		},
		decide: func(t *tx) error {
			going := slices.DeleteFunc(slices.Clone(runs), func(run string) bool { return named[run] })
			for _, table := range []string{"events", "logs", "runs"} {
				t.Queue("DELETE FROM "+table+" WHERE run = ANY($1::text[])", going)
			}
			n = len(going)
			return nil
		},
	})
	if err == nil {
		p.pruned.Runs += n
		p.did(n)
	}
	return err
}

// overSQL finds work that is over: the last event of each time that an item was started, also where another start
// followed, and of items that hold nothing and cannot be read.
const overSQL = `
SELECT item, seq FROM work_events WHERE type = 'done' AND at < ledger_clock() - $1::bigint * interval '1 microsecond'
UNION SELECT item, max(seq) FROM work_events WHERE item NOT IN (SELECT item FROM work_items)
	GROUP BY item HAVING max(at) < ledger_clock() - $1::bigint * interval '1 microsecond'
ORDER BY item, seq LIMIT $2`

// items cuts work that is over, whole: what is left of an item begins with a start.
func (p *pruner) items(ctx context.Context) error {
	for !p.spent() {
		over := map[string]int64{} // the last event of each that goes
		n := 0
		err := p.s.write(ctx, "cutting old work", deed{
			read: func(b *pgx.Batch) {
				clear(over)
				n = 0
				reading(b, overSQL, func(scan scanner) error {
					var item string
					var seq int64
					err := scan(&item, &seq)
					over[item] = max(over[item], seq)
					n++
					return err
				}, p.r.Keep.Microseconds(), cutting/10)
			},
			decide: func(t *tx) error {
				for item, last := range over {
					t.Queue("DELETE FROM work_events WHERE item = $1 AND seq <= $2", item, last)
				}
				return nil
			},
		})
		if err != nil || n == 0 {
			return err
		}
		p.pruned.Items += n
		p.did(n)
	}
	return nil
}

func (p *pruner) logs(ctx context.Context) error {
	for p.s.options.Logs > 0 && !p.spent() {
		n := 0
		err := p.s.write(ctx, "cutting logs", deed{decide: func(t *tx) error {
			t.Queue(thinSQL, p.s.options.Logs, thinning).Exec(func(done pgconn.CommandTag) error {
				n = int(done.RowsAffected())
				return nil
			})
			return nil
		}})
		if err != nil || n == 0 {
			return err
		}
		p.pruned.Logs += n
		p.did(n)
	}
	return nil
}
