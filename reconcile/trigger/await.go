package trigger

import (
	"context"
	"time"
)

const (
	pollEvery = time.Second            // where not all can be watched: inotify exhausted, or no spool
	calmDown  = 100 * time.Millisecond // between two looks at most, whatever floods the spool
)

// awaitTouch returns true as soon as the spool asks for a run, and false at the given instant of the boot
// clock. Nothing runs while nothing happens. Each look has watches of its own, laid before it, so that neither
// a touch in between nor a spool made anew is missed.
func awaitTouch(ctx context.Context, c Clock, spool string, until time.Duration) (asked bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, calmDown) {
		changed, blind, stop := watchSpool(spool)
		if asks(spool) {
			stop()
			return true, nil
		}
		next := until
		if blind {
			next = min(until, c.Now()+pollEvery)
		}
		err := waitUntilOr(ctx, c, next, changed)
		stop()
		if err != nil {
			return false, err
		}
		if c.Now() >= until {
			return asks(spool), nil
		}
		// A touch is two changes: the temporary file and its new name. A flood is any number.
		if err := waitUntil(ctx, c, min(until, c.Now()+pause)); err != nil {
			return false, err
		}
	}
}

// asks tells whether the path unit would fire for what the spool holds now.
func asks(path string) bool {
	s := openSpool(path)
	defer s.close()
	return s.opened == nil && s.read().asks()
}
