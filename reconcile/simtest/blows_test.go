package simtest

import (
	"errors"
	"time"

	"trueup/reconcile"
)

// hand starts processes by hand, one after another.
func (w *world) hand(name string) {
	for w.troubled() {
		d := w.dice(name)
		<-time.After(within(d, 2*ttl))
		target := w.targets[d.IntN(len(w.targets))].Key
		w.start("by hand", func(p *process) error {
			var err error
			if d.IntN(3) == 0 {
				everything := reconcile.Wanted{All: true}
				_, err = p.reconciler().Sweep(p.ctx, reconcile.Order{Owing: everything, Fresh: everything})
			} else {
				_, err = p.reconciler().Tick(p.ctx, target, "by hand")
			}
			return err
		})
	}
}

// strike kills and stops processes, and sets the clock.
func (w *world) strike(name string) {
	for w.troubled() {
		d := w.dice(name)
		<-time.After(within(d, ttl))
		w.mu.Lock()
		switch victims := len(w.living); d.IntN(6) {
		case 0, 1:
			if victims > 0 {
				w.living[d.IntN(victims)].kill()
			}
		case 2:
			if victims > 0 {
				p := w.living[d.IntN(victims)]
				w.tellLocked("%s is told to stop", p.name)
				p.stop(errors.New("terminated"))
			}
		case 3: // the clock is set forward, or the host sleeps: its processes' clocks stop then, but for the time since the boot
			by := within(d, 2*ttl)
			w.leap(by)
			if d.IntN(2) == 0 {
				w.tellLocked("the host slept meanwhile")
				w.slept += by
			}
		case 4:
			w.leap(-within(d, ttl))
		case 5:
			if d.IntN(4) == 0 {
				w.trigger.lose()
			}
		}
		w.mu.Unlock()
	}
}

// stopping tells processes to stop, and has nobody reach the store for some time, longer than a lease at times.
func (w *world) stopping(name string) {
	for w.troubled() {
		d := w.dice(name)
		<-time.After(within(d, ttl))
		w.mu.Lock()
		for _, p := range w.living {
			if d.IntN(2) == 0 {
				w.tellLocked("%s is told to stop", p.name)
				p.stop(errors.New("terminated"))
			}
		}
		if d.IntN(4) == 0 {
			w.dark = time.Now().Add(within(d, 2*ttl))
			w.tellLocked("nobody reaches the store until %.6f", w.dark.Sub(w.begun).Seconds())
		}
		w.mu.Unlock()
	}
}

func (w *world) leap(by time.Duration) {
	w.tellLocked("the store's clock leaps by %s", by)
	w.skew += by
}
