package sqlite

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
)

// shell asks Debian's sqlite3, as an operator does.
func shell(t *testing.T, path, query string) string {
	t.Helper()
	out, err := exec.Command("sqlite3", "-header", path, query).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3, which .ci/deps lists: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestWhoHolds answers "who holds it right now" with one line a scope, while a process holds it.
func TestWhoHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	asked := time.Now()
	answers, err := s.Grant(t.Context(), []reconcile.Bid{{Target: "test:one", Scopes: []reconcile.Scope{"test:one", "repo/acme"}, Reason: "by hand", Asked: asked}}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l := answers[0].Lease
	rest := strings.Join([]string{l.Holder, string(l.Run), "test:one", "1", l.Since.Format(timeForm), l.Until.Format(timeForm), "by hand"}, "|")
	want := "scope|holder|run|target|fence|since|until|reason\ntest:one|" + rest + "\nrepo/acme|" + rest
	if got := shell(t, path, "select * from who_holds"); got != want {
		t.Errorf("who_holds:\n%s\nwant:\n%s", got, want)
	}
	if _, err := s.Renew(t.Context(), []reconcile.Fence{l.Fence}, -time.Second); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, path, "select * from who_holds"); got != "" {
		t.Errorf("who_holds shows a lease that has run out:\n%s", got)
	}
}

// TestRunsNow compares the view's phases with the fold of the same events.
func TestRunsNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	hold := []reconcile.Fact{
		reconcile.Planned{Changes: reconcile.Plan{{ID: "a", Op: reconcile.Remove}}},
		reconcile.HeldBack{Digest: "d", Changes: []string{"a"}, Why: "too many"},
	}
	var want []string
	for _, c := range []struct{ facts, later []reconcile.Fact }{
		{}, {facts: hold}, // under way
		{facts: append(hold[:2:2], reconcile.Succeeded{})},
		{facts: append(hold[:2:2], reconcile.Failed{Error: "no"})},
		{facts: append(hold[:2:2], reconcile.LeaseExpired{Why: "gone"})},
		{facts: []reconcile.Fact{reconcile.Succeeded{}}},
		{facts: append(hold[:2:2], reconcile.Succeeded{}), later: []reconcile.Fact{reconcile.Approved{By: "ada"}}},
		{facts: append(hold[:2:2], reconcile.Succeeded{}), later: []reconcile.Fact{reconcile.Rejected{By: "ada"}}},
	} {
		target := keys(20)[len(want)]
		l := try(t, s, target).Lease
		facts := append([]reconcile.Fact{reconcile.Leased{Lease: l}}, c.facts...)
		end := reconcile.Settlement{Lease: l, Facts: facts, Report: reconcile.Report{State: reconcile.OK}}
		var err error
		if closes(end) {
			_, err = s.Settle(t.Context(), []reconcile.Settlement{end})
		} else {
			err = s.Commit(t.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: facts}}})
		}
		if err == nil && c.later != nil {
			err = s.Commit(t.Context(), reconcile.Batch{Append: []reconcile.Append{{Run: l.Run, Expected: len(facts), Facts: c.later}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if p := phase(t, s, l.Run); p == reconcile.Running || p == reconcile.AwaitsYou {
			want = append(want, string(l.Run)+"|"+string(p))
		}
	}
	if got := shell(t, path, "select run, phase from runs_now"); got != "run|phase\n"+strings.Join(want, "\n") || len(want) != 3 {
		t.Errorf("runs_now:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}
