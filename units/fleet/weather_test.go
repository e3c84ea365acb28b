package fleet

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile/postgres/pgtest"
)

// A weather is what happens to the hosts and their database, by the seed.
type weather struct {
	t      *testing.T
	world  *outside
	rnd    *rand.Rand
	hosts  []*host
	server *pgtest.Server
	busy   map[*host]*sync.Mutex // one mishap at a time on a host
	done   map[string]int
}

// leaseTTL is the shortest that a configuration may have.
const leaseTTL = 10 * time.Second

// blow lets one mishap follow another until the context ends, each kind in turn, and then lets all of them pass.
func (w *weather) blow(ctx context.Context) {
	var passing sync.WaitGroup
	defer passing.Wait()
	for {
		for _, i := range w.rnd.Perm(len(mishaps)) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(200+w.rnd.IntN(1300)) * time.Millisecond):
			}
			mishap, h := mishaps[i], w.hosts[w.rnd.IntN(len(w.hosts))]
			lasts := mishap.least + time.Duration(w.rnd.Int64N(int64(mishap.spread)))
			w.t.Logf("%s: %s", h.name, mishap.name)
			w.done[mishap.name]++
			if mishap.least == 0 {
				mishap.strike(w, h)(lasts)
				continue
			}
			passing.Go(func() {
				w.busy[h].Lock()
				defer w.busy[h].Unlock()
				mishap.strike(w, h)(lasts)
			})
		}
	}
}

// mishaps are done by strike, which returns how they pass.
var mishaps = []struct {
	name          string
	least, spread time.Duration
	strike        func(w *weather, h *host) func(lasts time.Duration)
}{
	{"a process is killed", 0, 1, func(w *weather, h *host) func(time.Duration) {
		if all := h.processes(); len(all) > 0 {
			syscall.Kill(all[w.rnd.IntN(len(all))], syscall.SIGKILL)
		}
		return func(time.Duration) {}
	}},
	{"its power is cut", 0, 1, func(w *weather, h *host) func(time.Duration) {
		h.kill()
		return func(time.Duration) {}
	}},
	{"it stands still beyond the lease", leaseTTL + time.Second, 4 * time.Second, func(w *weather, h *host) func(time.Duration) {
		resume := h.stop()
		w.world.standsStill(h.name)
		return func(lasts time.Duration) { <-time.After(lasts); resume() }
	}},
	{"its network is cut", 3 * time.Second, 12 * time.Second, func(w *weather, h *host) func(time.Duration) {
		mend := h.cut(w.t)
		return func(lasts time.Duration) { <-time.After(lasts); mend() }
	}},
	{"the database crashes", 0, 1, func(w *weather, h *host) func(time.Duration) {
		w.server.Kill(w.t)
		w.server.Again(w.t, listening...)
		return func(time.Duration) {}
	}},
	{"the database is restarted", 0, 1, func(w *weather, h *host) func(time.Duration) {
		w.server.Stop(w.t)
		w.server.Again(w.t, listening...)
		return func(time.Duration) {}
	}},
}
