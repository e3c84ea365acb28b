// Package reconcile is where to begin reading. A web app asks by touching a file; the host trues itself up. The module
// does that at two levels, and each stands alone: a prompt, safe trigger for any oneshot service, and a reconciler that
// is such a service.
//
// # The way of one touch
//
//	the web app commits, reads its ticket, touches the sentinel          trigger.Request
//	systemd starts the service; its gate waits out the floor, writes a
//	durable claim, unlinks what it claimed, publishes its number         reconcile/trigger, cmd/trueup-gate
//	the sweep finds the claim that was made for this very activation     cmd/trueup/sweep.go: order
//	it records what the claim asks of each target                        Reconciler.Sweep, record
//	it leases a target's scopes, all or none, and gets a fence           Ledger.Grant, pool
//	it observes the outside, compares it with what is wanted, and plans  Ticker; package plan, and a kind
//	the breaker holds removals back that are too many                    package plan
//	it records each change before and after it does it                   Run.Check, Run.Do, Decide, Fold
//	it settles: report, what is covered, the lease given back            Run.settlement, Ledger.Settle
//	the sweep shows each target's number, and notes the lowest           cmd/trueup/sweep.go: showTargets; trigger.LagBehind
//	the claim becomes settled, and the ticket is covered that far        trigger.Gate.Settle, coveredBy
//
// # States
//
// A run is a list of events, and its state is their fold: nothing else says what state it is in. A run opens with its
// lease, together with the first thing worth telling; a tick that finds nothing to do leaves no run at all, only a newer
// line about its target. It ends by success, by failure, or by the lapse of its lease. What it held back waits in it for
// a person's approval, which allows those very changes once.
//
// A target is owed while the last number asked of it is above the fence of the last tick that covered it. It is ticked
// by every sweep until it is covered, whatever stood in the way: failed, held, reserved elsewhere, rate-limited.
//
// A work item is a person's or a script's hold of scopes, in the same exclusion: IN_PROGRESS while its session is live,
// then BLOCKED or REVIEW, which keep the scopes until a person decides, and DONE.
//
// # Promises
//
// At any time at most one live lease covers a scope; the database refuses a second one by itself. Fences only grow, so
// of two holders the later has the greater. Nothing is recorded under a lease that is lost, and before each external write
// the lease is looked at, in the ledger and by every clock of the process, so that one that was suspended for longer than its
// lease writes nothing more; a command that is under way then is ended within a second. What cannot be recorded is not done. A ticket is covered exactly when a tick has succeeded that
// observed after the ticket was read. Nothing is removed because something could not be read.
//
// # What is not promised
//
// Not exactly once: a tick can die between a write to the outside and its record. Changes that must not be repeated are
// marked before they are begun, and a later tick asks the outside what became of them. Not that a process that hangs
// between its look at the lease and its write is stopped: only the other end can do that, by comparing fences. Not an
// order among targets. And an approval is for what was planned, not for what the outside has become since.
//
// # The module
//
//	reconcile            targets, runs, leases, sweeps; the standard library only. Ledger, WorkLedger and Ticker are its ports
//	reconcile/plan       makes a Ticker of a kind: breaker, approval, recovery markers
//	reconcile/policy     reads what is wanted
//	reconcile/secret     what must not be recorded
//	reconcile/command    the kind that runs commands
//	reconcile/forgejo    the kind that keeps a Forgejo or Gitea server; reconcile/httpapi is how all that speak HTTP behave
//	reconcile/config     the configuration file
//	reconcile/export     the lines in which a ledger leaves one store and comes into another
//	reconcile/sqlite     the ledger on one host; reconcile/ledgertest is what every ledger must show, reconcile/kindtest
//	                     what every kind must; reconcile/simtest runs the domain through simulated worlds
//	reconcile/postgres   the ledger that several hosts share; reconcile/node is who these hosts are
//	reconcile/registry   runs that wait with a plan of their own, for programs that give work to nodes through the ledger
//	reconcile/publish    alarms, metrics and the status page
//	reconcile/trigger    gate, claim, settle, tickets, and the watch that needs no systemd
//	units                the trigger on systemd
//	cmd                  trueup and trueup-gate; only here are things wired together
//
// Read next: sweep.go, tick.go and run.go here, which are the reconciler from top to bottom; then package command as the
// simplest kind; docs/design.md for the invariants and the test that holds each. The tests of this package also hold the
// shape of the whole module: who may import whom, how long a function may be, whether the pages name what exists.
package reconcile
