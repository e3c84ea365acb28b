// Package reconcile is where to begin reading. The module gives a oneshot service that already exists a prompt trigger:
// a web app touches a file, the service runs soon after, at most once a floor, and no touch is lost. What the service
// does when it runs is its own affair, and no code here knows it.
//
// This package holds no code but its tests, which hold the shape of the whole module: who may import whom, how long a
// function may be, what needs a comment, whether the pages name what exists. The module is four parts:
//
//	reconcile/trigger   the protocol: gate, claim, settle, tickets, and the watch that needs no systemd. Its package
//	                    comment says what is promised and what is not. It imports nothing else of the module.
//	units               the protocol on systemd: adopt and unadopt write and remove the unit files; package heal revives
//	                    a dead path unit.
//	cmd/trueup-gate     what an adopted service runs before, after and at its end; thin and quick to start
//	cmd/trueup          what people type
//
// Read next: the package comment of reconcile/trigger, then Gate.Claim and Gate.Settle, which are the protocol from top
// to bottom; docs/design.md for the invariants and the test that holds each; docs/model for the same as a model.
package reconcile
