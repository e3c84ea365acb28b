package reconcile

import (
	"testing"
	"testing/synctest"
	"time"
)

// A lease is over by whichever clock says so first: the store's may be any of them (LCK-17, LCK-18).
func TestMomentByEachClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Hour
		clock := Uptime(func() time.Duration { return up })
		until := clock.now().add(time.Minute)
		if until.reached(clock.now()) {
			t.Error("it is reached at once")
		}
		for name, d := range map[string]struct{ wall, own, up time.Duration }{
			"the wall clock was set forward":       {wall: time.Minute},
			"Go's own, the wall clock set back":    {own: time.Minute, wall: -time.Hour},
			"the time since the boot in a suspend": {up: time.Minute},
		} {
			now := clock.now()
			now.wall, now.own, now.up = now.wall.Add(d.wall), now.own.Add(d.own), now.up+d.up
			if !until.reached(now) {
				t.Errorf("%s: not reached", name)
			}
			now = clock.now()
			now.wall, now.own, now.up = now.wall.Add(d.wall-1), now.own.Add(d.own-1), now.up+d.up-1
			if until.reached(now) {
				t.Errorf("%s: reached a nanosecond early", name)
			}
		}
		if nowhere := Uptime(nil).now(); nowhere.add(time.Minute).reached(nowhere) {
			t.Error("reached at once where the time since the boot is not known")
		}
	})
}
