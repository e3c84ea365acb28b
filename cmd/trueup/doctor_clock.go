package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// clockFacts is what the kernel says of its clocks.
type clockFacts struct {
	unsynchronised bool // nothing keeps the wall clock right
}

func lookAtClock() (f clockFacts) {
	var t unix.Timex
	_, err := unix.Adjtimex(&t)
	f.unsynchronised = err == nil && t.Status&unix.STA_UNSYNC != 0
	return f
}

// check judges the wall clock. The gate goes by the boot clock (F19); leases, approvals and certificates by this one.
func (k clockFacts) check(c *checks, f facts) {
	const slack, stepped = time.Minute, 5 * time.Second
	const do = "timedatectl set-ntp true"
	newest, of := f.newest()
	switch ahead := newest.Sub(f.now); {
	case f.now.Year() < 2026:
		c.add(isWrong, "systemd.clock", do, "the wall clock says %s: certificates and leases go by it", f.now.Format(time.DateOnly))
	case ahead > slack:
		c.add(isWrong, "systemd.clock", do, "the wall clock is %s behind %s: leases and approvals live as much longer", span(ahead), of)
	default:
		c.ok("systemd.clock", "the wall clock is behind nothing that was recorded")
	}
	if moved, known := f.stepped(); known && moved.Abs() > stepped {
		way := "forward"
		if moved < 0 {
			way = "back"
		}
		c.add(isNote, "systemd.clock-set", nothing+", unless it is wrong: timedatectl", "the wall clock was set %s by %s since the last run; the trigger does not go by it", way, span(moved.Abs()))
	}
	if k.unsynchronised {
		c.add(isNote, "systemd.ntp", do, "nothing synchronises the wall clock")
	} else {
		c.ok("systemd.ntp", "the wall clock is synchronised")
	}
}

// newest is the latest instant on record, and what it is of.
func (f facts) newest() (at time.Time, of string) {
	later := func(t time.Time, what string) {
		if t.After(at) {
			at, of = t, what
		}
	}
	later(f.state.Settled.Finished.Wall, "the end of the last run")
	if f.state.Claim != nil {
		later(f.state.Claim.Claimed, fmt.Sprintf("claim %d", f.state.Claim.N))
	}
	if f.site != nil {
		for _, s := range f.site.standings {
			later(s.Ticked, "the last tick of "+string(s.Target))
		}
	}
	return at, of
}

// stepped is how much the wall clock has moved against the boot clock since the end of the last run of this boot.
func (f facts) stepped() (by time.Duration, known bool) {
	last := f.state.Settled.Finished
	if last.Boot != f.boot || last.Wall.IsZero() {
		return 0, false
	}
	return f.now.Sub(last.Wall) - (f.uptime - last.At), true
}
