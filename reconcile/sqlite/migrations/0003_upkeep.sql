-- The lineage names the sequence of fences: a database that goes on from a copy has another one than its original.
ALTER TABLE sequence ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
UPDATE sequence SET lineage = lower(hex(randomblob(8)));

-- How many bytes of logs there are, so that a quota needs no count of them all.
CREATE TABLE usage (logs INTEGER NOT NULL) STRICT;
INSERT INTO usage SELECT coalesce(sum(octet_length(text)), 0) FROM logs;
CREATE TRIGGER logs_come AFTER INSERT ON logs BEGIN
	UPDATE usage SET logs = logs + octet_length(new.text);
END;
CREATE TRIGGER logs_go AFTER DELETE ON logs BEGIN
	UPDATE usage SET logs = logs - octet_length(old.text);
END;
