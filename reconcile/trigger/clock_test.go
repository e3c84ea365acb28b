package trigger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The clock counts suspends, as the kernel's uptime does and Go's own monotonic clock does not (TMR-09, LCK-18), and
// begins with the boot.
func TestSystemClock(t *testing.T) {
	uptime := func() time.Duration {
		text, err := os.ReadFile("/proc/uptime")
		check(t, err)
		var seconds float64
		_, err = fmt.Sscan(string(text), &seconds)
		check(t, err)
		return time.Duration(seconds * float64(time.Second))
	}
	var c SystemClock
	before, now, after := uptime(), c.Now(), uptime()
	if now < before-10*time.Millisecond || now > after+20*time.Millisecond { // /proc/uptime has 10 ms
		t.Errorf("the clock reads %s, the uptime is %s to %s", now, before, after)
	}
	if booted := c.Booted(); booted < 0 || booted > c.Now() {
		t.Errorf("booted at %s of %s", booted, c.Now())
	}
	if id := c.Boot(); len(id) != 32 || (SystemClock{BootID: id}).Boot() != id {
		t.Errorf("the boot is %q", c.Boot())
	}
}

// Until fires at the instant and not before; an instant that is over fires at once; a wait ends with its context.
func TestSystemClockWaits(t *testing.T) {
	var c SystemClock
	for _, in := range []time.Duration{30 * time.Millisecond, 0, -time.Hour} {
		at := c.Now() + in
		fired, stop, err := c.Until(at)
		check(t, err)
		<-fired
		stop()
		if now := c.Now(); now < at {
			t.Errorf("fired %s early", at-now)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := waitUntil(ctx, c, c.Now()+time.Hour); err != context.Canceled {
		t.Errorf("waitUntil = %v, want context.Canceled", err)
	}
}

// What is planted under the temporary name in an outbox that is writable by mistake is neither followed nor kept
// (SEC-04, SEC-05).
func TestPublishFollowsNoLink(t *testing.T) {
	h := newHost(t)
	target := filepath.Join(t.TempDir(), "precious")
	check(t, os.WriteFile(target, []byte("precious"), 0o600))
	temp := filepath.Join(h.Folders.Outbox, ".status.json.tmp")
	for _, plant := range []func() error{
		func() error { return os.Symlink(target, temp) },
		func() error { return os.MkdirAll(temp+"/a/b", 0o755) },
		func() error { return os.Symlink(target, filepath.Join(h.Folders.Outbox, "planted")) },
	} {
		check(t, plant())
		ticket := h.touch()
		h.claim()
		if h.settle(); !h.covers(ticket) {
			t.Error("the outbox was not written")
		}
		if content, err := os.ReadFile(target); err != nil || string(content) != "precious" {
			t.Errorf("written through the link: %q, %v", content, err)
		}
		h.clock.pass(time.Minute)
	}
}
