package simtest

import (
	"fmt"

	"trueup/reconcile"
)

// A status is what web apps read.
type status struct {
	epoch           string
	claims, settled uint64
	targets         map[reconcile.Key]uint64
}

// A ticket is what a web app keeps: what it wrote, by target, and the number that it read before it asked. What is covered
// is taken out.
type ticket struct {
	epoch   string
	n       uint64
	writes  map[reconcile.Key]int
	touched bool
}

// show publishes the claim's number; the outbox may refuse it.
func (t *trigger) show(c *claim) {
	d := t.dice("outbox")
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.blows && !t.calm && hits(d, 0.05) {
		t.tellLocked("number %d is not published", c.n)
		return
	}
	t.publish(status{c.epoch, c.n, t.covered, t.kept(c.epoch)})
}

// kept are the targets' numbers that stay when an epoch's number is published: another epoch's mean nothing.
func (t *trigger) kept(epoch string) map[reconcile.Key]uint64 {
	if t.shown.epoch != epoch && t.planted != oldEpochKept {
		return nil
	}
	return t.shown.targets
}

func (t *trigger) published(c *claim) bool { return t.shown.epoch == c.epoch && t.shown.claims >= c.n }

// publish shows web apps something, and looks what it means for their tickets.
func (t *trigger) publish(s status) {
	t.shown = s
	t.tellLocked("shown: %s, claims %d, settled %d, targets %v", s.epoch, s.claims, s.settled, s.targets)
	for _, k := range t.tickets {
		for key, version := range k.writes {
			if !s.covers(k, s.settled) && !s.covers(k, s.targets[key]) {
				continue
			}
			delete(k.writes, key)
			if live := t.outside[key].live(); live < version {
				t.judge(noneEarly, fmt.Sprintf("ticket %s:%d is covered for %s, and its version %d is not live: %d is", k.epoch, k.n, key, version, live))
			}
		}
	}
}

func (s status) covers(k *ticket, settled uint64) bool {
	if s.epoch != k.epoch {
		return settled > 0
	}
	return settled > k.n
}

// undone names what was asked for and is not live. Where nobody else ticks, nothing is when no claim stands.
func (t *trigger) undone() string {
	for _, k := range t.tickets {
		for key, version := range k.writes {
			if k.touched && t.outside[key].live() < version {
				return fmt.Sprintf("version %d of %s, and no claim stands", version, key)
			}
		}
	}
	return ""
}
