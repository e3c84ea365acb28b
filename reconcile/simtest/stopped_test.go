package simtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/sqlite"
)

// short is the time of a lease that a test waits for.
const short = 2 * time.Second

// TestMain is also the other process of TestStoppedTickWritesNothing.
func TestMain(m *testing.M) {
	dir := os.Getenv("TRUEUP_TEST_SITE")
	if dir == "" {
		os.Exit(m.Run())
	}
	orders := bufio.NewScanner(os.Stdin)
	report, err := tickOnce(context.Background(), dir, "stopped", short, func() {
		fmt.Println(between)
		if !orders.Scan() {
			os.Exit(1) // the test is over
		}
	})
	fmt.Println(report.State, report.Note, err)
}

const between = "between two writes"

// A folder is an outside: a line for each write, with the fence that it was done under.
type folder struct {
	path  string
	pause func() // between the two writes of a change
}

func (f folder) lines() []string {
	text, _ := os.ReadFile(f.path) // before the first write there is none
	return strings.Fields(string(text))
}

func (f folder) Observe(context.Context, plan.Input) ([]string, error) { return f.lines(), nil }

func (f folder) Plan(_ plan.Input, seen []string) (p reconcile.Plan, err error) {
	if len(seen) == 0 || !strings.HasPrefix(seen[len(seen)-1], "second") {
		p = append(p, reconcile.Change{ID: "both", Op: reconcile.Update, Text: "two writes"})
	}
	return p, nil
}

func (f folder) Apply(ctx context.Context, in plan.Input, _ []string, _ reconcile.Change) error {
	if err := f.write("first", in.Fence); err != nil {
		return err
	}
	f.pause()
	if err := in.Guard(ctx); err != nil {
		return err
	}
	return f.write("second", in.Fence)
}

func (f folder) write(what string, fence reconcile.Fence) error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s/%d\n", what, fence)
	return errors.Join(err, file.Close())
}

// tickOnce is a tick by a process with a ledger on the disk.
func tickOnce(ctx context.Context, dir, holder string, ttl time.Duration, pause func()) (reconcile.Report, error) {
	store, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{Holder: holder})
	if err != nil {
		return reconcile.Report{}, err
	}
	defer store.Close()
	ticker := plan.New(folder{filepath.Join(dir, "outside"), pause}, nil, plan.Options[[]string]{})
	r := reconcile.Reconciler{Ledger: store, Targets: []reconcile.Target{{Key: "sim:a"}}, TTL: ttl, Parallel: 1,
		Tickers: map[reconcile.Key]reconcile.Ticker{"sim:a": ticker}}
	return r.Tick(ctx, "sim:a", "by hand")
}

// A tick that is stopped for twice its lease between two writes does not do the second: what another process has done
// meanwhile stands, and the ledger tells what happened (LCK-17).
func TestStoppedTickWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startTick(t, dir)
	c.stop()
	since := time.Now()
	report := tickWhenFree(t, dir)
	if report.State != reconcile.OK {
		t.Fatalf("the other's tick: %+v", report)
	}
	<-time.After(time.Until(since.Add(2 * short)))
	outside := folder{path: filepath.Join(dir, "outside")}
	before := outside.lines()
	if said := c.goOn(); !strings.Contains(said, reconcile.ErrLeaseLost.Error()) {
		t.Errorf("the stopped tick says: %s", said)
	}
	stopped, other := story(t, dir, 1), story(t, dir, 0)
	want := []string{fmt.Sprint("first/", stopped.Lease.Fence), fmt.Sprint("first/", other.Lease.Fence), fmt.Sprint("second/", other.Lease.Fence)}
	if after := outside.lines(); !slices.Equal(before, want) || !slices.Equal(after, want) {
		t.Errorf("written: %v before it went on, %v after; want %v", before, after, want)
	}
	if stopped.Phase != reconcile.Expired || stopped.Lease.Holder != "stopped" || len(stopped.Plan) != 1 || stopped.Applied("both") {
		t.Errorf("the stopped run is %s: %+v", stopped.Phase, stopped.Events)
	}
	if other.Phase != reconcile.Done || !other.Applied("both") || other.Lease.Fence <= stopped.Lease.Fence {
		t.Errorf("the other run is %s: %+v", other.Phase, other.Events)
	}
}

// tickWhenFree ticks as another process does, as soon as nobody holds the target.
func tickWhenFree(t *testing.T, dir string) reconcile.Report {
	t.Helper()
	for {
		report, err := tickOnce(t.Context(), dir, "another", ttl, func() {})
		if _, reserved := errors.AsType[*reconcile.ReservedError](err); !reserved {
			if err != nil {
				t.Fatal(err)
			}
			return report
		}
		<-time.After(short / 20)
	}
}

// story reads a run from the ledger, the last one first.
func story(t *testing.T, dir string, n int) reconcile.History {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"), sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	runs, err := store.Runs(t.Context(), "sim:a", 10)
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	events, err := store.Events(t.Context(), runs[n])
	if err != nil {
		t.Fatal(err)
	}
	h, err := reconcile.Fold(events)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A child is the other process.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	orders io.Writer
	said   *bufio.Scanner
}

// startTick begins a tick in another process, and returns when it is between its two writes.
func startTick(t *testing.T, dir string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command("/proc/self/exe"), dir: dir}
	c.cmd.Env = append(os.Environ(), "TRUEUP_TEST_SITE="+dir)
	c.cmd.Stderr = os.Stderr
	orders, err1 := c.cmd.StdinPipe()
	said, err2 := c.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, c.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		_ = c.cmd.Wait()
	})
	c.orders, c.said = orders, bufio.NewScanner(said)
	if c.said.Scan(); c.said.Text() != between {
		t.Fatalf("the tick says: %s", c.said.Text())
	}
	return c
}

// stop stops it at an instant at which it does not hold up every writer of the ledger.
func (c *child) stop() {
	c.t.Helper()
	lock, err := os.Open(filepath.Join(c.dir, "state.db.lock"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer lock.Close()
	for {
		var status syscall.WaitStatus
		c.signal(syscall.SIGSTOP)
		if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			c.t.Fatalf("stopping it: %v, %v", status, err)
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return
		}
		c.signal(syscall.SIGCONT)
	}
}

// goOn lets it go on, and returns how its tick ended.
func (c *child) goOn() string {
	c.t.Helper()
	c.signal(syscall.SIGCONT)
	if _, err := fmt.Fprintln(c.orders, "go on"); err != nil {
		c.t.Fatal(err)
	}
	c.said.Scan()
	return c.said.Text()
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}
