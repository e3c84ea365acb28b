// Package kindtest is the behaviour that every kind must show, as a suite that the kind's own tests run over an outside of
// theirs: a fake, or the real thing.
//
// The suite drives the kind through package plan, the reconciler and a real ledger, so it shows what operators get. It
// stops a tick at every call that the tick makes, to the ledger and to the kind, by cancelling it and by killing it. The
// calls are counted, not listed: a new one joins by itself.
//
// Over all of its ticks the suite holds that no two external writes follow one look at the lease, and that none follows a
// look that failed.
//
// Org is a worked example of a kind, and of an outside that the suite can run on.
package kindtest
