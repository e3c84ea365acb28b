// Package protocol holds the tests of the trigger as users meet it: one body of cases that runs on real systemd,
// in the system manager and in a lingering user's, and on trueup watch.
//
// A [place] is where a service can be given a trigger: a manager of a booted machine, or this host with trueup
// watch. A place adopts a counter, a service that copies a number from one file into another, and gives a
// [host]: the handle by which a case writes the number, asks for a run, reads status.json and the counter's log,
// kills what it likes, and cuts the power. A case takes a place and knows nothing of what is behind it.
//
// What every case may rely on: the folders of a host are reached from the test process and stay good over power
// cuts; touches are made from outside, as a web app in a container makes them; the counter refuses to run twice
// at once and logs each run with the claim that it runs under.
//
// TRUEUP_PROVE=1 runs the long forms, TRUEUP_SEED=N repeats the random ones.
package protocol
