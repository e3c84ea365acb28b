-- What the claims of each trigger have asked of a target: the highest, the last number that one of them drew, and the
-- highest of which all is covered. It follows from what standings say of the trigger that asked last, whoever writes that.
CREATE TABLE claims (
	target     TEXT    NOT NULL,
	epoch      TEXT    NOT NULL,
	n          INTEGER NOT NULL,
	at         TEXT,
	asked      INTEGER NOT NULL,
	settled_n  INTEGER,
	settled_at TEXT,
	PRIMARY KEY (target, epoch)
) STRICT, WITHOUT ROWID;
INSERT INTO claims SELECT target, claim_epoch, claim_n, claim_at, claim_asked,
	iif(settled_epoch = claim_epoch, settled_n, NULL), iif(settled_epoch = claim_epoch, settled_at, NULL)
	FROM standings WHERE claim_epoch IS NOT NULL;
INSERT INTO claims SELECT target, settled_epoch, settled_n, settled_at, 0, settled_n, settled_at
	FROM standings WHERE settled_epoch IS NOT NULL AND settled_epoch IS NOT claim_epoch;

-- Standings are replaced when a tick is settled, and updated when something is asked.
CREATE TRIGGER standings_settled AFTER INSERT ON standings BEGIN
	INSERT INTO claims (target, epoch, n, at, asked)
		SELECT new.target, new.claim_epoch, new.claim_n, new.claim_at, new.claim_asked WHERE new.claim_epoch IS NOT NULL
		ON CONFLICT DO UPDATE SET n = excluded.n, at = excluded.at, asked = excluded.asked WHERE excluded.asked > asked;
	UPDATE claims SET settled_n = n, settled_at = at WHERE target = new.target AND asked < new.covered AND settled_n IS NOT n;
END;
CREATE TRIGGER standings_asked AFTER UPDATE OF claim_asked ON standings WHEN new.claim_asked > old.claim_asked BEGIN
	INSERT INTO claims (target, epoch, n, at, asked) VALUES (new.target, new.claim_epoch, new.claim_n, new.claim_at, new.claim_asked)
		ON CONFLICT DO UPDATE SET at = iif(excluded.n >= n, excluded.at, at), n = max(n, excluded.n), asked = excluded.asked;
END;
CREATE TRIGGER standings_gone AFTER DELETE ON standings BEGIN
	DELETE FROM claims WHERE target = old.target;
END;

-- The host whose process holds a lease, where several share a ledger.
ALTER TABLE leases ADD COLUMN node TEXT NOT NULL DEFAULT '';
