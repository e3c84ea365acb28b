package kindtest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/sqlite"
)

// ttl is how long leases live. No process of the suite lives as long: a lease ends by the end of its process.
const ttl = 15 * time.Minute

// A host runs one process after the other over one world and one ledger.
type host[W any] struct {
	testing.TB
	World[W]
	stand   func(testing.TB) World[W]
	ledger  string
	later   time.Duration // by how much the ledger's clock is ahead
	applied []reconcile.Change
}

// newHost is a host on which the target was true once, so that removals within the bounds need nobody.
func newHost[W any](t testing.TB, stand func(testing.TB) World[W]) *host[W] {
	h := &host[W]{TB: t, World: stand(t), stand: stand, ledger: filepath.Join(t.TempDir(), "state.db")}
	h.process(func(ctx context.Context, l reconcile.Ledger) {
		granted, err := l.Grant(ctx, []reconcile.Bid{{Target: h.Target.Key, Scopes: h.Target.Holds(), Reason: "test"}}, ttl)
		if err == nil {
			_, err = l.Settle(ctx, []reconcile.Settlement{{Lease: granted[0].Lease, Report: reconcile.Report{State: reconcile.OK}, Covered: true}})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if h.State() == h.Want {
		t.Fatal("the world is as it is wanted from the start, so the suite has nothing to show")
	}
	return h
}

// again is another host, over a world of its own.
func (h *host[W]) again() *host[W] {
	h.Helper()
	return newHost(h.TB, h.stand)
}

// process opens the ledger as one process does, and closes it however that ends.
func (h *host[W]) process(do func(context.Context, reconcile.Ledger)) {
	h.Helper()
	ctx := h.Context()
	store, err := sqlite.Open(ctx, h.ledger, sqlite.Options{Holder: "kindtest", Clock: func() time.Time { return time.Now().Add(h.later) }})
	if err != nil {
		h.Fatal(err)
	}
	defer store.Close()
	do(ctx, store)
}

// sweep is one process that sweeps once, watched by a probe, and the target's report.
func (h *host[W]) sweep(p *probe) (reconcile.Report, error) {
	h.Helper()
	return h.sweepUnder(h.Context(), p)
}

func (h *host[W]) sweepUnder(ctx context.Context, p *probe) (report reconcile.Report, err error) {
	h.Helper()
	h.process(func(_ context.Context, l reconcile.Ledger) {
		watched := &probedLedger{Ledger: l, probe: p, writes: h.Writes, wrong: h.Errorf, seen: h.Writes()}
		r := reconcile.Reconciler{Ledger: watched, Targets: []reconcile.Target{h.Target}, TTL: ttl, Parallel: 1,
			Tickers: map[reconcile.Key]reconcile.Ticker{h.Target.Key: h.ticker(p)}}
		var outcome reconcile.Outcome
		outcome, err = r.Sweep(ctx, reconcile.Order{Owing: reconcile.Wanted{All: true}})
		watched.look(0)
		report = outcome.Reports[h.Target.Key]
	})
	return report, err
}

func (h *host[W]) ticker(p *probe) *plan.Ticker[W] {
	return plan.New(probeKind(h.Kind(), p, func(c reconcile.Change) { h.applied = append(h.applied, c) }), h.reader(), h.Options)
}

func (h *host[W]) reader() plan.Reader {
	if h.Reader == nil {
		return nil
	}
	return h.Reader()
}

// outlook is what a tick would do.
func (h *host[W]) outlook() (o plan.Outlook) {
	h.Helper()
	h.process(func(ctx context.Context, l reconcile.Ledger) {
		known, err := l.Standings(ctx)
		if err != nil || len(known) != 1 {
			h.Fatalf("standings: %d, %v", len(known), err)
		}
		if o, err = h.ticker(&probe{}).Preview(ctx, h.Target, known[0], l); err != nil {
			h.Fatal(err)
		}
	})
	return o
}

// runs are the runs on record, the latest first.
func (h *host[W]) runs() (runs []reconcile.History) {
	h.Helper()
	h.process(func(ctx context.Context, l reconcile.Ledger) {
		names, err := l.Runs(ctx, h.Target.Key, 1000)
		for _, name := range names {
			events, broken := l.Events(ctx, name)
			run, senseless := reconcile.Fold(events)
			runs, err = append(runs, run), errors.Join(err, broken, senseless)
		}
		if err != nil {
			h.Fatal(err)
		}
	})
	return runs
}

// converges sweeps as new processes do, until all is as it is wanted, and holds how it came to be so.
func (h *host[W]) converges(after string) {
	h.Helper()
	var report reconcile.Report
	for range 3 {
		var err error
		if report, err = h.sweep(&probe{}); err != nil {
			h.Errorf("%s: sweeping: %v", after, err)
			return
		}
		if report.State == reconcile.OK {
			break
		}
	}
	if got := h.State(); got != h.Want || report.State != reconcile.OK {
		h.Errorf("%s: it is\n%s\nand not\n%s\nreport: %+v", after, got, h.Want, report)
	}
	once := map[string]int{}
	for _, c := range h.applied {
		if once[c.ID]++; c.Once && once[c.ID] > 1 {
			h.Errorf("%s: %q, which is not idempotent, was done %d times", after, c.Text, once[c.ID])
		}
	}
}
