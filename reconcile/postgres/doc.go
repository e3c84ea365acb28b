// Package postgres keeps a ledger in a schema of a PostgreSQL database, for the processes of several hosts. It needs a role
// that may create tables in the schema, and no more: no superuser, no extension.
//
// Each write is one transaction of two round trips. The first begins it, locks what it is about, and reads what it is
// decided on; the decision is made here, as package reconcile has it; the second writes all of it at once and commits. So
// nothing of a session outlives a transaction, and a transaction pooler may stand between. No transaction is open while
// anything is done outside, and one whose process is stopped in its midst is ended by the server within seconds: what it
// reads under a lock is little, so that its answer never waits for the process. What may be much, such as what is known of
// many targets, is read before or after.
//
// What draws a number, for a lease or an ask, locks the one row of the sequence until it is committed: numbers come in the
// order of commits. All else locks the rows that it is about, always in the same order: sequence, leases by fence, records
// by key, standings, claims and tallies by target, and how many logs there are (usage). What the server ends all the same
// is done again, a few times.
//
// Who loses the connection while it commits cannot know what came of it. So each transaction leaves a receipt under a name
// that nobody else has: whoever is in doubt tries to leave it once more, and it was committed if that is refused.
//
// The clock is the server's. A process is known by a random session; nobody can see from another host whether it lives, so
// its leases lapse by time, when it closes the store, or when its node begins another session (Supersede).
package postgres
