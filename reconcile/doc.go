// Package reconcile is the domain of trueup: what a target is, what one tick of it does, and what is promised about the
// order of requests, runs and writes. It imports the standard library only; kinds, stores and commands import it, never
// the other way round. The trigger that starts a sweep is package trigger, which knows nothing of targets. The tests here
// also hold the shape of the whole module: who may import whom, how long a function may be, what needs a comment.
package reconcile
