-- What the tables and columns mean, and which of it is a promise, stands in docs/ledger.md.
-- Times are text in UTC with six decimals, so that they read, sort and compare as they are.

CREATE TABLE sequence (last INTEGER NOT NULL) STRICT;
INSERT INTO sequence VALUES (0);

CREATE TABLE runs (
	fence  INTEGER PRIMARY KEY,
	run    TEXT NOT NULL UNIQUE,
	target TEXT NOT NULL,
	opened TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_target ON runs (target);

CREATE TABLE events (
	run  TEXT    NOT NULL,
	seq  INTEGER NOT NULL CHECK (seq > 0),
	at   TEXT    NOT NULL,
	type TEXT    NOT NULL,
	data TEXT    NOT NULL,
	PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
	fence   INTEGER PRIMARY KEY,
	run     TEXT NOT NULL UNIQUE,
	target  TEXT NOT NULL,
	holder  TEXT NOT NULL,
	session TEXT NOT NULL,
	boot    TEXT NOT NULL,
	reason  TEXT NOT NULL,
	asked   TEXT,
	since   TEXT NOT NULL,
	until   TEXT NOT NULL
) STRICT;
CREATE INDEX leases_by_until ON leases (until);
CREATE INDEX leases_by_session ON leases (session, boot);

-- The primary key is what refuses two live leases on one scope.
CREATE TABLE scopes (
	scope    TEXT    NOT NULL PRIMARY KEY,
	fence    INTEGER NOT NULL REFERENCES leases ON DELETE CASCADE,
	position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX scopes_by_fence ON scopes (fence);

CREATE TABLE standings (
	target        TEXT    NOT NULL PRIMARY KEY,
	asked         INTEGER NOT NULL,
	asked_at      TEXT,
	reason        TEXT    NOT NULL,
	claim_epoch   TEXT,
	claim_n       INTEGER,
	claim_at      TEXT,
	claim_asked   INTEGER NOT NULL,
	covered       INTEGER NOT NULL,
	covered_at    TEXT,
	settled_epoch TEXT,
	settled_n     INTEGER,
	settled_at    TEXT,
	ticked        TEXT,
	failures      INTEGER NOT NULL,
	not_before    TEXT,
	since         TEXT,
	state         TEXT    NOT NULL,
	note          TEXT    NOT NULL,
	run           TEXT    NOT NULL,
	changes       INTEGER NOT NULL,
	policy        TEXT    NOT NULL,
	good          TEXT,
	fingerprint   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
	family   TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	value    BLOB    NOT NULL,
	expires  TEXT,
	PRIMARY KEY (family, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_by_expiry ON records (expires) WHERE expires IS NOT NULL;

CREATE TABLE logs (
	id     INTEGER PRIMARY KEY,
	run    TEXT    NOT NULL,
	at     TEXT    NOT NULL,
	stream TEXT    NOT NULL,
	text   TEXT    NOT NULL,
	cut    INTEGER NOT NULL
) STRICT;
CREATE INDEX logs_by_run ON logs (run);

CREATE VIEW who_holds AS
SELECT scope, holder, run, target, fence, since, until, reason
FROM scopes JOIN leases USING (fence)
WHERE until > strftime('%Y-%m-%dT%H:%M:%f', 'now')
ORDER BY fence, position;

-- A run is open while it has a lease: whatever ends the lease closes the run in the same transaction. It waits for
-- approval while the record of its target's hold names it and has no answer, however the run has ended.
CREATE VIEW runs_now AS
WITH holds AS (
	SELECT key AS target, CAST(value AS TEXT) AS value FROM records WHERE family = 'held'
), waiting AS (
	SELECT target, json_extract(value, '$.run') AS run, json_extract(value, '$.why') AS why
	FROM holds WHERE coalesce(json_extract(value, '$.answer'), '') = ''
)
SELECT runs.run, runs.target, CASE WHEN leases.run IS NULL THEN 'held' ELSE 'running' END AS phase, runs.opened, runs.fence,
	(SELECT count(*) FROM events WHERE run = runs.run) AS events, waiting.why, leases.holder, leases.until
FROM (SELECT run FROM leases UNION SELECT run FROM waiting) JOIN runs USING (run)
	LEFT JOIN leases ON leases.run = runs.run
	LEFT JOIN waiting ON waiting.run = runs.run AND waiting.target = runs.target
ORDER BY runs.fence;
