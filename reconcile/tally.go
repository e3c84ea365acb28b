package reconcile

// A Tally counts, since the ledger was made, how the requests of a target and its ticks have ended. Every request ends in
// one outcome, or is open: Requests is the sum of Ran, Coalesced, Held, HandedOver, Dropped and Open. Numbers only grow,
// but for Open.
//
// The tally without a target is that of targets that are no longer declared, and of requests for such as never were.
type Tally struct {
	Target     Key
	Requests   uint64           // asks recorded: one for each target of each Ask
	Ran        uint64           // a tick that began after it has succeeded
	Coalesced  uint64           // a later request took its place, and answers for both
	Held       uint64           // its tick held something back for a person's approval
	HandedOver uint64           // another process or a person held a scope, and whoever gives that back looks for it
	Dropped    uint64           // its target is not declared
	Open       uint64           // it waits, its tick is under way, or has failed and is tried again
	Ticks      map[State]uint64 // by the state that they left: those of TickEnds
}

// Lapse counts ticks whose lease was lost: the process died, or did not renew. Their targets are Failing.
const Lapse State = "expired"

// TickEnds are the ways in which ticks end.
func TickEnds() []State { return []State{OK, Failing, Held, Uncertain, Limited, Lapse} }
