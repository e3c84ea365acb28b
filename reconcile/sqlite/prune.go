package sqlite

import (
	"context"
	"fmt"

	"trueup/reconcile"
)

// How much one transaction does: what takes tens of milliseconds.
const (
	cutting = 1000 // rows that go, unless one run has more
	freeing = 512  // pages that are given back
	looking = 500  // runs that are looked up at once, which holds nobody up

	incremental = 2 // the mode of auto_vacuum
)

// Prune is as reconcile.Archive says, and brings the logs down to the store's quota.
func (s *Store) Prune(ctx context.Context, r reconcile.Retention) (reconcile.Pruned, error) {
	p := pruner{s: s, r: r, before: stamp(s.now().Add(-r.Keep))}
	size, err := s.size(ctx)
	for _, part := range []func(context.Context) error{p.runs, p.items, p.logs, p.space} {
		if err == nil {
			err = part(ctx)
		}
	}
	if err != nil {
		return p.pruned, fmt.Errorf("pruning %s: %w", s.path, err)
	}
	now, err := s.size(ctx)
	p.pruned.Bytes = max(0, size-now)
	return p.pruned, err
}

// cutSQL finds what may be cut, from a run on; it is asked again in the transaction that cuts.
const cutSQL = `
WITH named AS (
	SELECT json_extract(CAST(value AS TEXT), '$.run') AS run FROM records
		WHERE json_valid(CAST(value AS TEXT)) AND (expires IS NULL OR expires > ?6)
	UNION SELECT run FROM standings
	UNION SELECT json_extract(good, '$.run') FROM standings WHERE good IS NOT NULL
)
SELECT run, fence, (SELECT count(*) FROM events WHERE events.run = r.run) + (SELECT count(*) FROM logs WHERE logs.run = r.run)
FROM runs AS r
WHERE opened < ?1 AND fence > ?2
	AND (?3 IS NULL OR run IN (SELECT value FROM json_each(?3)))
	AND EXISTS (SELECT 1 FROM events WHERE events.run = r.run AND type IN ('succeeded', 'failed', 'lease_expired'))
	AND run NOT IN (SELECT run FROM named WHERE run IS NOT NULL)
	AND (?4 = 0 OR target NOT IN (SELECT target FROM standings)
		OR (SELECT fence FROM runs AS newer WHERE newer.target = r.target AND newer.fence > r.fence ORDER BY fence LIMIT 1 OFFSET ?4 - 1) IS NOT NULL)
ORDER BY fence LIMIT ?5`

// A cut is a run that may be cut.
type cut struct {
	run   string
	fence int64
	rows  int
}

func readCut(into *[]cut) func(scanner) error {
	return func(scan scanner) error {
		var c cut
		err := scan(&c.run, &c.fence, &c.rows)
		*into = append(*into, c)
		return err
	}
}

type pruner struct {
	s      *Store
	r      reconcile.Retention
	before any // an instant
	pruned reconcile.Pruned
	done   int // transactions
}

// spent tells whether one call has done its most.
func (p *pruner) spent() bool {
	p.pruned.More = p.pruned.More || p.r.Most > 0 && p.done >= p.r.Most
	return p.pruned.More
}

// did is one transaction, in which something was cut or nothing.
func (p *pruner) did(something bool) {
	if something {
		p.done++
	}
}

// runs cuts runs, the oldest first.
func (p *pruner) runs(ctx context.Context) error {
	for after := int64(0); ; {
		var found []cut
		err := p.s.query(ctx, "looking for old runs", cutSQL, readCut(&found), p.before, after, nil, p.r.Runs, looking, stamp(p.s.now()))
		if err != nil || len(found) == 0 {
			return err
		}
		for len(found) > 0 {
			n, rows := 0, 0
			for n < len(found) && (n == 0 || rows+found[n].rows <= cutting) {
				rows += found[n].rows
				n++
			}
			if p.spent() {
				return nil
			}
			if err := p.cut(ctx, found[:n]); err != nil {
				return err
			}
			after, found = found[n-1].fence, found[n:]
		}
	}
}

func (p *pruner) cut(ctx context.Context, found []cut) error {
	runs := make([]string, len(found))
	for i, c := range found {
		runs[i] = c.run
	}
	var still []cut
	err := p.s.write(ctx, "cutting old runs", func(t *tx) error {
		still = nil
		err := t.each(cutSQL, readCut(&still), p.before, 0, list(runs), p.r.Runs, len(runs), stamp(t.now))
		if err != nil {
			return err
		}
		runs = runs[:0]
		for _, c := range still {
			runs = append(runs, c.run)
		}
		for _, table := range []string{"events", "logs", "runs"} {
			if _, err := t.exec("DELETE FROM "+table+" WHERE run IN (SELECT value FROM json_each(?))", list(runs)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		p.pruned.Runs += len(still)
		p.did(len(still) > 0)
	}
	return err
}

// overSQL finds work that is over: the last event of each time that an item was started, also where another start
// followed, and of items that hold nothing and cannot be read.
const overSQL = `
SELECT item, seq FROM work_events WHERE type = 'done' AND at < ?1
UNION SELECT item, max(seq) FROM work_events WHERE item NOT IN (SELECT item FROM work_items) GROUP BY item HAVING max(at) < ?1
ORDER BY item, seq LIMIT ?2`

// items cuts work that is over, whole: what is left of an item begins with a start.
func (p *pruner) items(ctx context.Context) error {
	for !p.spent() {
		var over int
		count := func(scanner) error { over++; return nil }
		if err := p.s.query(ctx, "looking for old work", overSQL, count, p.before, 1); err != nil || over == 0 {
			return err
		}
		err := p.s.write(ctx, "cutting old work", func(t *tx) error {
			over = 0
			if err := t.each(overSQL, count, p.before, cutting/10); err != nil {
				return err
			}
			_, err := t.exec(`WITH over AS (SELECT item, max(seq) AS last FROM (`+overSQL+`) GROUP BY item)
				DELETE FROM work_events WHERE (item, seq) IN (SELECT item, seq FROM over JOIN work_events USING (item) WHERE seq <= last)`,
				p.before, cutting/10)
			return err
		})
		if err != nil {
			return err
		}
		p.pruned.Items += over
		p.did(over > 0)
	}
	return nil
}

func (p *pruner) logs(ctx context.Context) error {
	for !p.spent() {
		var removed int64
		err := p.s.write(ctx, "cutting logs", func(t *tx) (err error) {
			removed, err = t.thin()
			return err
		})
		if err != nil || removed == 0 {
			return err
		}
		p.pruned.Logs += int(removed)
		p.did(true)
	}
	return nil
}
