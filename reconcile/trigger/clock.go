package trigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the time a gate goes by. It waits on the boot clock, which neither a changed wall clock nor a
// suspend can stop; wall-clock instants are only ever shown to people.
type Clock interface {
	Now() time.Duration    // since an instant fixed for one boot, suspends included
	Wall() time.Time       // for people
	Boot() string          // identifies the boot; readings of Now compare only within one; empty when it cannot be known
	Booted() time.Duration // the reading of Now at boot, or now where that cannot be known

	// Until returns a channel that is closed when Now reaches t, and a function that gives the timer back.
	Until(t time.Duration) (<-chan struct{}, func(), error)
}

// SystemClock reads CLOCK_BOOTTIME and waits on a timerfd: Go's own timers stop while the host is suspended.
type SystemClock struct {
	BootID string // of this boot, where the caller knows it; empty lets Boot ask the kernel
}

// Now reads CLOCK_BOOTTIME.
func (SystemClock) Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(fmt.Sprintf("reading CLOCK_BOOTTIME: %v", err)) // cannot fail since Linux 2.6.39
	}
	return time.Duration(ts.Nano())
}

// Wall reads the wall clock.
func (SystemClock) Wall() time.Time { return time.Now() }

// Boot is the kernel's boot id; containers have one of their own for each start. In a sandbox with ProcSubset=pid it
// cannot be read, so units pass it in (systemd's specifier for it is %b).
func (c SystemClock) Boot() string {
	id := c.BootID
	if id == "" {
		text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
		id = string(text)
	}
	return strings.ReplaceAll(strings.TrimSpace(id), "-", "")
}

// Booted is when PID 1 started, which is the boot in a container as well. Where /proc hides PID 1
// (ProtectProc=invisible) it is now: the first gate of a boot starts within moments of it.
func (c SystemClock) Booted() time.Duration {
	stat, err := os.ReadFile("/proc/1/stat")
	if err != nil {
		return c.Now()
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startTime = 22 - 3 // proc(5) counts from 1, and the two fields up to ')' are cut off
	if len(fields) <= startTime {
		return c.Now()
	}
	ticks, err := strconv.ParseInt(string(fields[startTime]), 10, 64)
	if err != nil {
		return c.Now()
	}
	const userHz = 100 // what the kernel shows to user space on every architecture Go runs on
	return time.Duration(ticks) * (time.Second / userHz)
}

// Until arms a timerfd on CLOCK_BOOTTIME.
func (SystemClock) Until(t time.Duration) (<-chan struct{}, func(), error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a boot-time timer: %w", err)
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(t, 1)))} // zero would disarm it
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		unix.Close(fd)
		return nil, nil, fmt.Errorf("arming a boot-time timer: %w", err)
	}
	timer := os.NewFile(uintptr(fd), "timerfd")
	fired := make(chan struct{})
	go func() {
		var expirations [8]byte
		if _, err := timer.Read(expirations[:]); err == nil || !errors.Is(err, os.ErrClosed) {
			close(fired)
		}
	}()
	return fired, func() { timer.Close() }, nil
}

// waitUntil returns when the clock reaches t, or with the context's error.
func waitUntil(ctx context.Context, c Clock, t time.Duration) error {
	return waitUntilOr(ctx, c, t, nil)
}

// waitUntilOr is waitUntil, cut short when the channel closes. A nil channel never does.
func waitUntilOr(ctx context.Context, c Clock, t time.Duration, sooner <-chan struct{}) error {
	for c.Now() < t {
		fired, stop, err := c.Until(t)
		if err != nil {
			return err
		}
		select {
		case <-fired:
			stop()
		case <-sooner:
			stop()
			return nil
		case <-ctx.Done():
			stop()
			return ctx.Err()
		}
	}
	return ctx.Err()
}
