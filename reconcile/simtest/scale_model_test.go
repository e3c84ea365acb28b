package simtest

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A shape is a fleet that is too large for the real code to be run in one test: so many targets, each ticked for so long, by
// hosts of so many workers whose timers have such an interval, and web apps that touch.
type shape struct {
	targets, hosts, workers int
	tick, interval          time.Duration
	touches                 float64       // a second, of all hosts together
	lasts                   time.Duration // zero: every host sweeps everything once, all at the same time
	costs
}

// Costs are what the database does for a call, and for each target in it. BenchmarkCosts of reconcile/postgres measures them.
// Zero is a store for which everything is free.
type costs struct {
	cores                            int
	call, ask, grant, refuse, settle time.Duration
	read                             time.Duration
	claimGrant, claimSettle          time.Duration // more, for each host whose claims are kept
	commit                           time.Duration // until a call is answered, besides: network and disk
}

// A scale is a shape in its own time. It is the pool's algorithm over again, in numbers: TestHostsDivideTheWork compares them.
type scale struct {
	shape
	now   time.Duration
	queue events
	seq   int
	dice  *rand.Rand

	fence          int64
	asked, covered []int64 // by target
	at             []time.Duration
	holder         []int16 // a host, or -1
	hosts          []*scaleHost
	waiting        map[int32][]wait // touches of a target

	cores []time.Duration // until when each is busy
	draws time.Duration   // until when the sequence of the fences is locked
	calls
	ticks, stale int
	busy, locked time.Duration
	gaps, waits  []time.Duration // between two coverings of a target; from touches to live
}

// A wait is a touch that was recorded under a number.
type wait struct {
	asked int64
	since time.Duration
}

// An happening is what comes at an instant; those of one instant come in order.
type happening struct {
	at  time.Duration
	seq int
	do  func()
}

type events []happening

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(happening)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = happening{}
	*e = (*e)[:len(*e)-1]
	return last
}

func (s *scale) after(d time.Duration, do func()) {
	s.seq++
	heap.Push(&s.queue, happening{s.now + d, s.seq, do})
}

// simulate runs a shape to its end.
func simulate(c shape, seed uint64) *scale {
	s := &scale{shape: c, dice: rand.New(rand.NewPCG(seed, 0)), waiting: map[int32][]wait{}, cores: make([]time.Duration, max(1, c.cores)),
		asked: make([]int64, c.targets), covered: make([]int64, c.targets), at: make([]time.Duration, c.targets), holder: make([]int16, c.targets)}
	for i := range s.holder {
		s.holder[i] = -1
	}
	for i := range c.hosts {
		h := &scaleHost{scale: s, name: int16(i), free: c.workers, first: map[int32]bool{}, dice: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		s.hosts = append(s.hosts, h)
		if c.lasts == 0 {
			s.after(0, h.claim)
		} else {
			s.after(time.Duration(s.dice.Int64N(int64(c.interval))), h.timer)
		}
	}
	if c.touches > 0 {
		s.after(0, s.touch)
	}
	for len(s.queue) > 0 && (c.lasts == 0 || s.now < c.lasts) {
		next := heap.Pop(&s.queue).(happening)
		s.now = next.at
		next.do()
	}
	return s
}

// touch is one of a web app, for one target.
func (s *scale) touch() {
	h := s.hosts[s.dice.IntN(len(s.hosts))]
	h.touched = append(h.touched, touched{int32(s.dice.IntN(s.targets)), s.now})
	h.wake()
	s.after(time.Duration(s.dice.ExpFloat64()/s.touches*float64(time.Second)), s.touch)
}

// call has the database do something: when its turn comes, on one of its processors, and under the lock of the sequence where it
// draws numbers.
func (s *scale) call(work time.Duration, draws bool, done func()) {
	start := s.now
	if draws {
		start = max(start, s.draws)
	}
	core := 0
	for i, until := range s.cores { // the one that was idle for the shortest time, or is so first
		best := s.cores[core]
		if until <= start && (best > start || until > best) || best > start && until < best {
			core = i
		}
	}
	start = max(start, s.cores[core])
	work += s.costs.call
	s.cores[core] = start + work
	s.busy += work
	end := start + work + s.commit
	if draws {
		s.draws = end
		s.locked += end - start
	}
	s.after(end-s.now, done)
}

// each is what a call costs for so many targets.
func (s *scale) each(n int, one, more time.Duration) time.Duration {
	return time.Duration(n) * (one + time.Duration(s.shape.hosts)*more)
}

// cover is a tick that succeeded under a fence.
func (s *scale) cover(t int32, fence int64) {
	if s.at[t] > 0 && s.lasts > 0 && s.at[t] > s.lasts/4 {
		s.gaps = append(s.gaps, s.now-s.at[t])
	}
	s.covered[t], s.at[t] = fence, s.now
	if left := s.waiting[t]; len(left) > 0 {
		s.waiting[t] = slices.DeleteFunc(left, func(w wait) bool {
			if w.asked < fence {
				s.waits = append(s.waits, s.now-w.since)
			}
			return w.asked < fence
		})
	}
}

// row is what the fleet came to, as docs/scale.md shows it.
func (s *scale) row() string {
	took := s.lasts.Seconds()
	shown := func(all []time.Duration, q float64) string {
		return quantile(all, q).Round(100 * time.Millisecond).String()
	}
	return fmt.Sprintf("| %d | %d | %.0f | %s | %s | %s | %s | %.0f | %.0f | %.2f | %.0f %% | %.1f |", s.targets, s.shape.hosts, float64(s.ticks)/took,
		shown(s.gaps, 0.5), shown(s.gaps, 0.99), shown(s.waits, 0.5), shown(s.waits, 0.99), float64(s.asks+s.grants+s.settles+s.reads)/took,
		float64(s.calls.asked+s.bids+s.settled+s.read)/took, s.busy.Seconds()/took, 100*s.locked.Seconds()/took, float64(s.stale+s.refused)/float64(max(1, s.ticks)))
}

// quantile is the value below which so large a part of them is.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(len(all)-1, int(q*float64(len(all))))]
}
