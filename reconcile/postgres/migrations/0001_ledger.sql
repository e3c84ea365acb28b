-- Tables and columns are those of the SQLite store, so that a ledger can move from one to the other; docs/ledger.md says what
-- they mean, and which of it is a promise. Only receipts, the clock and the home are this store's own. What each tick updates
-- has room for it in its page, and what comes and goes with each tick is vacuumed by how much of it is dead, few rows as it has.

-- The store's clock, which is the server's. Tests put another in its place, in the schema of their own.
CREATE FUNCTION ledger_clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

-- The one row is locked by each transaction that draws a number, until its end: numbers come in the order of commits. Home is
-- where it last drew, see ledger_home.
CREATE TABLE sequence (
	last    bigint NOT NULL,
	lineage text   NOT NULL,
	home    text   NOT NULL DEFAULT ''
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- It has one row, whose number never goes back.
CREATE UNIQUE INDEX sequence_is_one ON sequence ((true));
CREATE FUNCTION sequence_goes_back() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
	RAISE EXCEPTION 'the last number cannot go back from % to %', old.last, new.last;
END$$;
CREATE TRIGGER goes_back BEFORE UPDATE ON sequence FOR EACH ROW WHEN (new.last < old.last) EXECUTE FUNCTION sequence_goes_back();

-- The server, the database and the table: one of them is another after a dump was restored.
CREATE FUNCTION ledger_place() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
	SELECT (SELECT system_identifier FROM pg_control_system()) || '-' || (SELECT oid FROM pg_database WHERE datname = current_database())
		|| '-' || 'sequence'::regclass::oid
$$;
-- With the server's timeline, which is another after a standby was promoted, or a recovery to a point in time.
CREATE FUNCTION ledger_home() RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
	SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END || '-' || ledger_place()
$$;
INSERT INTO sequence VALUES (0, md5(random()::text || clock_timestamp()::text), ledger_home());

-- What tells whether a transaction was committed whose answer was lost.
CREATE TABLE receipts (
	id        text COLLATE "C" PRIMARY KEY,
	committed boolean          NOT NULL,
	at        timestamptz      NOT NULL DEFAULT clock_timestamp()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX receipts_by_age ON receipts (at);

CREATE TABLE runs (
	fence  bigint      PRIMARY KEY,
	run    text COLLATE "C" NOT NULL UNIQUE,
	target text COLLATE "C" NOT NULL,
	opened timestamptz NOT NULL
);
CREATE INDEX runs_by_target ON runs (target, fence);

CREATE TABLE events (
	run  text COLLATE "C" NOT NULL,
	seq  integer     NOT NULL CHECK (seq > 0),
	at   timestamptz NOT NULL,
	type text COLLATE "C" NOT NULL,
	data text        NOT NULL,
	PRIMARY KEY (run, seq)
);

CREATE TABLE leases (
	fence   bigint      PRIMARY KEY,
	run     text COLLATE "C" NOT NULL UNIQUE,
	target  text COLLATE "C" NOT NULL,
	holder  text        NOT NULL,
	session text COLLATE "C" NOT NULL,
	boot    text        NOT NULL DEFAULT '',
	reason  text        NOT NULL,
	asked   timestamptz,
	since   timestamptz NOT NULL,
	until   timestamptz NOT NULL,
	node    text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX leases_by_until ON leases (until);
CREATE INDEX leases_by_session ON leases (session);

CREATE TABLE work_items (
	item text COLLATE "C" PRIMARY KEY
);

CREATE TABLE work_events (
	item text COLLATE "C" NOT NULL,
	seq  integer     NOT NULL CHECK (seq > 0),
	at   timestamptz NOT NULL,
	type text COLLATE "C" NOT NULL,
	data text        NOT NULL,
	PRIMARY KEY (item, seq)
);

CREATE TABLE work_sessions (
	fence  bigint      PRIMARY KEY,
	item   text COLLATE "C" NOT NULL REFERENCES work_items ON DELETE CASCADE,
	holder text        NOT NULL,
	since  timestamptz NOT NULL,
	until  timestamptz,
	state  text COLLATE "C" NOT NULL CHECK (state IN ('active', 'ended', 'expired'))
);
CREATE INDEX work_sessions_by_item ON work_sessions (item);
CREATE INDEX work_sessions_by_until ON work_sessions (until) WHERE state = 'active';
-- One active session an item.
CREATE UNIQUE INDEX work_sessions_active ON work_sessions (item) WHERE state = 'active';

-- The primary key is what refuses a second holder of a scope, whether tick or work item.
CREATE TABLE scopes (
	scope    text COLLATE "C" PRIMARY KEY,
	fence    bigint  REFERENCES leases ON DELETE CASCADE,
	position integer NOT NULL,
	item     text COLLATE "C" REFERENCES work_items ON DELETE CASCADE,
	CHECK ((fence IS NULL) <> (item IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX scopes_by_fence ON scopes (fence) WHERE fence IS NOT NULL;
CREATE INDEX scopes_by_item ON scopes (item) WHERE item IS NOT NULL;

CREATE TABLE standings (
	target        text COLLATE "C" PRIMARY KEY,
	asked         bigint  NOT NULL,
	asked_at      timestamptz,
	reason        text    NOT NULL,
	claim_epoch   text,
	claim_n       bigint,
	claim_at      timestamptz,
	claim_asked   bigint  NOT NULL,
	covered       bigint  NOT NULL,
	covered_at    timestamptz,
	settled_epoch text,
	settled_n     bigint,
	settled_at    timestamptz,
	ticked        timestamptz,
	failures      integer NOT NULL,
	not_before    timestamptz,
	since         timestamptz,
	state         text COLLATE "C" NOT NULL,
	note          text    NOT NULL,
	run           text COLLATE "C" NOT NULL,
	changes       integer NOT NULL,
	policy        text    NOT NULL,
	good          text,
	fingerprint   text    NOT NULL
) WITH (fillfactor = 70);

-- What the claims of each trigger have asked of a target: the highest, the last number that one of them drew, and the
-- highest of which all is covered.
CREATE TABLE claims (
	target     text COLLATE "C" NOT NULL,
	epoch      text COLLATE "C" NOT NULL,
	n          bigint NOT NULL,
	at         timestamptz,
	asked      bigint NOT NULL,
	settled_n  bigint,
	settled_at timestamptz,
	PRIMARY KEY (target, epoch)
) WITH (fillfactor = 70);
CREATE INDEX claims_by_epoch ON claims (epoch);

CREATE TABLE tallies (
	target        text COLLATE "C" PRIMARY KEY,
	waiting       bigint NOT NULL DEFAULT 0,
	taken         bigint NOT NULL DEFAULT 0,
	requests      bigint NOT NULL DEFAULT 0,
	ran           bigint NOT NULL DEFAULT 0,
	coalesced     bigint NOT NULL DEFAULT 0,
	held          bigint NOT NULL DEFAULT 0,
	handed_over   bigint NOT NULL DEFAULT 0,
	dropped       bigint NOT NULL DEFAULT 0,
	ticks_ok      bigint NOT NULL DEFAULT 0,
	ticks_failing bigint NOT NULL DEFAULT 0,
	ticks_held    bigint NOT NULL DEFAULT 0,
	ticks_unknown bigint NOT NULL DEFAULT 0,
	ticks_limited bigint NOT NULL DEFAULT 0,
	ticks_expired bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE records (
	family   text COLLATE "C" NOT NULL,
	key      text COLLATE "C" NOT NULL,
	revision bigint NOT NULL,
	value    bytea  NOT NULL,
	expires  timestamptz,
	PRIMARY KEY (family, key)
);
CREATE INDEX records_by_expiry ON records (expires) WHERE expires IS NOT NULL;

CREATE TABLE logs (
	id     bigint      GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	run    text COLLATE "C" NOT NULL,
	at     timestamptz NOT NULL,
	stream text        NOT NULL,
	text   text        NOT NULL,
	cut    integer     NOT NULL
);
CREATE INDEX logs_by_run ON logs (run);

-- How many bytes of logs there are, so that a quota needs no count of them all.
CREATE TABLE usage (logs bigint NOT NULL);
INSERT INTO usage VALUES (0);
CREATE FUNCTION logs_come() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$BEGIN
	UPDATE usage SET logs = logs + coalesce((SELECT sum(octet_length(text)) FROM came), 0);
	RETURN NULL;
END$$;
CREATE FUNCTION logs_go() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$BEGIN
	UPDATE usage SET logs = logs - coalesce((SELECT sum(octet_length(text)) FROM gone), 0);
	RETURN NULL;
END$$;
CREATE TRIGGER logs_come AFTER INSERT ON logs REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION logs_come();
CREATE TRIGGER logs_go AFTER DELETE ON logs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION logs_go();

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
		WHEN work_sessions.state = 'active' AND until <= (SELECT ledger_clock()) THEN 'BLOCKED'
		WHEN e.type IN ('started', 'checkpointed', 'unblocked') THEN 'IN_PROGRESS'
		WHEN e.type = 'in_review' THEN 'REVIEW'
		ELSE 'BLOCKED'
	END AS state,
	holder, session.fence,
	CASE WHEN work_sessions.state = 'active' THEN until END AS until,
	(SELECT string_agg(scope, ' ' ORDER BY position) FROM scopes WHERE scopes.item = latest.item) AS scopes,
	s.data::json ->> 'note' AS reason,
	CASE WHEN e.type <> 'started' THEN e.data::json ->> 'note' END AS note,
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
	SELECT scope, holder, run, target, leases.fence, since, until, reason, NULL::text AS item, position
	FROM scopes JOIN leases USING (fence)
	WHERE until > (SELECT ledger_clock())
	UNION ALL
	SELECT scope, holder, NULL, NULL, work_now.fence, work_now.since, until, reason, work_now.item, position
	FROM scopes JOIN work_now USING (item)
) AS held
ORDER BY fence, position;

-- A run is open while it has a lease: whatever ends the lease closes the run in the same transaction. It waits for
-- approval while the record of its target's hold names it and has no answer, however the run has ended.
CREATE VIEW runs_now AS
WITH waiting AS (
	SELECT key AS target, value ->> 'run' AS run, value ->> 'why' AS why
	FROM (SELECT key, convert_from(value, 'UTF8')::json AS value FROM records WHERE family = 'held') AS holds
	WHERE coalesce(value ->> 'answer', '') = ''
)
SELECT runs.run, runs.target, CASE WHEN leases.run IS NULL THEN 'held' ELSE 'running' END AS phase, runs.opened, runs.fence,
	(SELECT count(*) FROM events WHERE events.run = runs.run) AS events, waiting.why, leases.holder, leases.until
FROM (SELECT run FROM leases UNION SELECT run FROM waiting) AS open JOIN runs USING (run)
	LEFT JOIN leases ON leases.run = runs.run
	LEFT JOIN waiting ON waiting.run = runs.run AND waiting.target = runs.target
ORDER BY runs.fence;
