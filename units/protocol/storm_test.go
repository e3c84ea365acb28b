package protocol

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// storm is the counter test (A1): at random times a writer bumps a number and touches, while gates, runs and settles
// are killed, runs fail or take their time, and the power is cut. The copy must end up equal to the number without
// another touch, and no ticket may ever be covered before its write is copied. A storm that did no harm proves
// nothing, and fails too.
//
// The hosts of one machine go through it together, since they share its power. A seed that failed is repeated with
// TRUEUP_SEED; the choices are the same then, though not the processes' timing.
func storm(t *testing.T, places []place) {
	seed, err := strconv.ParseUint(os.Getenv("TRUEUP_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("TRUEUP_SEED=%d repeats this storm", seed)
	s := &weather{rnd: rand.New(rand.NewPCG(seed, seed))}
	for _, p := range places {
		h := p.adopt(t, options{name: "storm", policy: trigger.Policy{
			Floor: 300 * time.Millisecond, RetryMax: time.Second}})
		s.shelters = append(s.shelters, &shelter{host: h})
	}
	stop := s.observe(t)
	touches := either(2000, 100) * len(places)
	cuts := map[int]bool{touches / 4: true, touches / 2: true, touches * 3 / 4: true}
	for i := range touches {
		s.step(t, s.shelters[i%len(places)])
		if cuts[i] {
			s.cut(t)
		}
		if t.Failed() {
			break
		}
	}
	s.complete(t)
	for _, sh := range s.shelters {
		sh.calm(t)
	}
	stop()
	for _, sh := range s.shelters {
		sh.explain(t)
	}
	t.Logf("%d touches by name and sentinel, %+v", touches, s.done)
	s.mustHaveRaged(t)
}

// A weather is what a storm does, by the seed.
type weather struct {
	rnd      *rand.Rand
	shelters []*shelter
	done     struct{ gates, runs, settles, missed, failures, slow, cuts, reboots int }
}

// A shelter is a host in the storm.
type shelter struct {
	*host
	mu       sync.Mutex
	number   int
	promises []promise
}

// A promise is what a ticket stands for.
type promise struct {
	ticket trigger.Ticket
	number int
	byName bool
}

// step writes once, and may do harm around it.
func (w *weather) step(t *testing.T, s *shelter) {
	t.Helper()
	w.harm(t, s)
	requests := []string{"github:acme", "slack:acme", "forgejo:acme"}
	w.rnd.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
	s.bump(t, requests[:max(0, w.rnd.IntN(6)-3)]...)
	switch dice := w.rnd.IntN(100); {
	case dice < 8:
		w.kill(s, gate, &w.done.gates)
	case dice < 16:
		w.kill(s, run, &w.done.runs)
	case dice < 24:
		w.kill(s, settle, &w.done.settles)
	default:
		w.moment(300 * time.Millisecond)
	}
}

// complete does the kinds of harm that chance has left out, so that a rare seed is no failure.
func (w *weather) complete(t *testing.T) {
	t.Helper()
	s := w.shelters[0]
	for r, count := range map[role]*int{gate: &w.done.gates, run: &w.done.runs, settle: &w.done.settles} {
		for tries := 0; *count == 0 && tries < 10 && !t.Failed(); tries++ {
			s.bump(t)
			w.kill(s, r, count)
		}
	}
	if w.done.failures == 0 {
		s.tell(t, "fail", "once")
		w.done.failures++
		s.bump(t)
	}
}

// mustHaveRaged fails when a kind of harm never happened, or when the kills mostly missed.
func (w *weather) mustHaveRaged(t *testing.T) {
	t.Helper()
	d := w.done
	for what, n := range map[string]int{"gate killed": d.gates, "run killed": d.runs, "settle killed": d.settles,
		"run failed": d.failures, "power cut or reboot": d.cuts + d.reboots} {
		if n == 0 {
			t.Errorf("no %s in the whole storm: %+v", what, d)
		}
	}
	if d.missed >= d.gates+d.runs+d.settles {
		t.Errorf("half of the kills or more found nobody to kill: %+v", d)
	}
}

// bump writes the next number and keeps the ticket.
func (s *shelter) bump(t *testing.T, requests ...string) {
	t.Helper()
	s.number++
	ticket := s.write(t, s.number, requests...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promises = append(s.promises, promise{ticket, s.number, len(requests) > 0})
}

// harm sets up what the next runs meet.
func (w *weather) harm(t *testing.T, s *shelter) {
	t.Helper()
	switch dice := w.rnd.IntN(100); {
	case dice < 8:
		s.tell(t, "fail", "once")
		w.done.failures++
	case dice < 20:
		s.tell(t, "slow", strconv.FormatFloat(w.rnd.Float64()/2, 'f', 3, 64))
		w.done.slow++
	case dice < 40:
		s.tell(t, "slow", "")
	}
}

// kill kills who plays the role, when somebody does within a second, at a random moment of its life.
func (w *weather) kill(s *shelter, r role, count *int) {
	delay := time.Duration(w.rnd.Int64N(int64(30 * time.Millisecond)))
	if r == settle || w.rnd.IntN(2) == 0 {
		delay = 0
	}
	if s.killAfter(r, delay, time.Second) {
		*count++
	} else {
		w.done.missed++
	}
}

// cut takes the power from all the hosts, at a random moment after a write to each, or shuts them down.
func (w *weather) cut(t *testing.T) {
	t.Helper()
	for _, s := range w.shelters {
		w.step(t, s)
	}
	w.moment(300 * time.Millisecond)
	if w.rnd.IntN(4) == 0 {
		w.shelters[0].reboot(t)
		w.done.reboots++
	} else {
		w.shelters[0].powerCut(t)
		w.done.cuts++
	}
	for _, s := range w.shelters {
		s.awaitLive(t)
	}
}

// moment lets a random time pass, up to the given one.
func (w *weather) moment(most time.Duration) {
	<-time.After(time.Duration(w.rnd.Int64N(int64(most))))
}

// observe compares status with the copy until it is told to stop, or the test ends.
func (w *weather) observe(t *testing.T) (stop func()) {
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	for _, s := range w.shelters {
		all.Go(func() {
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				s.check(t)
				<-tick.C
			}
		})
	}
	return stop
}

// check holds every ticket that is covered now to its write. Status is read before the copy, which only grows.
func (s *shelter) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := s.status(t)
	copied := s.copied()
	for _, p := range s.promises {
		if shown.Covers(p.ticket) && copied < p.number {
			t.Errorf("%s: status %+v covers ticket %v of the number %d, and the copy is %d", s.name, shown, p.ticket, p.number, copied)
		}
	}
}

// calm ends the harm with one more failure, and holds the host to all that it promises.
func (s *shelter) calm(t *testing.T) {
	t.Helper()
	s.tell(t, "slow", "")
	s.tell(t, "fail", "once") // and nobody touches after the failure
	s.bump(t)
	s.awaitQuiet(t, patience)
	if got := s.copied(); got != s.number {
		t.Errorf("%s: all is quiet, the number is %d and the copy %d", s.name, s.number, got)
	}
	s.covered(t, func(p promise) bool { return !p.byName })
	s.touch(t) // for the tickets of requests by name, which only a run for everything covers
	s.awaitQuiet(t, patience)
	s.covered(t, func(promise) bool { return true })
	s.keepsFloor(t, s.attempts(t))
	s.mustLive(t)
}

// covered holds the tickets that it is about to be covered.
func (s *shelter) covered(t *testing.T, about func(promise) bool) {
	t.Helper()
	shown := s.status(t)
	for _, p := range s.promises {
		if about(p) && !shown.Covers(p.ticket) {
			t.Errorf("%s: all is quiet, and the ticket %v of the number %d is not covered by %+v", s.name, p.ticket, p.number, shown)
		}
	}
}
