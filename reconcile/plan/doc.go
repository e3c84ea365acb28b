// Package plan makes a reconcile.Ticker of a kind that observes, plans and applies. What is dangerous about changing the
// outside is dealt with here, once for all kinds.
//
// One tick, from top to bottom:
//
//	read the policy, observe        what cannot be read is unknown, never empty: nothing is done, and the tick fails
//	ask after markers               a change that an earlier run began and never told the end of: did it happen?
//	plan, and judge the plan        what is done, what waits for a person, what is left alone (judge)
//	record the plan                 unless nothing is to be done and nothing new waits: then the tick leaves no trace
//	do each change                  marker, look at the lease, apply, record; a failed one stops no other
//	observe and plan again          what is still wanted after it was done did not take, and has failed
//
// # What waits for a person
//
// Removals wait when they are more than the breaker allows, or when the target has never been true before; all of them,
// while the rest of the plan is done. So do changes that the kind marks with Confirm, and changes that are not idempotent
// and may have been done already, where the kind cannot ask. What waits is raised once, by the run that finds it, and
// stays quiet in every later tick that finds the same. It keeps waiting also when the bounds would allow it by then:
// creations that go on must not thin a held removal out until it passes.
//
// Approve allows exactly the changes that a run held back, each of them once, until an instant. A part of them may be
// left over from an interrupted tick; any other change among those that wait, and the whole set waits anew. Reject leaves
// them undone and quiet: the target counts as true without them, until other changes wait.
//
// # Changes that are not idempotent
//
// A change that is Once has a marker on record before it is begun. The marker goes when a later plan shows that the change
// is so, or when it was surely not done. While the marker stands and the plan still wants the change, the outside is asked
// before anything is repeated, and where the kind cannot ask, a person.
//
// # What is not promised
//
// The breaker looks at one plan at a time: a source that loses a few entries with each change passes under it. What was
// approved is done as it was planned, whatever else the outside has become since. And a tick plans once: what is wanted
// only after its changes were done is an error, and left to the next.
//
// # Records
//
//	held      the target              what waits: run, digest, ids of changes, why, and the answer of a person
//	approval  target, space, change   one change that may be done once: whose hold it was, who allowed it; it expires
//	marker    target, space, change   a change that was begun, by which run, and whether it is known to be done
//	known     the target              what the kind has learned, see Learner
package plan
