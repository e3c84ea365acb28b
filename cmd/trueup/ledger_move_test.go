package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/postgres/pgtest"
)

// history writes an export with so many runs of a hundred targets.
func history(t *testing.T, n int) []byte {
	t.Helper()
	const at = "2026-11-29T14:02:11.123456Z"
	when, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		t.Fatal(err)
	}
	var runs, events, standings bytes.Buffer
	rows := 0
	line := func(to *bytes.Buffer, format string, args ...any) { fmt.Fprintf(to, format+"\n", args...); rows++ }
	leases := make([]reconcile.Lease, n)
	for i := range leases {
		target := reconcile.Key(fmt.Sprintf("command:t%02d", i%100))
		f := reconcile.Fence(i + 1)
		leases[i] = reconcile.Lease{Fence: f, Run: reconcile.NewRunID(f), Target: target, Scopes: []reconcile.Scope{reconcile.Scope(target)}, Holder: "a test", Since: when, Until: when.Add(time.Hour)}
		line(&runs, `{"runs":{"fence":%d,"run":%q,"target":%q,"opened":%q}}`, f, leases[i].Run, target, at)
	}
	for i := range min(n, 100) {
		line(&standings, `{"standings":{"target":"command:t%02d","asked":0,"asked_at":null,"reason":"","claim_epoch":null,"claim_n":null,"claim_at":null,"claim_asked":0,"covered":%d,"covered_at":%q,"settled_epoch":null,"settled_n":null,"settled_at":null,"ticked":%[3]q,"failures":0,"not_before":null,"since":%[3]q,"state":"ok","note":"é \u2028","run":"","changes":0,"policy":"","good":null,"fingerprint":"x"}}`, i, i+1, at)
	}
	slices.SortFunc(leases, func(a, b reconcile.Lease) int { return strings.Compare(string(a.Run), string(b.Run)) })
	for _, l := range leases {
		facts := []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Planned{Changes: reconcile.Plan{{ID: "a", Op: "+", Text: "member \"ada\" <ä>"}}},
			reconcile.Applied{Change: "a", Took: time.Second}, reconcile.Succeeded{Changes: 1}}
		for seq, fact := range facts {
			typ, data, err := reconcile.EncodeFact(fact)
			if err != nil {
				t.Fatal(err)
			}
			line(&events, `{"events":{"run":%q,"seq":%d,"at":%q,"type":%q,"data":%s}}`, l.Run, seq+1, at, typ, data)
		}
	}
	head := fmt.Sprintf(`{"trueup":"ledger","version":1,"schema":5,"fence":%d}`+"\n", n)
	end, err := json.Marshal(map[string]any{"end": map[string]int{"rows": rows}})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]byte(head), runs.Bytes(), events.Bytes(), standings.Bytes(), end, []byte("\n"))
}

func stateOf(t *testing.T, state string) *config.Config {
	t.Helper()
	c, err := config.StateOf(state)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// exportOf digests a ledger; an error where there is none.
func exportOf(t *testing.T, c *config.Config) (string, error) {
	t.Helper()
	s, err := openStore(t.Context(), c, opening{readOnly: true})
	if err != nil {
		return "", err
	}
	defer s.Close()
	sum := sha256.New()
	err = s.Export(t.Context(), sum)
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

// TestMoveThereAndBack moves a ledger to PostgreSQL and back: it exports the same all the way. With TRUEUP_PROVE=1 it
// has 100,000 runs.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	runs := 2000
	if os.Getenv("TRUEUP_PROVE") == "1" {
		runs = 100_000
	}
	dir := t.TempDir()
	places := []*config.Config{stateOf(t, "sqlite://"+dir+"/one.db"), stateOf(t, pgtest.URL(t)), stateOf(t, "sqlite://"+dir+"/two.db")}
	began := time.Now()
	if err := importStore(t.Context(), places[0], bytes.NewReader(history(t, runs))); err != nil {
		t.Fatal(err)
	}
	t.Logf("imported %d runs in %s", runs, time.Since(began))
	want, err := exportOf(t, places[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, to := range places[1:] {
		began = time.Now()
		if err := moveLedger(t.Context(), places[i], to); err != nil {
			t.Fatal(err)
		}
		t.Logf("moved to %s in %s", to.Database(), time.Since(began))
		if got, err := exportOf(t, to); err != nil || got != want {
			t.Errorf("moved to %s it exports otherwise, %v", to.Database(), err)
		}
	}
	s, err := openStore(t.Context(), places[2], opening{holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	answers, err := s.Grant(t.Context(), []reconcile.Bid{{Target: "command:t00", Scopes: []reconcile.Scope{"command:t00"}}}, time.Minute)
	if err != nil || answers[0].Refused != nil || answers[0].Lease.Fence <= reconcile.Fence(runs) {
		t.Errorf("granted %+v, %v; want a fence above %d", answers, err, runs)
	}
}

// TestMoveToItself is refused, by whatever address the ledger is named, and leaves it open.
func TestMoveToItself(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	byTCP := func(address string) string {
		return strings.Replace(server.TCP(pgtest.Schema(address)), "trueup@", "trueup:trueup@", 1)
	}
	here := stateOf(t, pgtest.URL(t))
	there := *here
	there.State = byTCP(here.State)
	if err := importStore(t.Context(), here, bytes.NewReader(history(t, 10))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := moveLedger(ctx, here, &there); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("moved to itself: %v", err)
	}
	s, err := openStore(t.Context(), here, opening{holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"command:t00"}}}}); err != nil {
		t.Errorf("it is not open any more: %v", err)
	}
}

// TestMoveOfWhatIsNoText moves a ledger with what a command printed that PostgreSQL does not take.
func TestMoveOfWhatIsNoText(t *testing.T) {
	t.Parallel()
	const log = `{"logs":{"id":1,"run":"r-00001","at":"2026-11-29T14:02:11.123456Z","stream":"check","text":{"base64":"YQBi/w=="},"cut":0}}` + "\n"
	text := strings.Replace(string(history(t, 1)), `{"standings":`, log+`{"standings":`, 1)
	text = strings.Replace(text, `"rows":6`, `"rows":7`, 1)
	from, to := stateOf(t, "sqlite://"+t.TempDir()+"/one.db"), stateOf(t, pgtest.URL(t))
	if err := importStore(t.Context(), from, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if err := moveLedger(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(t.Context(), to, opening{readOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if logs, err := s.Logs(t.Context(), "r-00001"); err != nil || len(logs) != 1 || logs[0].Text != "a\ufffdb\ufffd" {
		t.Errorf("logs %+v, %v", logs, err)
	}
}

// TestMoveKilledAnywhere kills moves at some moment: the ledger is where it was, and open, or wholly at the new place.
func TestMoveKilledAnywhere(t *testing.T) {
	export := history(t, 150)
	for _, back := range []bool{false, true} {
		whole := moveKilled(t, export, back, time.Minute)
		for _, part := range []time.Duration{60, 80, 95} {
			moveKilled(t, export, back, whole*part/100)
		}
	}
}

// moveKilled moves a ledger to PostgreSQL, or back, with a kill after a time, and gives the time that it took.
func moveKilled(t *testing.T, export []byte, back bool, after time.Duration) time.Duration {
	t.Helper()
	dir := t.TempDir()
	from, to := stateOf(t, "sqlite://"+dir+"/one.db"), stateOf(t, pgtest.URL(t))
	if back {
		from, to = to, from
	}
	if err := importStore(t.Context(), from, bytes.NewReader(export)); err != nil {
		t.Fatal(err)
	}
	want, err := exportOf(t, from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/trueup.yaml", fmt.Sprintf("version: 1\ntrigger: {spool: %[1]s/spool, state: %[1]s/state}\noutbox: %[1]s/outbox\nstate: %[2]q\n", dir, from.State))
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	began := time.Now()
	move := exec.CommandContext(ctx, "trueup", "ledger", "move", "-c", filepath.Join(dir, "trueup.yaml"), "--to", to.State)
	move.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // or it lives on for a second
	said, err := move.CombinedOutput()
	took := time.Since(began)
	if err != nil && ctx.Err() == nil {
		t.Fatalf("%v: %s", err, said)
	}
	closed, copied := arrivedWhole(t, from, to, want)
	t.Logf("back %t, after %s: killed %t, old one closed %t, there is a copy %t", back, took, err != nil, closed, copied)
	return took
}

// arrivedWhole wants the ledger open where it was, or closed there and whole at the new place.
func arrivedWhole(t *testing.T, from, to *config.Config, want string) (closed, copied bool) {
	t.Helper()
	old, err := openStore(t.Context(), from, opening{holder: "a test", leaving: true})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	err = old.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"command:t00"}, Reason: "a test"}}})
	arrived, readErr := exportOf(t, to)
	switch {
	case err == nil: // what is there of the other, if anything, is a copy that nobody has used
	case !errors.Is(err, reconcile.ErrUnwritable) || !strings.Contains(err.Error(), "it has moved to "+to.State):
		t.Errorf("the old one is neither open nor closed: %v", err)
	case readErr != nil || arrived != want:
		t.Errorf("the old one is closed, and the new one is not whole: %v", readErr)
	}
	return err != nil, arrived == want
}
