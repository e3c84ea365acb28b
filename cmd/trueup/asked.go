package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
)

// maxAsked is how many names of requests/ are looked at: a flood asks no more than that.
const maxAsked = 1024

// askedSince is since when something in the spool asks for a run: the oldest change of an entry, which nobody can
// set back. It is zero when nothing asks. Nothing but the two folders is opened, and no link in them is followed.
func askedSince(spool string) (since time.Time) {
	const folder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK | unix.O_CLOEXEC
	look := func(fd int, name string) {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			return
		}
		if at := time.Unix(st.Ctim.Unix()); since.IsZero() || at.Before(since) {
			since = at
		}
	}
	top, err := unix.Open(spool, folder, 0)
	if err != nil {
		return since
	}
	defer unix.Close(top)
	look(top, "sentinel")
	below, err := unix.Openat(top, "requests", folder|unix.O_NOFOLLOW, 0)
	if err != nil {
		return since
	}
	requests := os.NewFile(uintptr(below), "requests")
	defer requests.Close()
	names, _ := requests.Readdirnames(maxAsked) // what cannot be read tells nothing
	for _, name := range names {
		if trigger.ValidRequest(name) {
			look(below, name)
		}
	}
	return since
}

// unrecorded tells whether the last gate could not record its claim and could not note that either: it shows a failure,
// and a failure of the run would have left a claim.
func (f facts) unrecorded() bool {
	return f.shown.State == trigger.Failing && f.state.Claim == nil && f.state.Damage == nil && f.stateErr == nil && len(f.trouble.Needs) == 0
}

// overdue is how long ago a run was asked for that should have been claimed by now, or 0. Where the state folder
// takes no claim, whatever the reason, this is what can be seen of it.
func (f facts) overdue() time.Duration {
	until := f.now
	switch s := f.systemd; {
	case f.asked.IsZero() || len(f.trouble.Needs) > 0: // the gate has said why
		return 0
	case s == nil && f.watch != watchOn:
		return 0
	case s == nil && f.state.Claim != nil && f.phase() == trigger.Running:
		until = f.state.Claim.Claimed // a run is on, and the next one takes it
	case s != nil && s.path() != "waiting" && s.path() != "running":
		return 0
	case s != nil && s.Service.Active == "activating" && s.Service.Sub != "start-pre":
		until = s.Service.Since
	}
	since := f.asked
	if last := f.state.Settled.Finished.Wall; last.After(since) {
		since = last // a long run was on when it was asked for
	}
	policy := f.policy
	if policy.Floor == 0 {
		policy = trigger.DefaultPolicy() // of trueup watch nothing is known
	}
	waited := until.Sub(since)
	if waited < 2*(policy.Floor+policy.RetryMax) || waited < time.Minute {
		return 0
	}
	return waited
}
