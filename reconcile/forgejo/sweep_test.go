package forgejo

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/sqlite"
)

// Case RTL-04: the instant that a limit names is kept with the target, whose lease is given back: until then no process calls, and
// then one goes on.
func TestLimitIsKeptBetweenProcesses(t *testing.T) {
	server := stand(t)
	database, later := filepath.Join(t.TempDir(), "ledger.db"), time.Duration(0)
	target, s := reconcile.Target{Key: "forgejo:main"}, settings(t, server.URL, fake.Token)
	sweep := func() (report reconcile.Report, leases int) {
		t.Helper()
		clock := func() time.Time { return time.Now().Add(later) }
		ledger, err := sqlite.Open(t.Context(), database, sqlite.Options{Holder: "test", Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer ledger.Close()
		ticker := plan.New(New(s, "policy.yaml"), always(wanted), Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 10, Fraction: 1}}))
		r := reconcile.Reconciler{Ledger: ledger, Targets: []reconcile.Target{target}, TTL: time.Minute, Parallel: 1,
			Tickers: map[reconcile.Key]reconcile.Ticker{target.Key: ticker}}
		outcome, err := r.Sweep(t.Context(), reconcile.Order{Owing: reconcile.Wanted{All: true}})
		if err != nil {
			t.Fatal(err)
		}
		live, err := ledger.Leases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Reports[target.Key], len(live)
	}
	server.Meddle(once(http.MethodPost, "/admin/users", fake.Fault{Code: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "600"}}))
	if report, leases := sweep(); report.State != reconcile.Limited || leases != 0 {
		t.Fatalf("limited, it ends as %+v, with %d leases", report, leases)
	}
	calls := server.Calls()
	if sweep(); server.Calls() != calls {
		t.Errorf("%d calls before the instant that the server named", server.Calls()-calls)
	}
	later = 11 * time.Minute
	report, _ := sweep()
	if report.State == reconcile.Limited || server.Calls() == calls {
		t.Errorf("after it, it ends as %+v", report)
	}
}
