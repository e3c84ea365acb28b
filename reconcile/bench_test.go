package reconcile_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
)

// BenchmarkQuietSweep sweeps targets of which nothing is to be done, on SQLite with full durability, and fails on a broken
// bound (B7): 1,000 ticks in 0.5 s, 10,000 in 4 s and 64 MB, at a cost for each that does not grow with their number.
func BenchmarkQuietSweep(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // as trueup sweep does
	each := map[int]time.Duration{}
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := b.TempDir() + "/ledger.db"
			store, err := sqlite.Open(b.Context(), path, sqlite.Options{Holder: "benchmark"})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			r := reconcile.Reconciler{Ledger: store, Tickers: map[reconcile.Key]reconcile.Ticker{}, TTL: 15 * time.Minute, Parallel: 8}
			for _, name := range many(n) {
				key := reconcile.Key("command:" + name)
				r.Targets = append(r.Targets, reconcile.Target{Key: key, Fingerprint: "x"})
				r.Tickers[key] = play(fine)
			}
			everything := reconcile.Wanted{All: true}
			sweep := func() {
				if _, err := r.Sweep(b.Context(), reconcile.Order{Owing: everything, Fresh: everything}); err != nil {
					b.Fatal(err)
				}
			}
			sweep()
			sweep()
			forgetPeak(b)
			for b.Loop() {
				sweep()
			}
			took := b.Elapsed() / time.Duration(b.N)
			each[n] = took / time.Duration(n)
			b.ReportMetric(float64(each[n].Nanoseconds()), "ns/tick")
			b.ReportMetric(peak(b), "MB-peak")
			if limit := map[int]time.Duration{1000: 500 * time.Millisecond, 10000: 4 * time.Second}[n]; limit > 0 && took > limit {
				b.Errorf("%d quiet ticks took %v, more than %v", n, took, limit)
			}
			if mb := peak(b); n == 10000 && mb > 64 {
				b.Errorf("%.0f MB for 10,000 targets", mb)
			}
		})
	}
	if small, large := each[1000], each[100000]; small > 0 && large > small*3/2 {
		b.Errorf("a tick among 100,000 takes %v, among 1,000 %v", large, small)
	}
}

// forgetPeak makes the kernel measure the peak of the memory in use anew.
func forgetPeak(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that was in use, in MB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscan(after, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
