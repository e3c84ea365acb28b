// Package fleet holds the tests of several hosts that share a ledger: each a network namespace with a trueup watch of its
// own, one PostgreSQL server between them, and weather: kills, hosts that stand still for longer than a lease, cut
// networks, a database that crashes.
//
// What the hosts do they do to an outside of the test's, which keeps its own books: who wrote what, under which fence, and
// what was live when. Nothing is asserted by the word of trueup's own ledger alone.
//
// TRUEUP_PROVE=1 runs the long form, TRUEUP_SEED=N repeats the weather.
package fleet
