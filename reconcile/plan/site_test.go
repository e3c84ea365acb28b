package plan_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/sqlite"
)

const acme = reconcile.Key("org:acme")

// A site is an org, its policy in a file, and a ledger.
type site struct {
	*testing.T
	org    *kindtest.Org
	kind   plan.Kind[kindtest.Roster]
	file   string
	ledger *sqlite.Store
	later  time.Duration // by how much the ledger's clock is ahead

	ledgerPath string
}

// open is a site whose members are as they are wanted, as one tick has found.
func open(t *testing.T, members ...string) *site {
	s := &site{T: t, org: kindtest.NewOrg(roles(members...)), file: filepath.Join(t.TempDir(), "policy.yaml")}
	s.kind = kindtest.OrgKind{Org: s.org}
	var err error
	clock := func() time.Time { return time.Now().Add(s.later) }
	s.ledgerPath = filepath.Join(t.TempDir(), "state.db")
	if s.ledger, err = sqlite.Open(t.Context(), s.ledgerPath, sqlite.Options{Clock: clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.ledger.Close() })
	s.want(members...)
	s.expect(s.sweep(), reconcile.OK, "")
	return s
}

// roles are members by name; "ada:admin" has that role, "ada" is a plain member.
func roles(members ...string) map[string]string {
	of := map[string]string{}
	for _, m := range members {
		name, role, given := strings.Cut(m, ":")
		if !given {
			role = "member"
		}
		of[name] = role
	}
	return of
}

// people are so many names, from a number on.
func people(from, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("user%03d", from+i))
	}
	return names
}

// want writes the policy.
func (s *site) want(members ...string) {
	s.Helper()
	text, err := json.Marshal(roles(members...))
	if err != nil {
		s.Fatal(err)
	}
	s.write(string(text) + "\n")
}

func (s *site) write(text string) {
	s.Helper()
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *site) ticker() *plan.Ticker[kindtest.Roster] {
	options := kindtest.OrgKind{}.Options()
	options.Policy = policy.Source{File: s.file}
	return plan.New(s.kind, policy.NewReader(s.Context(), http.DefaultTransport), options)
}

func (s *site) sweep() reconcile.Report {
	s.Helper()
	r := reconcile.Reconciler{Ledger: s.ledger, Targets: []reconcile.Target{{Key: acme}}, TTL: time.Hour, Parallel: 1,
		Tickers: map[reconcile.Key]reconcile.Ticker{acme: s.ticker()}}
	o, err := r.Sweep(s.Context(), reconcile.Order{Owing: reconcile.Wanted{All: true}})
	if err != nil {
		s.Fatal(err)
	}
	return o.Reports[acme]
}

func (s *site) expect(r reconcile.Report, state reconcile.State, words string) {
	s.Helper()
	if r.State != state || !strings.Contains(r.Note, words) {
		s.Fatalf("the tick ended as %s: %q, want %s with %q", r.State, r.Note, state, words)
	}
}

// has expects the org to have so many people of whom some have a word in their line.
func (s *site) has(n int, word string, of int) {
	s.Helper()
	lines := strings.Split(s.org.State(), "\n")
	with := 0
	for _, l := range lines {
		if strings.Contains(l, word) {
			with++
		}
	}
	if len(lines) != n || with != of {
		s.Fatalf("the org has %d people, %d of them with %q; want %d and %d:\n%s", len(lines), with, word, n, of, s.org.State())
	}
}

// history reads a run.
func (s *site) history(run reconcile.RunID) reconcile.History {
	s.Helper()
	events, err := s.ledger.Events(s.Context(), run)
	if err != nil {
		s.Fatal(err)
	}
	h, err := reconcile.Fold(events)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// held are the runs that held something back.
func (s *site) held() (held []reconcile.RunID) {
	s.Helper()
	runs, err := s.ledger.Runs(s.Context(), acme, 1000)
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(runs, func(r reconcile.RunID) bool { return s.history(r).Hold == nil })
}

func (s *site) approve(run reconcile.RunID) {
	s.Helper()
	if _, err := plan.Approve(s.Context(), s.ledger, plan.Allowance{Run: run, By: "grace", For: time.Hour}); err != nil {
		s.Fatal(err)
	}
}

// refuses expects that a run cannot be approved.
func (s *site) refuses(run reconcile.RunID, words string) {
	s.Helper()
	_, err := plan.Approve(s.Context(), s.ledger, plan.Allowance{Run: run, By: "heidi", For: time.Hour})
	if err == nil || !strings.Contains(err.Error(), words) {
		s.Fatalf("approving run %s: %v, want a refusal with %q", run, err, words)
	}
}

// outlook is what a tick would do.
func (s *site) outlook(ctx context.Context) plan.Outlook {
	s.Helper()
	known, err := s.ledger.Standings(ctx)
	if err != nil {
		s.Fatal(err)
	}
	o, err := s.ticker().Preview(ctx, reconcile.Target{Key: acme}, known[0], s.ledger)
	if err != nil {
		s.Fatal(err)
	}
	return o
}
