-- How requests and ticks have ended, counted as they end. A request is one ask of one target; waiting is the number of the
-- one that no tick has taken up, taken that of one which a tick began with and has not ended. The row without a target
-- holds what was counted for targets that are gone, and requests for such as never were.
CREATE TABLE tallies (
	target        TEXT    NOT NULL PRIMARY KEY,
	waiting       INTEGER NOT NULL DEFAULT 0,
	taken         INTEGER NOT NULL DEFAULT 0,
	requests      INTEGER NOT NULL DEFAULT 0,
	ran           INTEGER NOT NULL DEFAULT 0,
	coalesced     INTEGER NOT NULL DEFAULT 0,
	held          INTEGER NOT NULL DEFAULT 0,
	handed_over   INTEGER NOT NULL DEFAULT 0,
	dropped       INTEGER NOT NULL DEFAULT 0,
	ticks_ok      INTEGER NOT NULL DEFAULT 0,
	ticks_failing INTEGER NOT NULL DEFAULT 0,
	ticks_held    INTEGER NOT NULL DEFAULT 0,
	ticks_unknown INTEGER NOT NULL DEFAULT 0,
	ticks_limited INTEGER NOT NULL DEFAULT 0,
	ticks_expired INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO tallies (target, waiting, requests) SELECT target, asked, 1 FROM standings WHERE asked > covered;
