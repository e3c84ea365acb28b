package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile"
)

// Writes are what a transaction is going to write, gathered so that each table takes one statement.
type writes struct {
	runs      []runRow
	events    []eventRow
	standings []standingRow
	covered   []string      // targets whose claims are covered
	owed      []standingRow // targets that become owed
	tally     []tallied
	logs      []logRow
}

type runRow struct {
	Fence  reconcile.Fence `json:"fence"`
	Run    reconcile.RunID `json:"run"`
	Target reconcile.Key   `json:"target"`
	Opened time.Time       `json:"opened"`
}

type eventRow struct {
	Run  reconcile.RunID `json:"run"`
	Seq  int             `json:"seq"`
	At   time.Time       `json:"at"`
	Type string          `json:"type"`
	Data string          `json:"data"`
}

type logRow struct {
	Run    reconcile.RunID `json:"run"`
	Stream string          `json:"stream"`
	Text   string          `json:"text"`
}

// append notes facts that follow on a run's last event, which is zero for one that they open under the lease.
func (w *writes) append(now time.Time, under reconcile.Lease, run reconcile.RunID, last int, facts []reconcile.Fact) error {
	if last == 0 && len(facts) > 0 {
		if _, opens := facts[0].(reconcile.Leased); !opens {
			return fmt.Errorf("run %s does not open with its lease: %w", run, reconcile.ErrUndecidable)
		}
	}
	var events []eventRow
	for i, fact := range facts {
		typ, data, err := reconcile.EncodeFact(fact)
		if err != nil {
			return fmt.Errorf("encoding an event of run %s: %w: %w", run, reconcile.ErrUndecidable, err) // no other tick's fault
		}
		events = append(events, eventRow{run, last + 1 + i, now, typ, cleanJSON(string(data))})
	}
	if last == 0 && len(facts) > 0 {
		w.runs = append(w.runs, runRow{under.Fence, under.Run, under.Target, now})
	}
	w.events = append(w.events, events...)
	return nil
}

// log notes what was printed.
func (w *writes) log(logs []reconcile.Log) {
	for _, l := range logs {
		w.logs = append(w.logs, logRow{l.Run, clean(l.Stream), clean(l.Text)})
	}
}

// put queues what was noted but for logs, in the order in which all lock it.
func (t *tx) put(w *writes) {
	if len(w.runs) > 0 {
		t.Queue(`INSERT INTO runs (fence, run, target, opened)
			SELECT fence, run, target, opened FROM jsonb_populate_recordset(NULL::runs, $1::text::jsonb)`, rows(w.runs))
	}
	if len(w.events) > 0 {
		t.Queue(`INSERT INTO events (run, seq, at, type, data)
			SELECT run, seq, at, type, data FROM jsonb_populate_recordset(NULL::events, $1::text::jsonb)`, rows(w.events))
	}
	t.putStandings(w)
	t.tallyTicks(w.tally)
}

// putLogs keeps what was printed, last of all: whoever writes logs locks how many there are. The oldest makes room for it.
func (t *tx) putLogs(logs []logRow) {
	if len(logs) == 0 {
		return
	}
	t.Queue(`INSERT INTO logs (run, at, stream, text, cut) SELECT run, $1, stream, text, 0
		FROM ROWS FROM (jsonb_to_recordset($2::text::jsonb) AS (run text, stream text, text text)) WITH ORDINALITY AS l(run, stream, text, n) ORDER BY n`, t.now, rows(logs))
	if t.s.options.Logs > 0 {
		t.Queue(thinSQL, t.s.options.Logs, thinning)
	}
}

// thinning is how many logs go in one transaction at most.
const thinning = 500

// thinSQL removes the oldest logs as far as they are over the quota.
const thinSQL = `DELETE FROM logs WHERE (SELECT logs FROM usage) > $1::bigint AND id IN (
	SELECT id FROM (
		SELECT id, sum(size) OVER (ORDER BY id) - size AS before
		FROM (SELECT id, octet_length(text) AS size FROM logs ORDER BY id LIMIT $2::bigint) AS oldest
	) AS running WHERE before < (SELECT logs FROM usage) - $1::bigint)`

// Heads are where runs stand.
type heads map[reconcile.RunID]head

type head struct {
	last   int // the number of the last event
	closed bool
}

func (h *heads) of(run reconcile.RunID) head { return (*h)[run] }

func (h *heads) read(b *pgx.Batch, runs []reconcile.RunID) {
	*h = heads{}
	reading(b, `SELECT run, max(seq), bool_or(type IN ('succeeded', 'failed', 'lease_expired')) FROM events WHERE run = ANY($1::text[]) GROUP BY run`,
		func(scan scanner) error {
			var run reconcile.RunID
			var at head
			err := scan(&run, &at.last, &at.closed)
			(*h)[run] = at
			return err
		}, list(runs))
}
