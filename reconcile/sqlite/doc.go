// Package sqlite keeps a ledger in one SQLite file on a local disk, for the processes of one host.
//
// Each write is one transaction: it takes the write lock (a lock file first, since queueing there is fair and cheap,
// then SQLite's own), lapses what has expired or whose holder is dead, does its work, and commits with synchronous=FULL.
// Readers never wait for writers. Nothing outside the database's folder is touched while a transaction is open.
//
// Beside the database ledger.db stand:
//
//	ledger.db-wal, ledger.db-shm  SQLite's own; they stay, so that who may only read can
//	ledger.db.lock               the write lock
//	ledger.db.sessions/          one file a process that holds leases, locked while it lives
//	ledger.db.fence              the last fence drawn, and by which file: a copy or a restored backup goes on after it
//
// A lease ends with its process: whoever writes next finds that the lock of the session is free, and lapses the lease
// whatever its time. Process numbers play no part, so neither reuse of numbers nor their namespaces confuse it; a lock
// goes with the last descriptor of the open file, and no child that is started inherits one.
//
// What is not promised: a stopped process that goes on after its lease has lapsed by time can still do an external write
// that it had checked before. Only the fence at the other end refuses that one.
package sqlite
