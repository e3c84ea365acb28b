package postgres

import (
	"strings"

	"trueup/reconcile"
)

// underway is the fence of the tick that a target is under, for a statement on tallies; 0 when there is none.
const underway = `coalesce((SELECT leases.fence FROM scopes JOIN leases USING (fence)
	WHERE scope = tallies.target AND leases.target = tallies.target), 0)`

// tallyAsks counts requests with the number. One that waits is coalesced into the new one; one with which the tick under
// way began is that tick's to end.
func (t *tx) tallyAsks(n int64, targets []string) {
	t.Queue(`INSERT INTO tallies (target, waiting, requests) SELECT target, $1::bigint, 1 FROM unnest($2::text[]) AS target
		ON CONFLICT (target) DO UPDATE SET requests = tallies.requests + 1, waiting = excluded.waiting,
			(coalesced, taken) = (SELECT CASE
				WHEN fence = 0 THEN tallies.coalesced + (tallies.waiting > 0)::int + (tallies.taken > 0)::int
				WHEN fence > tallies.waiting THEN tallies.coalesced + (tallies.waiting > 0 AND tallies.taken > 0)::int
				ELSE tallies.coalesced + 1
			END, CASE
				WHEN fence = 0 THEN 0
				WHEN fence > tallies.waiting AND tallies.waiting > 0 THEN tallies.waiting
				ELSE tallies.taken
			END FROM (SELECT CASE WHEN tallies.waiting + tallies.taken = 0 THEN 0 ELSE `+underway+` END AS fence) AS tick)`, n, targets)
}

// A tallied tick has ended.
type tallied struct {
	Target reconcile.Key   `json:"target"`
	Fence  reconcile.Fence `json:"fence"`
	State  reconcile.State `json:"state"`  // what it is counted as
	Covers bool            `json:"covers"` // what was asked before it
	Holds  bool            `json:"holds"`  // that back
}

// tallySQL counts ticks, and what they end: the requests from before their fences, of which the last is answered and the
// others are coalesced into it.
const tallySQL = `WITH ended AS MATERIALIZED (
		SELECT * FROM jsonb_to_recordset($1::text::jsonb) AS e (target text, fence bigint, state text, covers bool, holds bool)
	), known AS MATERIALIZED (
		SELECT target AS of FROM tallies WHERE target IN (SELECT target FROM ended) ORDER BY target FOR UPDATE
	), counted AS (
		UPDATE tallies SET
			ticks_ok = ticks_ok + (state = 'ok')::int, ticks_failing = ticks_failing + (state = 'failing')::int,
			ticks_held = ticks_held + (state = 'held')::int, ticks_unknown = ticks_unknown + (state = 'unknown')::int,
			ticks_limited = ticks_limited + (state = 'limited')::int, ticks_expired = ticks_expired + (state = 'expired')::int,
			ran = ran + (covers AND (taken > 0 OR waiting BETWEEN 1 AND fence))::int,
			held = held + (holds AND (taken > 0 OR waiting BETWEEN 1 AND fence))::int,
			coalesced = coalesced + ((covers OR holds) AND taken > 0 AND waiting BETWEEN 1 AND fence)::int,
			waiting = CASE WHEN (covers OR holds) AND waiting < fence THEN 0 ELSE waiting END,
			taken = CASE WHEN covers OR holds THEN 0 ELSE taken END
		FROM known JOIN ended ON ended.target = of WHERE tallies.target = of
	)
	INSERT INTO tallies (target, ticks_ok, ticks_failing, ticks_held, ticks_unknown, ticks_limited, ticks_expired)
	SELECT target, (state = 'ok')::int, (state = 'failing')::int, (state = 'held')::int, (state = 'unknown')::int, (state = 'limited')::int, (state = 'expired')::int
	FROM ended WHERE target NOT IN (SELECT of FROM known) ORDER BY target`

func (t *tx) tallyTicks(ends []tallied) {
	if len(ends) > 0 {
		t.Queue(tallySQL, rows(ends))
	}
}

// tallyHandedOver counts requests whose targets were refused to this process. One that the tick under way began with is
// that tick's to end.
func (t *tx) tallyHandedOver(targets []reconcile.Key) {
	if len(targets) > 0 {
		t.Queue(`UPDATE tallies SET handed_over = handed_over + 1, waiting = 0
			WHERE target IN (SELECT target FROM tallies WHERE target = ANY($1::text[]) ORDER BY target FOR UPDATE) AND waiting > `+underway, list(targets))
	}
}

// tallyStrange counts requests for targets that are not declared.
func (t *tx) tallyStrange(n int) {
	if n > 0 {
		t.Queue(`INSERT INTO tallies (target, requests, dropped) VALUES ('', $1::bigint, $1::bigint)
			ON CONFLICT (target) DO UPDATE SET requests = tallies.requests + $1::bigint, dropped = tallies.dropped + $1::bigint`, n)
	}
}

// tallyForgotten adds what was counted for targets that have no standing any more to that of all that are gone. What they still
// had to answer is dropped.
func (t *tx) tallyForgotten() {
	t.Queue("INSERT INTO tallies (target) VALUES ('') ON CONFLICT DO NOTHING")
	const gone = "FROM tallies WHERE target <> '' AND target NOT IN (SELECT target FROM standings)"
	var sums, names []string
	for _, column := range []string{"requests", "ran", "coalesced", "held", "handed_over", "ticks_ok", "ticks_failing", "ticks_held",
		"ticks_unknown", "ticks_limited", "ticks_expired"} {
		names = append(names, column+" = "+column+" + s_"+column)
		sums = append(sums, "coalesce(sum("+column+"), 0) AS s_"+column)
	}
	t.Queue(`UPDATE tallies SET dropped = dropped + s_dropped, ` + strings.Join(names, ", ") + `
		FROM (SELECT coalesce(sum(dropped + (waiting > 0)::int + (taken > 0)::int), 0) AS s_dropped, ` + strings.Join(sums, ", ") + ` ` + gone + `) AS sums
		WHERE target = ''`)
	t.Queue("DELETE " + gone)
}
