-- People and scripts hold scopes as ticks do: a scope belongs to a lease or to a work item.

-- Items that are not done. An item's state is the fold of its events.
CREATE TABLE work_items (
	item TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE work_events (
	item TEXT    NOT NULL,
	seq  INTEGER NOT NULL CHECK (seq > 0),
	at   TEXT    NOT NULL,
	type TEXT    NOT NULL,
	data TEXT    NOT NULL,
	PRIMARY KEY (item, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE work_sessions (
	fence  INTEGER PRIMARY KEY,
	item   TEXT NOT NULL REFERENCES work_items ON DELETE CASCADE,
	holder TEXT NOT NULL,
	since  TEXT NOT NULL,
	until  TEXT,
	state  TEXT NOT NULL CHECK (state IN ('active', 'ended', 'expired'))
) STRICT;
CREATE INDEX work_sessions_by_item ON work_sessions (item);
-- One active session an item.
CREATE UNIQUE INDEX work_sessions_active ON work_sessions (item) WHERE state = 'active';

DROP VIEW who_holds;
ALTER TABLE scopes RENAME TO scopes_before;
DROP INDEX scopes_by_fence;

-- The primary key is what refuses a second holder of a scope, whether tick or work item.
CREATE TABLE scopes (
	scope    TEXT    NOT NULL PRIMARY KEY,
	fence    INTEGER REFERENCES leases ON DELETE CASCADE,
	position INTEGER NOT NULL,
	item     TEXT    REFERENCES work_items ON DELETE CASCADE,
	CHECK ((fence IS NULL) <> (item IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO scopes (scope, fence, position) SELECT scope, fence, position FROM scopes_before;
DROP TABLE scopes_before;
CREATE INDEX scopes_by_fence ON scopes (fence) WHERE fence IS NOT NULL;
CREATE INDEX scopes_by_item ON scopes (item) WHERE item IS NOT NULL;

CREATE VIEW work_now AS
WITH latest AS (
	SELECT work_items.item, max(seq) AS seq FROM work_items JOIN work_events USING (item) GROUP BY work_items.item
), started AS (
	SELECT work_items.item, max(seq) AS seq FROM work_items JOIN work_events USING (item) WHERE type = 'started' GROUP BY work_items.item
), session AS (
	SELECT item, max(fence) AS fence FROM work_sessions GROUP BY item
)
SELECT latest.item,
	CASE
		WHEN work_sessions.state = 'active' AND until <= strftime('%Y-%m-%dT%H:%M:%f', 'now') THEN 'BLOCKED'
		WHEN e.type IN ('started', 'checkpointed', 'unblocked') THEN 'IN_PROGRESS'
		WHEN e.type = 'in_review' THEN 'REVIEW'
		ELSE 'BLOCKED'
	END AS state,
	holder, session.fence,
	CASE WHEN work_sessions.state = 'active' THEN until END AS until,
	(SELECT group_concat(scope, ' ') FROM (SELECT scope FROM scopes WHERE item = latest.item ORDER BY position)) AS scopes,
	json_extract(s.data, '$.note') AS reason,
	CASE WHEN e.type <> 'started' THEN json_extract(e.data, '$.note') END AS note,
	s.at AS since, e.at AS latest
FROM latest
JOIN work_events AS e ON e.item = latest.item AND e.seq = latest.seq
JOIN started ON started.item = latest.item
JOIN work_events AS s ON s.item = latest.item AND s.seq = started.seq
JOIN session ON session.item = latest.item
JOIN work_sessions ON work_sessions.fence = session.fence
ORDER BY latest.item;

CREATE VIEW who_holds AS
SELECT scope, holder, run, target, fence, since, until, reason, item FROM (
	SELECT scope, holder, run, target, leases.fence, since, until, reason, NULL AS item, position
	FROM scopes JOIN leases USING (fence)
	WHERE until > strftime('%Y-%m-%dT%H:%M:%f', 'now')
	UNION ALL
	SELECT scope, holder, NULL, NULL, work_now.fence, work_now.since, until, reason, work_now.item, position
	FROM scopes JOIN work_now USING (item)
)
ORDER BY fence, position;
