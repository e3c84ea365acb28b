// Package simtest runs the reconciler in small worlds that are made of chance, and looks for a promise that does not hold.
// It has tests only.
//
// # A world
//
// The code of the domain is the real one: sweeps and ticks, the pool, the keeper of leases, runs and their settlement, and
// package plan's Ticker. Everything around it is played, in the false time of testing/synctest: a ledger in memory that
// passes ledgertest, a clock of that ledger's which leaps, a host that sleeps, processes that are killed, told to stop, or frozen for longer
// than their leases, calls that fail before or after they took effect, outsides that refuse, lose answers, go dark or ask
// for patience, a trigger with its claims and tickets, web apps that ask, people who approve, and people who work on items and
// go away.
//
// There are four sorts of worlds. In a storm everything happens. In a lonely world there is only the trigger, and no
// timer heals what it forgets. In a crowd processes meet at every scope, and nothing else goes wrong: what is asked for
// must be done by the time that the last of them has ended. In a world of grace processes are told to stop while they run
// commands that write on and take their time to end, and the ledger is out of reach for longer than a lease.
//
// # The referee
//
// The referee keeps a book of leases of its own, from what passes the ports, and looks at each step: no scope is leased to
// two, fences grow, no lease is renewed, found live or written under once it is over, no write reaches the outside under
// such a lease, writes to a scope come in the order of their fences, no number shows a ticket covered whose write is not
// outside, no invitation is sent twice, no plan is raised twice. In the end every request is covered, every run can be
// read, and none is left open.
//
// Between a look at the lease and the write after it a process can hang, and only the other end can refuse what comes then.
// So there are worlds of two kinds: in those whose outside compares fences a process may freeze there, in the others not.
//
// # Repeating a world
//
// Everything in a world comes from its seed, and no two things in it happen at one instant, so a seed is a world.
//
//	TRUEUP_SEED=17 go test -run TestWorlds ./reconcile/simtest     one world, with what happened in it
//	TRUEUP_PROVE=1 go test -timeout 1h ./reconcile/simtest         thousands, others each time
//
// A failure names its seed. TestPlantedFaults shows what the referee finds: each fault in a port that is known to break a
// promise has to be found.
package simtest
