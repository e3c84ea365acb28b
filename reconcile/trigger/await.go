package trigger

import (
	"context"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	pollEvery = time.Second            // where the spool cannot be watched: inotify exhausted, or no spool
	calmDown  = 100 * time.Millisecond // between two looks at most, whatever floods the spool
)

// awaitTouch returns true as soon as the spool asks for a run, and false at the given instant of the boot
// clock. Nothing runs while nothing happens. Each look has watches of its own, laid before it, so that neither
// a touch in between nor a spool made anew is missed.
func awaitTouch(ctx context.Context, c Clock, spool string, until time.Duration) (asked bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, calmDown) {
		changed, stop := watchSpool(spool)
		if asks(spool) {
			stop()
			return true, nil
		}
		next := until
		if changed == nil {
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

// watchSpool returns a channel that is closed at the first change in the spool, or nil where it cannot be
// watched. requests/ is watched through its descriptor: by path, a link planted there would be followed.
func watchSpool(path string) (changed <-chan struct{}, stop func()) {
	stop = func() {}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, stop
	}
	stop = func() { w.Close() }
	if err := w.Add(path); err != nil {
		return nil, stop
	}
	s := openSpool(path)
	defer s.close()
	if s.opened != nil {
		return nil, stop
	}
	if requests, err := s.sub(requestsName); err == nil {
		defer requests.close()
		if err := w.Add(fmt.Sprintf("/proc/self/fd/%d", requests.fd())); err != nil {
			return nil, stop
		}
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		select {
		case <-w.Events:
		case <-w.Errors:
		}
	}()
	return first, stop
}
