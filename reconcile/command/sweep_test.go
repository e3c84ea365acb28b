package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/sqlite"
)

// sweepDir names, to a test binary that is to be a sweep, the folder with its settings and its ledger.
const sweepDir = "TRUEUP_TEST_SWEEP"

func TestMain(m *testing.M) {
	dir := os.Getenv(sweepDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv(sweepDir)
	if _, err := sweep(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sweep ticks the target of a folder once, as `trueup sweep` does.
func sweep(ctx context.Context, dir string) (reconcile.Report, error) {
	const key = "command:web"
	var s Settings
	text, err := os.ReadFile(filepath.Join(dir, "settings.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &s)
	}
	if err != nil {
		return reconcile.Report{}, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"), sqlite.Options{Holder: "sweep"})
	if err != nil {
		return reconcile.Report{}, err
	}
	defer store.Close()
	r := reconcile.Reconciler{Ledger: store, Targets: []reconcile.Target{{Key: key}}, TTL: 15 * time.Minute, Parallel: 1,
		Tickers: map[reconcile.Key]reconcile.Ticker{key: plan.New(New(s), nil, plan.Options[Seen]{Breaker: plan.DefaultBreaker()})}}
	outcome, err := r.Sweep(ctx, reconcile.Order{Owing: reconcile.Wanted{All: true}})
	return outcome.Reports[key], err
}

// host is a folder with settings, for sweeps.
func host(t *testing.T, settings string) string {
	t.Helper()
	dir := t.TempDir()
	settings = strings.ReplaceAll(settings, "DIR", dir)
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// story is every run of a folder's ledger, the latest first, and what its commands printed.
func story(t *testing.T, dir string) (runs []reconcile.History, logs string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "ledger.db"), sqlite.Options{Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ids, err := store.Runs(t.Context(), "", 100)
	for _, id := range ids {
		events, broken := store.Events(t.Context(), id)
		run, senseless := reconcile.Fold(events)
		printed, unread := store.Logs(t.Context(), id)
		for _, l := range printed {
			logs += l.Stream + ": " + l.Text
		}
		runs, err = append(runs, run), errors.Join(err, broken, senseless, unread)
	}
	if err != nil {
		t.Fatal(err)
	}
	return runs, logs
}

// A sweep is killed while apply runs: apply dies with it, its lease is gone at once and not after a quarter of an hour,
// and the next sweep converges.
func TestKilledWhileApplying(t *testing.T) {
	dir := host(t, `
check: {shell: 'test -e DIR/made || exit 2'}
apply: {shell: 'if [ -e DIR/fifo ]; then exec 3>DIR/fifo; echo >&3; exec sleep 1000; fi; touch DIR/made'}
`)
	path := filepath.Join(dir, "fifo")
	if out, err := exec.Command("mkfifo", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first := exec.Command(os.Args[0])
	first.Env = append(os.Environ(), sweepDir+"="+dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	applying, err := os.Open(path) // waits until apply has opened it too
	if err != nil {
		t.Fatal(err)
	}
	defer applying.Close()
	if _, err := applying.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if err := applying.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := applying.Read(make([]byte, 10)); !errors.Is(err, io.EOF) { // its end of the pipe goes when it does
		t.Fatalf("apply lives on: %d, %v", n, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	report, err := sweep(t.Context(), dir)
	if err != nil || report.State != reconcile.OK || report.Changes != 1 {
		t.Errorf("the next sweep: %+v, %v", report, err)
	}
	runs, _ := story(t, dir)
	if len(runs) != 2 || runs[0].Phase != reconcile.Done || runs[1].Phase != reconcile.Expired {
		t.Errorf("the ledger tells %+v", runs)
	}
}

// REC-26, TRG-21: the report says ok when what was wanted is so, and not when a program said that it had done it.
func TestApplyIsConfirmed(t *testing.T) {
	dir := host(t, `
check: {shell: 'echo looking; test -e DIR/made || exit 2'}
apply: {shell: 'echo done; test ! -e DIR/works || touch DIR/made'}
`)
	report, err := sweep(t.Context(), dir)
	if err != nil || report.State != reconcile.Failing {
		t.Errorf("apply did nothing: %+v, %v", report, err)
	}
	if _, logs := story(t, dir); !strings.Contains(logs, "check: looking\n") || !strings.Contains(logs, "apply: done\n") {
		t.Errorf("the ledger keeps of what was printed: %q", logs)
	}
	if err := os.WriteFile(filepath.Join(dir, "works"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if report, err = sweep(t.Context(), dir); err != nil || report.State != reconcile.OK {
		t.Errorf("apply did its work: %+v, %v", report, err)
	}
}
