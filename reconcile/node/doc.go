// Package node knows the hosts that share a ledger.
//
// A host enrols once. It makes a key pair, keeps it in the trigger's state folder, and leaves a record in the ledger: its
// name, its public key, its labels. From then on each process that may tick targets begins a session as that node. A session
// has a number that grows in the record under compare-and-swap, and a random mark beside it, which the folder keeps too. So
// a folder that was copied to a second host is noticed: whichever of the two comes second finds a mark in the record that it
// never made, and is refused. A ledger that came back from a backup is told from that by its number, which is behind the folder's.
//
// Processes of one host share a session while any of them lives, which a lock in the folder tells. The first one to begin
// when none does supersedes what the node held from this very folder since the machine was booted: whoever held it is dead, so
// that is given back at once and not when it would lapse. What was held before a reboot, or from a folder of which this one
// may be a copy, lapses: nobody can see from here that its holder is dead.
//
// Who is present is for the store's clock to say: each session leaves a record that expires, and a node whose record has
// expired is absent. Times that are shown of absent nodes are their own.
//
// Not promised: that a node which is absent does nothing. Leases and fences see to exclusion; what is known of nodes only
// says who may be given targets, and whom to ask about it.
package node
