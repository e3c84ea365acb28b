package main

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"trueup/reconcile"
)

// changes tells that a file has changed that the status comes from.
type changes struct {
	events  chan struct{}
	watcher *fsnotify.Watcher // nil where nothing can be watched: the screen looks by itself, only less promptly
}

// follow watches the folders of the triggers. What happens in them comes in bursts, and one look answers for all.
func follow(reports []facts) changes {
	c := changes{events: make(chan struct{}, 1)}
	var err error
	if c.watcher, err = fsnotify.NewWatcher(); err != nil {
		return changes{events: c.events}
	}
	for _, f := range reports {
		for _, dir := range []string{f.folders.State, f.folders.Outbox, f.folders.Spool} {
			if dir != "" {
				_ = c.watcher.Add(dir) // one that is gone is a finding of the status
			}
		}
	}
	go func() {
		for e := range c.watcher.Events {
			if strings.Contains(filepath.Base(e.Name), ".db") {
				continue // a ledger beside them, which a look of our own touches too
			}
			select {
			case c.events <- struct{}{}:
			default:
			}
		}
	}()
	go func() {
		for range c.watcher.Errors { // an overflow: the next look sees everything
		}
	}()
	return c
}

func (c changes) close() {
	if c.watcher != nil {
		_ = c.watcher.Close()
	}
}

// later are the facts as they are some time after they were looked at, as far as time alone changes them.
func later(reports []facts, by time.Duration) []facts {
	moved := make([]facts, len(reports))
	for i, f := range reports {
		f.now, f.uptime = f.now.Add(by), f.uptime+by
		moved[i] = f
	}
	return moved
}

// sweepOn is how far the run that is on has come with its targets, and one that is ticked now.
func (f facts) sweepOn() (done, total int, now reconcile.Key) {
	c := f.state.Claim
	if c == nil || f.site == nil || f.phase() != "running" {
		return 0, 0, ""
	}
	for _, s := range f.site.standings {
		if s.Ticked.After(c.Claimed) {
			done++
			total++
		} else if c.All || s.Owed() {
			total++
		}
	}
	if len(f.site.leases) > 0 {
		now = f.site.leases[0].Target
	}
	return done, total, now
}
