// Package registry hands out work that comes with a plan of its own: somebody asks for a target and says what is to be done,
// and whoever is granted the target gets that plan, unchanged, however often either side is restarted meanwhile. It is a
// layer over a ledger's leases and records, for programs that are linked with it; there is no server of it.
//
// A request waits until its target is granted. One target has one run that waits: a later request takes the place of an
// earlier one and answers for both, so that nothing piles up while nobody comes. What has been granted is no longer touched
// by requests.
//
// The grant is a lease with its fence. Checkpoints and the report are written under that fence, in one transaction with the
// look at it: under one that is lost or made up nothing is recorded. The fence belongs to no connection: who knows it goes
// on after a restart with the plan that was granted, as long as its session does and the lease has not lapsed. A lease that
// lapses puts the plan back among those that wait, with the last checkpoint, and so does a failure, after a pause, unless it
// is final. What was tried longest ago is granted first, so that nothing that fails keeps others waiting.
//
// Not promised: that work is done once. Who is granted a plan again finds out from the checkpoint, and from the outside, how
// far it came.
package registry
