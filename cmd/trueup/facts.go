package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
	"trueup/units"
)

// facts is what can be seen of one trigger at one moment. What it means is the matter of findings.go.
type facts struct {
	place
	now    time.Time
	uptime time.Duration // the boot clock, by which the gate goes
	boot   string

	state    trigger.State
	stateErr error // the state folder cannot be read or written
	trouble  trigger.Trouble
	shown    trigger.Status
	shownErr error // the outbox cannot be read
	spoolErr error
	asked    time.Time  // since when something asks in the spool; zero: nothing does
	sharing  []string   // other units with the same spool or state
	site     *siteFacts // nil for a service that is not trueup's own

	every   time.Duration // how often its timer starts the unit, as seen before; zero: not known
	watched time.Duration // since when somebody has looked, where who looked before cannot tell; zero: that is no matter
	alarms  []publish.Standing
	looked  time.Time // when somebody last looked for alarms; zero: nobody ever has

	systemd *systemdFacts // nil for trueup watch
	watch   watching
	lockErr error // what the lock of trueup watch is, where it is no file
}

// systemdFacts is what systemd says about the units of one trigger.
type systemdFacts struct {
	units.TriggerState
	spoolUnwatched bool // the path unit watches another folder than the one that stands there
	timerDeclined  bool // adopted with --no-timer
}

// watching tells whether a trueup watch holds the state folder.
type watching int

const (
	watchUnknown watching = iota
	watchOn
	watchOff
)

// gather looks at everything, and changes nothing.
func gather(ctx context.Context, p place, all []place) (facts, error) {
	system := trigger.SystemClock{}
	f := facts{place: p, now: system.Wall(), uptime: system.Now(), boot: system.Boot()}
	f.state, f.stateErr = trigger.ReadState(p.folders.State)
	if errors.Is(f.stateErr, fs.ErrPermission) {
		return f, f.stateErr // nothing can be said about it
	}
	if f.stateErr == nil {
		f.stateErr = f.readTrouble()
	}
	if p.folders.Outbox != "" {
		f.shown, f.shownErr = trigger.ReadStatus(p.folders.Outbox)
	}
	if p.folders.Spool != "" {
		f.lookAtSpool()
	}
	f.sharing = sharing(p, all)
	f.alarms, f.looked = standing(p)
	f.site = siteOf(ctx, p)
	if p.unit == "" {
		var policy trigger.Policy
		if f.watch, policy, f.lockErr = watched(p.folders.State); policy.Floor > 0 {
			f.policy = policy
		}
		return f, nil
	}
	var err error
	if f.systemd, err = askSystemd(ctx, p); err == nil && f.stateErr == nil {
		f.stateErr = foreign(p.folders.State, f.systemd.Service.User)
	}
	return f, err
}

// readTrouble also finds out whether the state folder can be written at all, for otherwise nothing stands there.
func (f *facts) readTrouble() error {
	dir := f.folders.State
	var err error
	f.trouble, err = trigger.ReadTrouble(dir)
	if accessErr := unix.Access(dir, unix.W_OK); accessErr != nil && (os.Geteuid() == 0 || accessErr == unix.EROFS) {
		err = errors.Join(err, &fs.PathError{Op: "writing", Path: dir, Err: accessErr})
	}
	var disk unix.Statfs_t
	if unix.Statfs(dir, &disk) == nil {
		if fullErr := full(disk); fullErr != nil {
			err = errors.Join(err, &fs.PathError{Op: "writing", Path: dir, Err: fullErr})
		}
	}
	return err
}

var errNoInodes = errors.New("no inodes left on device")

// full tells of a file system that takes no new file. Some count neither blocks nor inodes.
func full(disk unix.Statfs_t) error {
	switch {
	case disk.Blocks > 0 && disk.Bavail == 0:
		return unix.ENOSPC
	case disk.Files > 0 && disk.Ffree == 0:
		return errNoInodes
	}
	return nil
}

// foreign tells of a folder that belongs to somebody else than the service's User=, and that only its owner may
// write.
func foreign(dir, runsAs string) error {
	account, err := user.Lookup(runsAs)
	var st unix.Stat_t
	if runsAs == "" || runsAs == "root" || err != nil || unix.Stat(dir, &st) != nil {
		return nil // nothing is known against it
	}
	if uid := strconv.FormatUint(uint64(st.Uid), 10); uid != account.Uid && st.Mode&0o022 == 0 {
		return fmt.Errorf("%s belongs to uid %s, and the service runs as %s", dir, uid, runsAs)
	}
	return nil
}

func (f *facts) lookAtSpool() {
	var st unix.Stat_t
	if err := unix.Stat(f.folders.Spool, &st); err != nil {
		f.spoolErr = &fs.PathError{Op: "looking at", Path: f.folders.Spool, Err: err}
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		f.spoolErr = &fs.PathError{Op: "looking at", Path: f.folders.Spool, Err: unix.ENOTDIR}
		return
	}
	f.asked = askedSince(f.folders.Spool)
}

// sharing finds the units whose folders are also this one's, under whatever path.
func sharing(p place, all []place) (others []string) {
	same := func(a, b string) bool {
		var x, y unix.Stat_t
		return a == b || unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
	}
	for _, o := range all {
		if o.unit != p.unit && (same(o.folders.Spool, p.folders.Spool) || same(o.folders.State, p.folders.State)) {
			others = append(others, o.unit)
		}
	}
	return others
}

// watched looks for the lock that a running trueup watch holds, and how often that runs. Whatever stands in its place, it is
// not waited for.
func watched(state string) (watching, trigger.Policy, error) {
	none := trigger.Policy{}
	path := state + "/watch.lock"
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return watchOff, none, nil
	case unix.EACCES:
		return watchUnknown, none, nil
	default:
		return watchUnknown, none, &fs.PathError{Op: "opening", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return watchUnknown, none, &fs.PathError{Op: "reading", Path: path, Err: errors.Join(err, errors.New("not a regular file"))}
	}
	switch unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) {
	case nil:
		return watchOff, none, nil
	case unix.EWOULDBLOCK:
		text := make([]byte, 1024)
		n, err := unix.Pread(fd, text, 0)
		if err != nil {
			n = 0 // it runs, whatever can be read
		}
		return watchOn, trigger.WatchPolicy(text[:n]), nil
	}
	return watchUnknown, none, nil
}
