package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// A quick ticker finds nothing to do.
type quick struct{}

func (quick) Tick(context.Context, *reconcile.Run) (reconcile.Report, error) {
	return reconcile.Report{State: reconcile.OK}, nil
}

// BenchmarkRiver leases and settles targets that were asked for, by so many workers, and in turn works as many of river's jobs on
// the same server, and fails where river is quicker in most rounds (D3). Neither side's asking is measured: see docs/scale.md for what each
// does for a job.
func BenchmarkRiver(b *testing.B) {
	const rounds = 7
	river := startRiver(b)
	for _, c := range []struct{ workers, n int }{{1, 500}, {4, 1000}, {16, 2000}} {
		workers, n := c.workers, c.n
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := benchStore(b)
			r := &reconcile.Reconciler{Ledger: s, Tickers: map[reconcile.Key]reconcile.Ticker{}, TTL: 15 * time.Minute, Parallel: workers}
			for i := range n {
				key := reconcile.Key(fmt.Sprintf("command:target-%06d", i))
				r.Targets = append(r.Targets, reconcile.Target{Key: key})
				r.Tickers[key] = quick{}
			}
			var ours, singly, theirs time.Duration
			var times []float64
			for b.Loop() {
				for range rounds {
					we, they := claimAll(b, s, r), river.work(b, workers, n)
					ours, theirs, times = ours+we, theirs+they, append(times, they.Seconds()/we.Seconds())
				}
				singly += claimSingly(b, s, r)
			}
			done := float64(n * b.N)
			b.ReportMetric(done*rounds/ours.Seconds(), "claims/s")
			b.ReportMetric(done*rounds/theirs.Seconds(), "jobs/s")
			b.ReportMetric(done/singly.Seconds(), "singly/s")
			slices.Sort(times)
			ratio := times[len(times)/2]
			b.ReportMetric(ratio, "times")
			if ratio < 1 {
				b.Errorf("%d workers: %.2f times as quick as river, of %.2f", workers, ratio, times)
			}
		})
	}
}

// claimAll asks for every target, and leases, ticks and settles them: that is what it measures.
func claimAll(b *testing.B, s *Store, r *reconcile.Reconciler) time.Duration {
	b.Helper()
	ask := reconcile.Ask{Reason: "a benchmark"}
	for _, t := range r.Targets {
		ask.Targets = append(ask.Targets, t.Key)
	}
	if err := s.Commit(b.Context(), reconcile.Batch{Ask: []reconcile.Ask{ask}}); err != nil {
		b.Fatal(err)
	}
	begun := time.Now()
	o, err := r.Sweep(b.Context(), reconcile.Order{})
	took := time.Since(begun)
	if err != nil || len(o.Reports) != len(r.Targets) || len(o.Failed()) > 0 {
		b.Fatalf("%d of %d targets ticked, %v failed: %v", len(o.Reports), len(r.Targets), o.Failed(), err)
	}
	return took
}

// claimSingly leases and settles each target by itself, as by a tick by hand, which no sweep does.
func claimSingly(b *testing.B, s *Store, r *reconcile.Reconciler) time.Duration {
	b.Helper()
	begun := time.Now()
	todo := make(chan reconcile.Key)
	var workers sync.WaitGroup
	for range r.Parallel {
		workers.Go(func() {
			for key := range todo {
				answers, err := s.Grant(b.Context(), []reconcile.Bid{{Target: key}}, r.TTL)
				if err == nil {
					end := reconcile.Settlement{Lease: answers[0].Lease, Report: reconcile.Report{State: reconcile.OK}, Covered: true}
					_, err = s.Settle(b.Context(), []reconcile.Settlement{end})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for _, t := range r.Targets {
		todo <- t.Key
	}
	close(todo)
	workers.Wait()
	return time.Since(begun)
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), pgtest.URL(b), Options{Holder: "a benchmark"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// A rival is the program in testdata/river, in a schema of its own.
type rival struct {
	in  io.Writer
	out *bufio.Scanner
}

func startRiver(b *testing.B) *rival {
	b.Helper()
	program := filepath.Join(b.TempDir(), "river")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "testdata/river"
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building river's side: %v\n%s", err, out)
	}
	c := exec.CommandContext(b.Context(), program, pgtest.URL(b))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = c.Wait() // its context may have killed it
	})
	return &rival{in, bufio.NewScanner(out)}
}

// work has it work jobs.
func (r *rival) work(b *testing.B, workers, jobs int) (took time.Duration) {
	b.Helper()
	fmt.Fprintln(r.in, workers, jobs)
	if !r.out.Scan() {
		b.Fatalf("river gave up: %v", r.out.Err())
	}
	if _, err := fmt.Sscan(r.out.Text(), (*int64)(&took)); err != nil {
		b.Fatal(err)
	}
	return took
}
