package sqlite

import (
	"context"
	"encoding/json"
	"strings"

	"trueup/reconcile"
)

// Tallies is as reconcile.Archive says, by target; the one without a target comes first.
func (s *Store) Tallies(ctx context.Context) (tallies []reconcile.Tally, err error) {
	const query = `SELECT target, requests, ran, coalesced, held, handed_over, dropped, (waiting > 0) + (taken > 0),
		ticks_ok, ticks_failing, ticks_held, ticks_unknown, ticks_limited, ticks_expired FROM tallies ORDER BY target`
	err = s.query(ctx, "reading tallies", query, func(scan scanner) error {
		t := reconcile.Tally{Ticks: map[reconcile.State]uint64{}}
		ticks := make([]uint64, len(reconcile.TickEnds()))
		into := []any{&t.Target, &t.Requests, &t.Ran, &t.Coalesced, &t.Held, &t.HandedOver, &t.Dropped, &t.Open}
		for i := range ticks {
			into = append(into, &ticks[i])
		}
		err := scan(into...)
		for i, state := range reconcile.TickEnds() {
			t.Ticks[state] = ticks[i]
		}
		tallies = append(tallies, t)
		return err
	})
	return tallies, err
}

// underway is the fence of the tick that a target is under, for a statement on tallies; 0 when there is none.
const underway = `coalesce((SELECT fence FROM scopes JOIN leases USING (fence)
	WHERE scope = tallies.target AND leases.target = tallies.target), 0)`

// tallyAsks counts requests with the number. One that waits is coalesced into the new one; one with which the tick under
// way began is that tick's to end.
func (t *tx) tallyAsks(n reconcile.Fence, targets []reconcile.Key) error {
	_, err := t.exec(`INSERT INTO tallies (target, waiting, requests) SELECT value, ?1, 1 FROM json_each(?2) WHERE true
		ON CONFLICT (target) DO UPDATE SET requests = requests + 1, waiting = excluded.waiting,
			(coalesced, taken) = (SELECT CASE
				WHEN fence = 0 THEN coalesced + (tallies.waiting > 0) + (taken > 0)
				WHEN fence > tallies.waiting THEN coalesced + (tallies.waiting > 0 AND taken > 0)
				ELSE coalesced + 1
			END, CASE
				WHEN fence = 0 THEN 0
				WHEN fence > tallies.waiting AND tallies.waiting > 0 THEN tallies.waiting
				ELSE taken
			END FROM (SELECT iif(tallies.waiting + taken = 0, 0, `+underway+`) AS fence))`, int64(n), list(targets))
	return err
}

// A tallied tick has ended.
type tallied struct {
	Target reconcile.Key
	Fence  reconcile.Fence
	State  reconcile.State // what it is counted as
	Covers bool            // what was asked before it
	Holds  bool            // that back
}

// tallyTicks counts ticks, and what they end: the requests from before their fences, of which the last is answered and the
// others are coalesced into it. Those that have ended alike, as all of a quiet sweep's, are counted together.
func (t *tx) tallyTicks(ends []tallied) error {
	alike := map[tallied]map[reconcile.Key]reconcile.Fence{}
	for _, e := range ends {
		end := tallied{State: e.State, Covers: e.Covers, Holds: e.Holds}
		if alike[end] == nil {
			alike[end] = map[reconcile.Key]reconcile.Fence{}
		}
		alike[end][e.Target] = e.Fence
	}
	for end, fences := range alike {
		if err := t.tallyAlike(end, fences); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) tallyAlike(end tallied, fences map[reconcile.Key]reconcile.Fence) error {
	text, err := json.Marshal(fences)
	if err != nil {
		return err
	}
	known, err := t.exec(`UPDATE tallies SET
			ticks_ok = ticks_ok + (?2 = 'ok'), ticks_failing = ticks_failing + (?2 = 'failing'), ticks_held = ticks_held + (?2 = 'held'),
			ticks_unknown = ticks_unknown + (?2 = 'unknown'), ticks_limited = ticks_limited + (?2 = 'limited'),
			ticks_expired = ticks_expired + (?2 = 'expired'),
			ran = ran + (?3 AND (taken > 0 OR waiting BETWEEN 1 AND fence)),
			held = held + (?4 AND (taken > 0 OR waiting BETWEEN 1 AND fence)),
			coalesced = coalesced + ((?3 OR ?4) AND taken > 0 AND waiting BETWEEN 1 AND fence),
			waiting = iif((?3 OR ?4) AND waiting < fence, 0, waiting),
			taken = iif(?3 OR ?4, 0, taken)
		FROM (SELECT key AS of, value AS fence FROM json_each(?1)) WHERE target = of`, string(text), string(end.State), end.Covers, end.Holds)
	if err != nil || known == int64(len(fences)) {
		return err
	}
	_, err = t.exec(`INSERT INTO tallies (target, ticks_ok, ticks_failing, ticks_held, ticks_unknown, ticks_limited, ticks_expired)
		SELECT key, ?2 = 'ok', ?2 = 'failing', ?2 = 'held', ?2 = 'unknown', ?2 = 'limited', ?2 = 'expired' FROM json_each(?1)
		WHERE key NOT IN (SELECT target FROM tallies)`, string(text), string(end.State))
	return err
}

// tallyHandedOver counts requests whose targets were refused to this process. One that the tick under way began with is
// that tick's to end.
func (t *tx) tallyHandedOver(targets []reconcile.Key) error {
	if len(targets) == 0 {
		return nil
	}
	_, err := t.exec(`UPDATE tallies SET handed_over = handed_over + 1, waiting = 0
		WHERE target IN (SELECT value FROM json_each(?)) AND waiting > `+underway, list(targets))
	return err
}

// tallyStrange counts requests for targets that are not declared.
func (t *tx) tallyStrange(n int) error {
	if n == 0 {
		return nil
	}
	_, err := t.exec(`INSERT INTO tallies (target, requests, dropped) VALUES ('', ?1, ?1)
		ON CONFLICT (target) DO UPDATE SET requests = requests + ?1, dropped = dropped + ?1`, n)
	return err
}

// tallyForgotten adds what was counted for targets that have no standing any more to that of all that are gone. What they still
// had to answer is dropped.
func (t *tx) tallyForgotten() error {
	if _, err := t.exec("INSERT OR IGNORE INTO tallies (target) VALUES ('')"); err != nil {
		return err
	}
	const gone = "FROM tallies WHERE target <> '' AND target NOT IN (SELECT target FROM standings)"
	var sums, names []string
	for _, column := range []string{"requests", "ran", "coalesced", "held", "handed_over", "ticks_ok", "ticks_failing", "ticks_held",
		"ticks_unknown", "ticks_limited", "ticks_expired"} {
		names = append(names, column+" = "+column+" + s_"+column)
		sums = append(sums, "coalesce(sum("+column+"), 0) AS s_"+column)
	}
	_, err := t.exec(`UPDATE tallies SET dropped = dropped + s_dropped, ` + strings.Join(names, ", ") + `
		FROM (SELECT coalesce(sum(dropped + (waiting > 0) + (taken > 0)), 0) AS s_dropped, ` + strings.Join(sums, ", ") + ` ` + gone + `)
		WHERE target = ''`)
	if err == nil {
		_, err = t.exec("DELETE " + gone)
	}
	return err
}
