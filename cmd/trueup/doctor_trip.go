package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trueup/reconcile/trigger"
)

// tripTime is how long a request may take to be taken, beside what the gate may wait for.
const tripTime = 30 * time.Second

// tripFacts is what became of a request that was made to see whether it is taken.
type tripFacts struct {
	name  string
	took  time.Duration
	floor time.Duration // what the gate had to wait for at most
	limit time.Duration
	err   error // it could not be made, or was not taken
}

var errNotTaken = errors.New("it was not taken")

// roundTrip requests what is no target, and waits until a gate has taken it.
func roundTrip(ctx context.Context, f facts) *tripFacts {
	const letters = 12
	trip := &tripFacts{name: "doctor:" + strings.ToLower(rand.Text()[:letters]), floor: f.floorLeft(), limit: tripTime + f.floorLeft()}
	requests := filepath.Join(f.folders.Spool, "requests")
	changed, stop := watchFolder(requests)
	defer stop()
	since := time.Now()
	if trip.err = trigger.Touch(f.folders.Spool, trip.name); trip.err != nil {
		return trip
	}
	file := filepath.Join(requests, trip.name)
	late := time.After(trip.limit)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for exists(file) {
		select {
		case <-changed:
		case <-look.C:
		case <-late:
			trip.err = errNotTaken
		case <-ctx.Done():
			trip.err = ctx.Err()
		}
		if trip.err != nil {
			_ = os.Remove(file) // else it asks when nobody waits for it any more
			return trip
		}
	}
	trip.took = time.Since(since)
	return trip
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// floorLeft is how long the gate waits at most before it takes a request, when no run is on.
func (f facts) floorLeft() time.Duration {
	floor := f.policy.Floor
	if floor == 0 {
		floor = trigger.DefaultPolicy().Floor // of trueup watch nothing is known
	}
	last := f.state.Settled.Finished
	switch {
	case f.state.Claim != nil:
		return floor // it waits again, from its start on
	case last.Boot != f.boot:
		return 0
	}
	return max(0, min(floor, floor-(f.uptime-last.At)))
}

// checkTrip judges it. What only a request can show is worth a note where none was made.
func (a patient) checkTrip(c *checks) {
	const id = "trigger.round-trip"
	trip := a.trip
	switch {
	case trip == nil:
		c.add(isNote, id, a.again()+" --round-trip", "no request was made; with --round-trip one is, for no target, and the service runs once")
	case errors.Is(trip.err, errNotTaken):
		c.add(isWrong, id, a.journal("-n 50"), "a request was not taken within %s, and was withdrawn", span(trip.limit))
	case trip.err != nil:
		c.add(isWrong, id, "ls -ld "+quoted(filepath.Join(a.folders.Spool, "requests"))+" # it must be there, and writable for whoever asks", "no request could be made: %s", oneLine(trip.err))
	case trip.floor > 0:
		c.ok(id, "a request was taken after %s, of which the gate may wait for %s", span(trip.took), span(trip.floor))
	default:
		c.ok(id, "a request was taken after %s", span(trip.took))
	}
}

// again is the command that looks at this trigger alone.
func (a patient) again() string {
	switch {
	case a.config != nil:
		return "trueup doctor -c " + quoted(a.config.config)
	case a.unit == "":
		return "trueup doctor --spool " + quoted(a.folders.Spool) + " --state " + quoted(a.folders.State)
	}
	return a.trueup("doctor", "--unit="+a.unit)
}
