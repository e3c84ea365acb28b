package registry_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/registry"
	"trueup/reconcile/sqlite"
)

const (
	ttl    = time.Minute
	target = reconcile.Key("deploy:web")
)

var plan = []byte("{\"version\": \"1.2\",\n\t\"to\": [\"\\u0000\", \xff]}") // whatever it is

// A desk is a ledger as several processes see it, with a clock that moves on demand.
type desk interface {
	open(t *testing.T, session string) reconcile.Ledger
	advance(t *testing.T, by time.Duration)
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(t *testing.T, d desk)) {
	t.Parallel()
	for name, d := range map[string]func(*testing.T) desk{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d(t))
		})
	}
}

type sqliteDesk struct {
	path string
	mu   sync.Mutex
	now  time.Time
}

func onSQLite(t *testing.T) desk {
	return &sqliteDesk{path: filepath.Join(t.TempDir(), "ledger.db"), now: time.Now()}
}

func (d *sqliteDesk) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *sqliteDesk) advance(_ *testing.T, by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *sqliteDesk) open(t *testing.T, session string) reconcile.Ledger {
	t.Helper()
	s, err := sqlite.Open(t.Context(), d.path, sqlite.Options{Holder: session, Clock: d.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func registryOf(l reconcile.Ledger) registry.Registry { return registry.Registry{Ledger: l, TTL: ttl} }

func ask(t *testing.T, r registry.Registry, q registry.Request) {
	t.Helper()
	if err := r.Intake(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

// granted is the one run that is granted.
func granted(t *testing.T, r registry.Registry) *registry.Run {
	t.Helper()
	runs, err := r.Grant(t.Context(), 10)
	if err != nil || len(runs) != 1 {
		t.Fatalf("granted: %v, %v", runs, err)
	}
	return runs[0]
}

// none is granted.
func none(t *testing.T, r registry.Registry) {
	t.Helper()
	if runs, err := r.Grant(t.Context(), 10); err != nil || len(runs) > 0 {
		t.Errorf("granted: %v, %v", runs, err)
	}
}

// TestPlanIsKept over restarts, a lapse and another host, byte by byte, with the last checkpoint.
func TestPlanIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		ask(t, registryOf(d.open(t, "web")), registry.Request{Target: target, Plan: plan, Reason: "a deployment"})
		a, b := registryOf(d.open(t, "a")), registryOf(d.open(t, "b"))
		run := granted(t, a)
		if !bytes.Equal(run.Plan, plan) || run.Lease.Reason != "a deployment" {
			t.Errorf("granted %q for %q", run.Plan, run.Lease.Reason)
		}
		none(t, b)
		if err := run.Checkpoint(t.Context(), []byte("half")); err != nil {
			t.Fatal(err)
		}
		d.advance(t, ttl+time.Second)
		again := granted(t, b)
		if !bytes.Equal(again.Plan, plan) || string(again.Request.Checkpoint) != "half" || again.Lease.Fence <= run.Lease.Fence {
			t.Errorf("granted again: %q at %q, fence %d", again.Plan, again.Request.Checkpoint, again.Lease.Fence)
		}
		for what, err := range map[string]error{
			"a checkpoint": run.Checkpoint(t.Context(), []byte("more")),
			"a report":     run.Report(t.Context(), nil),
		} {
			if !errors.Is(err, reconcile.ErrLeaseLost) {
				t.Errorf("%s under the old fence: %v", what, err)
			}
		}
		if err := again.Report(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		none(t, a)
		events, err := b.Ledger.Events(t.Context(), again.Lease.Run)
		if err != nil || len(events) != 2 {
			t.Errorf("the run's story: %v, %v", events, err)
		}
	})
}

// TestBacklog: whatever was asked while nobody came is one run, of the last plan, and what was granted is not touched (PGL-08).
func TestBacklog(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		for range 60 {
			ask(t, r, registry.Request{Target: target, Plan: []byte("old")})
		}
		ask(t, r, registry.Request{Target: target, Plan: []byte("new")})
		waiting, err := r.Waiting(t.Context())
		if err != nil || len(waiting) != 1 {
			t.Fatalf("%d wait, %v", len(waiting), err)
		}
		run := granted(t, r)
		ask(t, r, registry.Request{Target: target, Plan: []byte("newer")})
		none(t, r)
		if err := run.Checkpoint(t.Context(), nil); err != nil || string(run.Plan) != "new" {
			t.Errorf("%q: %v", run.Plan, err)
		}
		if err := run.Report(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if run = granted(t, r); string(run.Plan) != "newer" {
			t.Errorf("granted %q", run.Plan)
		}
		standings, err := r.Ledger.Standings(t.Context())
		if err != nil || len(standings) != 1 || !standings[0].Owed() {
			t.Errorf("%+v, %v", standings, err)
		}
	})
}

// TestFailures: one that a retry may mend waits again; a final one is gone, and keeps nobody waiting (PGL-06).
func TestFailures(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		ask(t, r, registry.Request{Target: target, Plan: plan})
		if err := granted(t, r).Report(t.Context(), errors.New("503")); err != nil {
			t.Fatal(err)
		}
		none(t, r) // at once
		d.advance(t, time.Second)
		run := granted(t, r)
		if !bytes.Equal(run.Plan, plan) {
			t.Errorf("tried again with %q", run.Plan)
		}
		if err := run.Report(t.Context(), reconcile.Terminal(errors.New("no such version"))); err != nil {
			t.Fatal(err)
		}
		none(t, r)
		ask(t, r, registry.Request{Target: target, Plan: []byte("another")})
		if run := granted(t, r); string(run.Plan) != "another" {
			t.Errorf("granted %q", run.Plan)
		}
	})
}

// TestFencesAfterARestart: who knows the fence goes on with it; who makes one up does not.
func TestFencesAfterARestart(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		ask(t, r, registry.Request{Target: target, Plan: plan})
		f := granted(t, r).Lease.Fence
		r = registryOf(d.open(t, "a")) // another connection of the same session
		for _, made := range []reconcile.Fence{0, f - 1, f + 1, 1 << 62} {
			if _, err := r.Resume(t.Context(), made); !errors.Is(err, reconcile.ErrLeaseLost) {
				t.Errorf("resumed under %d, which nobody was given: %v", made, err)
			}
		}
		run, err := r.Resume(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(run.Plan, plan) {
			t.Errorf("resumed with %q", run.Plan)
		}
		if err := run.Report(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if _, err := r.Resume(t.Context(), f); !errors.Is(err, reconcile.ErrLeaseLost) {
			t.Errorf("resumed after the report: %v", err)
		}
	})
}

// A host is a node with a label.
type host string

func (host) Takes(context.Context) (bool, error) { return true, nil }
func (h host) Meets(requires []string) bool      { return len(requires) == 0 || requires[0] == string(h) }

func TestGrantsByLabelsAndScopes(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		ask(t, r, registry.Request{Target: "deploy:eu", Requires: []string{"zone=eu"}, Scopes: []reconcile.Scope{"lb"}})
		r.Host = host("zone=us")
		none(t, r)
		r.Host = host("zone=eu")
		run := granted(t, r)
		ask(t, r, registry.Request{Target: "deploy:other", Scopes: []reconcile.Scope{"lb"}})
		none(t, r) // it holds the scope
		if err := run.Report(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		granted(t, r)
	})
}

// TestRestartBesideALaterRequest: who goes on after a restart has the plan that it was granted, and the later one waits.
func TestRestartBesideALaterRequest(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		ask(t, r, registry.Request{Target: target, Plan: []byte("first")})
		if err := granted(t, r).Checkpoint(t.Context(), []byte("half")); err != nil {
			t.Fatal(err)
		}
		d.advance(t, ttl+time.Second)
		f := granted(t, r).Lease.Fence // once more
		ask(t, r, registry.Request{Target: target, Plan: []byte("second")})
		run, err := registryOf(d.open(t, "a")).Resume(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if string(run.Plan) != "first" || string(run.Request.Checkpoint) != "half" {
			t.Errorf("resumed with %q at %q", run.Plan, run.Request.Checkpoint)
		}
		if err := run.Report(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if run = granted(t, r); string(run.Plan) != "second" {
			t.Errorf("granted %q", run.Plan)
		}
	})
}

// first is the target that is granted when one is.
func first(t *testing.T, r registry.Registry) *registry.Run {
	t.Helper()
	runs, err := r.Grant(t.Context(), 1)
	if err != nil || len(runs) != 1 {
		t.Fatalf("granted: %v, %v", runs, err)
	}
	return runs[0]
}

// A counter is a ledger that counts what is bid for.
type counter struct {
	reconcile.Ledger
	reconcile.WorkLedger
	bids map[reconcile.Key]int
}

func (c counter) Grant(ctx context.Context, bids []reconcile.Bid, ttl time.Duration) ([]reconcile.Answer, error) {
	for _, b := range bids {
		c.bids[b.Target]++
	}
	return c.Ledger.Grant(ctx, bids, ttl)
}

// TestNobodyIsKeptWaiting by what cannot be granted, or fails again and again.
func TestNobodyIsKeptWaiting(t *testing.T) {
	everywhere(t, func(t *testing.T, d desk) {
		r := registryOf(d.open(t, "a"))
		for i, scope := range []reconcile.Scope{"db", "lb", "lb", "d"} {
			ask(t, r, registry.Request{Target: reconcile.Key("deploy:" + "abcd"[i:i+1]), Scopes: []reconcile.Scope{scope}})
		}
		order := reconcile.WorkOrder{Item: "upgrade", Do: reconcile.WorkStarted, By: "ada", Note: "a test", Scopes: []reconcile.Scope{"db"}, For: time.Hour}
		if _, err := r.Ledger.(reconcile.WorkLedger).Work(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		bids := map[reconcile.Key]int{}
		r.Ledger = counter{r.Ledger, r.Ledger.(reconcile.WorkLedger), bids}
		b, rest := first(t, r), first(t, r)
		if b.Target != "deploy:b" || rest.Target != "deploy:d" || len(bids) != 2 {
			t.Errorf("granted %s and %s, bid for %v", b.Target, rest.Target, bids)
		}
		for _, want := range []reconcile.Key{"deploy:c", "deploy:b", "deploy:c"} {
			if err := b.Report(t.Context(), errors.New("503")); err != nil {
				t.Fatal(err)
			}
			d.advance(t, 10*time.Second)
			if b = first(t, r); b.Target != want {
				t.Errorf("granted %s, want %s", b.Target, want)
			}
		}
	})
}
