package simtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
)

const (
	ttl      = time.Minute
	interval = 5 * time.Minute // of the timer
	troubled = 15 * ttl        // how long a world is troubled
)

// A sort of worlds, by what happens in them.
type sort struct {
	name    string
	hands   bool          // processes beside the trigger's
	people  bool          // removals that wait for approval, and work items
	timer   bool          // a run for everything, asked for or not
	refusal float64       // how often an outside does not do what it is told
	fault   float64       // how often a call of the store fails
	stall   float64       // how often a process freezes at a call
	leisure time.Duration // of those who ask, at most
	blows   bool          // processes are killed or stopped, clocks leap, the trigger's state is lost
	grace   bool          // changes are long commands, which take their time to end when processes are stopped, and nobody reaches the store at times
}

var sorts = []sort{
	{name: "storm", hands: true, people: true, timer: true, refusal: 0.03, fault: 0.01, stall: 0.02, leisure: 40 * time.Second, blows: true},
	{name: "lonely", refusal: 0.05, fault: 0.02, stall: 0.005, leisure: 2 * ttl, blows: true},
	{name: "crowd", hands: true, leisure: 40 * time.Second},
	{name: "grace", hands: true, fault: 0.01, leisure: 40 * time.Second, grace: true},
}

// A world is everything that a seed makes. Under its lock no time passes.
type world struct {
	sort
	seed    uint64
	planted fault
	fenced  bool // the outside compares fences
	begun   time.Time
	running sync.WaitGroup // everything that goes on in it
	targets []reconcile.Target

	mu      sync.Mutex
	throws  map[string]uint64
	skew    time.Duration // by which the store's clock is ahead
	slept   time.Duration // that no process has seen
	dark    time.Time     // until when nobody reaches the store
	store   *store
	outside map[reconcile.Key]*outside
	trigger *trigger
	living  []*process
	started int
	calm    bool // the trouble is over
	steps   int
	broken  error // the first promise that did not hold
	trace   func(format string, args ...any)
	referee
}

// runWorld makes the world of a seed, and returns how much happened and the first promise that did not hold in it.
func runWorld(t *testing.T, seed uint64, planted fault, trace func(string, ...any)) (steps int, broken error) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, planted)
		w.trace = trace
		w.tell("a %s world, fences compared: %t", w.name, w.fenced)
		w.play()
		broken, steps = w.broken, w.steps
	})
	return steps, broken
}

func newWorld(seed uint64, planted fault) *world {
	w := &world{seed: seed, planted: planted, begun: time.Now(), throws: map[string]uint64{}, outside: map[reconcile.Key]*outside{}}
	d := w.dice("world")
	w.sort = sorts[seed%uint64(len(sorts))]
	w.fenced = d.IntN(2) == 0 && !w.grace
	w.store = newStore(w.clock)
	w.store.fault = planted
	w.referee = newReferee()
	w.trigger = newTrigger(w)
	for i := range 2 + d.IntN(4) {
		key := reconcile.Key(fmt.Sprintf("sim:%c", 'a'+i))
		t := reconcile.Target{Key: key}
		for s := range 3 {
			if d.IntN(3) == 0 {
				t.Scopes = append(t.Scopes, reconcile.Scope(fmt.Sprintf("shared/%d", s)))
			}
		}
		w.targets = append(w.targets, t)
		w.outside[key] = newOutside(d.IntN(9), d.IntN(3) == 0)
	}
	return w
}

// play lets the trouble pass, and then everything be covered.
func (w *world) play() {
	ctx, end := context.WithCancel(context.Background())
	var trigger, trouble sync.WaitGroup
	trigger.Go(func() { w.trigger.run(ctx) })
	for i := range 2 {
		trouble.Go(func() { w.asker(fmt.Sprint("asker ", i)) })
	}
	if w.hands {
		for i := range 2 {
			trouble.Go(func() { w.hand(fmt.Sprint("hand ", i)) })
		}
	}
	if w.people {
		for i := range 2 {
			trouble.Go(func() { w.worker(fmt.Sprint("worker-", i)) })
		}
		trigger.Go(func() { w.approver(ctx) })
	}
	if w.blows {
		trouble.Go(func() { w.strike("blow") })
	}
	if w.grace {
		trouble.Go(func() { w.stopping("stop") })
	}
	trouble.Wait()
	w.settleDown()
	end()
	trigger.Wait()
	w.running.Wait()
	w.lastWords()
}

// settleDown waits until what is owed is done: not for ever.
func (w *world) settleDown() {
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.tell("the trouble is over")
	const patience = 40
	for i := range patience {
		if w.failed() || w.settled() {
			return
		}
		w.endWork()
		if i == 2 && !w.timer { // by then all is done, and one more run shows it
			w.trigger.touch(new(ticket))
		}
		<-time.After(interval)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.judge(allCovered, w.uncovered())
}

func (w *world) settled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trigger.idle() && len(w.living) == 0 && w.uncovered() == ""
}

// troubled tells whether it goes on: as long as it lasts, and until a promise is broken.
func (w *world) troubled() bool { return time.Since(w.begun) < troubled && !w.failed() }

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken != nil
}

// clock is the store's.
func (w *world) clock() time.Time { return time.Now().Add(w.skew).Round(0).UTC() }

// uptime is the time since the host's boot.
func (w *world) uptime() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.begun) + w.slept
}

// dice are thrown for one thing: what falls depends on the seed, on its name, and on how often it was thrown for before,
// and not on the order in which things happen at one instant.
func (w *world) dice(name string) *rand.Rand {
	w.mu.Lock()
	w.throws[name]++
	n := w.throws[name]
	w.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprint(h, name, " ", n)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// within is a time below a bound, to the nanosecond, so that hardly ever two things happen at one instant.
func within(d *rand.Rand, bound time.Duration) time.Duration {
	return 1 + time.Duration(d.Int64N(int64(bound)))
}

func hits(d *rand.Rand, chance float64) bool { return d.Float64() < chance }

// judge notes that a promise does not hold, unless nothing speaks against it.
func (w *world) judge(promise, against string) {
	if against != "" && w.broken == nil {
		w.tellLocked("BROKEN: %s: %s", promise, against)
		w.broken = fmt.Errorf("%s: %s", promise, against)
	}
}

func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellLocked(format, args...)
}

func (w *world) tellLocked(format string, args ...any) {
	if w.trace != nil && w.broken == nil {
		w.trace("%12.6f "+format, append([]any{time.Since(w.begun).Seconds()}, args...)...)
	}
}

var (
	errStore  = fmt.Errorf("%w: the disk is full", reconcile.ErrUnwritable)
	errKilled = errors.New("killed")
	errLost   = errors.New("the answer was lost")
	errDown   = errors.New("503")
)
