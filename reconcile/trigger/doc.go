// Package trigger starts a privileged run soon after a web app has asked for it by touching a file, at most
// once a floor, and loses no request whatever is killed when.
//
// The way of one touch:
//
//	the web app commits, reads its ticket (Status.Ticket), and touches       Request, Touch
//	the path unit, or a Watcher, sees the file and starts an activation      Watcher.Watch
//	the gate waits out the floor or the backoff                              Gate.Claim: wait, await
//	it reads what the spool asks for and writes the claim, durably           record, writeDurable
//	it unlinks what it claimed and publishes the claim's number              spool.take, show
//	the run reads the world and trues it up                                  the service's ExecStart=
//	the claim becomes settled, and the ticket is covered                     Gate.Settle, Status.Covers
//
// # Promises
//
// A write committed before a touch is read by some successful run that claimed after the touch, provided that
// runs succeed eventually. The claim is written before anything is unlinked and is removed only by a success, so
// at every instant the request stands in the spool or in the claim, and both start a run by themselves.
//
// A ticket is covered only once such a run has succeeded. The number is published after the last unlink and
// before the run reads: who reads a lower one committed before the run's reading, who reads this one touches
// after the unlink and is taken by a later claim. Where a number could not be published it is never shown as
// settled.
//
// No two claims are closer than the floor after a success; a failed run is retried after a backoff that doubles,
// and a fresh touch shortens it to the floor. Time is the boot clock's: neither a wall clock that jumps nor a
// suspend changes a wait.
//
// The spool is hostile. Whatever it holds, an activation removes it, puts it aside, or lasts at least a floor;
// nothing outside the spool is opened, created or changed; names are compared with a pattern and never used as
// paths; contents are never read.
//
// # What is not promised
//
// Not exactly once: a run may be repeated after a kill, so it has to be idempotent. Not an order among requests.
// Not that a touch in a folder that was moved away under a bind mount arrives. And a request by name is read by
// the run it asks for, but tickets are covered by runs for everything only, unless the run shows numbers of its targets
// (ShowTargets, Status.CoversTarget).
package trigger
