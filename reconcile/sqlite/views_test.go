package sqlite

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/export"
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
	rest := strings.Join([]string{l.Holder, string(l.Run), "test:one", "1", l.Since.Format(export.TimeForm), l.Until.Format(export.TimeForm), "by hand", ""}, "|")
	want := "scope|holder|run|target|fence|since|until|reason|item\ntest:one|" + rest + "\nrepo/acme|" + rest
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

// TestRunsNow shows runs that are open, and those that wait for approval: whose hold the record of their target still names.
func TestRunsNow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	s := reopen(t, path)
	hold := []reconcile.Fact{
		reconcile.Planned{Changes: reconcile.Plan{{ID: "a", Op: reconcile.Remove}}},
		reconcile.HeldBack{Digest: "d", Changes: []string{"a"}, Why: "too many"},
	}
	ends := func(end reconcile.Fact) []reconcile.Fact { return append(hold[:2:2], end) }
	const own = `{"run": "RUN", "why": "too many"}`
	want := []string{"run|phase|why"}
	for i, c := range []struct {
		facts        []reconcile.Fact
		record, want string
	}{
		{nil, "", "running|"},
		{hold, own, "running|too many"},
		{ends(reconcile.Succeeded{}), own, "held|too many"},
		{ends(reconcile.Failed{Error: "no"}), own, "held|too many"},
		{ends(reconcile.LeaseExpired{Why: "gone"}), own, "held|too many"},
		{ends(reconcile.Succeeded{}), "", ""},                                                 // nothing of it waits any more
		{ends(reconcile.Succeeded{}), `{"run": "r-00000", "why": "others"}`, ""},              // others wait in its place
		{ends(reconcile.Succeeded{}), `{"run": "RUN", "why": "x", "answer": "approved"}`, ""}, // answered
		{[]reconcile.Fact{reconcile.Succeeded{}}, "", ""},
	} {
		target := keys(20)[i]
		l := try(t, s, target).Lease
		end := reconcile.Settlement{Lease: l, Facts: append([]reconcile.Fact{reconcile.Leased{Lease: l}}, c.facts...), Report: reconcile.Report{State: reconcile.OK}}
		var err error
		if end.Fits(l, 0) == nil {
			_, err = s.Settle(t.Context(), []reconcile.Settlement{end})
		} else {
			err = s.Commit(t.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{{Run: l.Run, Facts: end.Facts}}})
		}
		if err == nil && c.record != "" {
			value := []byte(strings.ReplaceAll(c.record, "RUN", string(l.Run)))
			err = s.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{{Family: "held", Key: string(target), Value: value}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" {
			want = append(want, string(l.Run)+"|"+c.want)
		}
	}
	if got := shell(t, path, "select run, phase, why from runs_now"); got != strings.Join(want, "\n") {
		t.Errorf("runs_now:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}
