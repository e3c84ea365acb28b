package simtest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// The pool's own figures.
const (
	mostAtOnce = 256
	aheadBy    = time.Second
	settleWait = 50 * time.Millisecond
	floorTime  = 30 * time.Second
)

// A scaleHost is one host of a scale: its trigger, and its pool while it sweeps.
type scaleHost struct {
	*scale
	name    int16
	dice    *rand.Rand
	running bool
	due     bool // the timer's claim is
	since   time.Duration
	touched []touched

	first   map[int32]bool
	todo    []int32
	tried   []int64 // by target, what was asked when it was tried
	ready   []taken
	ended   []taken
	free    int  // workers
	busy    bool // with a call that all wait for
	flushes bool
	met     bool
	lost    int
	batch   int
	paced   int
	mark    time.Duration
	marked  bool
}

// A touched target waits for its claim.
type touched struct {
	target int32
	at     time.Duration
}

// A taken target is leased.
type taken struct {
	target int32
	fence  int64
	covers bool
}

func (h *scaleHost) timer() {
	h.due = true
	h.wake()
	h.after(h.interval, h.timer)
}

// wake starts the service where there is a reason to, unless it runs or its floor is not over.
func (h *scaleHost) wake() {
	switch {
	case h.running || !h.due && len(h.touched) == 0:
	case h.since > 0 && h.now < h.since+floorTime:
		h.after(h.since+floorTime-h.now, h.wake)
	default:
		h.claim()
	}
}

// claim records what is asked for, and reads what is owed.
func (h *scaleHost) claim() {
	claimed, all := h.touched, h.due || h.lasts == 0
	h.running, h.due, h.touched = true, false, nil
	clear(h.first)
	h.met, h.lost, h.batch, h.paced, h.marked = false, 0, h.workers, 0, false
	h.tried = slices.Grow(h.tried[:0], h.targets)[:h.targets]
	clear(h.tried)
	n := len(claimed)
	if all {
		n = h.targets
	}
	h.asks++
	h.calls.asked += n
	h.call(h.each(n, h.ask, 0), true, func() {
		h.fence++
		if all {
			for t := range h.scale.asked {
				h.scale.asked[t] = h.fence
			}
		}
		for _, c := range claimed {
			h.scale.asked[c.target] = h.fence
			if !all {
				h.first[c.target] = true
			}
			h.waiting[c.target] = append(h.waiting[c.target], wait{h.fence, c.at})
		}
		h.again()
	})
}

// again looks for what is owed; where nothing is, the sweep ends.
func (h *scaleHost) again() {
	h.standings(func() {
		for t := range int32(h.targets) {
			if asked := h.scale.asked[t]; asked > h.covered[t] && asked > h.tried[t] {
				h.tried[t] = asked
				h.todo = append(h.todo, t)
			}
		}
		slices.SortFunc(h.todo, func(a, b int32) int {
			switch {
			case len(h.first) > 0 && h.first[a] != h.first[b]:
				return rank(h.first[b]) - rank(h.first[a])
			case h.at[a] != h.at[b]:
				return cmp.Compare(h.at[a], h.at[b])
			}
			return cmp.Compare(a, b)
		})
		if len(h.todo) == 0 {
			h.running, h.since = false, h.now
			h.wake()
			return
		}
		h.work()
	})
}

// standings reads them.
func (h *scaleHost) standings(then func()) {
	h.reads++
	h.calls.read += h.targets
	h.call(h.each(h.targets, h.costs.read, 0), false, then)
}

// work gives the workers something to do.
func (h *scaleHost) work() {
	for h.free > 0 && len(h.ready) > 0 {
		l := h.ready[0]
		h.ready = h.ready[1:]
		h.free--
		h.after(h.tick, func() { h.done(l) })
	}
	switch {
	case h.free == 0 || h.busy:
	case len(h.todo) > 0 && h.lost >= max(1, h.workers, len(h.todo)/32):
		h.look()
	case len(h.todo) > 0:
		h.bid()
	case h.free == h.workers:
		h.flush(h.again)
	}
}

// done ends a tick.
func (h *scaleHost) done(l taken) {
	h.ticks++
	h.free++
	h.paced++
	h.end(l)
	h.work()
}

// end puts a lease with those that are given back soon.
func (h *scaleHost) end(l taken) {
	h.ended = append(h.ended, l)
	if len(h.ended) >= mostAtOnce {
		h.flush(func() {})
	} else if !h.flushes {
		h.flushes = true
		h.after(settleWait, func() {
			h.flushes = false
			h.flush(func() {})
		})
	}
}

// flush settles what has ended.
func (h *scaleHost) flush(then func()) {
	ends := h.ended
	h.ended = nil
	if len(ends) == 0 {
		then()
		return
	}
	h.settles++
	h.settled += len(ends)
	h.call(h.each(len(ends), h.settle, h.claimSettle), false, func() {
		for _, l := range ends {
			h.holder[l.target] = -1
			if l.covers {
				h.cover(l.target, l.fence)
			}
		}
		then()
	})
}

// pace is how many leases to take.
func (h *scaleHost) pace() int {
	if !h.marked {
		h.mark, h.marked = h.now, true
	}
	if h.paced >= h.workers {
		each := (h.now - h.mark) / time.Duration(h.paced)
		h.batch = int(min(mostAtOnce, max(1, aheadBy/max(1, each))))
		h.paced, h.mark = 0, h.now
	}
	if h.met && h.batch < mostAtOnce {
		return (h.batch + 1) / 2
	}
	return h.batch
}

// bid asks for leases.
func (h *scaleHost) bid() {
	n := min(h.pace(), len(h.todo))
	bids := h.todo[:n]
	h.todo = h.todo[n:]
	h.busy = true
	h.grants++
	h.bids += n
	free := 0
	for _, t := range bids { // as it is when the call begins, nearly
		if h.holder[t] < 0 {
			free++
		}
	}
	h.call(h.each(free, h.grant, h.claimGrant)+h.each(n-free, h.refuse, h.claimGrant), true, func() {
		h.busy = false
		lost := 0
		for _, t := range bids {
			switch {
			case h.holder[t] >= 0:
				h.refused++
				lost++
				continue
			case h.covered[t] >= h.scale.asked[t]:
				h.stale++
				lost++
			}
			h.granted++
			h.fence++
			h.holder[t] = h.name
			if l := (taken{t, h.fence, h.covered[t] < h.scale.asked[t]}); l.covers {
				h.ready = append(h.ready, l)
			} else {
				h.end(l)
			}
		}
		h.avoid(lost, n)
		h.work()
	})
}

// avoid turns the queue where too much is lost.
func (h *scaleHost) avoid(lost, bids int) {
	if lost == 0 {
		return
	}
	h.met = true
	h.lost += lost
	named := slices.IndexFunc(h.todo, func(t int32) bool { return !h.first[t] })
	if lost > bids/2 && named >= 0 {
		at := named + h.dice.IntN(len(h.todo)-named)
		h.todo = slices.Concat(h.todo[:named], h.todo[at:], h.todo[named:at])
	}
}

// look leaves out what others have done, or hold.
func (h *scaleHost) look() {
	h.busy, h.lost = true, 0
	h.standings(func() {
		h.busy = false
		h.todo = slices.DeleteFunc(h.todo, func(t int32) bool { return h.covered[t] >= h.scale.asked[t] || h.holder[t] >= 0 })
		h.work()
	})
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}
