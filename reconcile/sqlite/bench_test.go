package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"trueup/reconcile"
)

// The figures stand in docs/performance.md. Batches are as large as a sweep makes them.
const batch = 256

func openBench(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), Options{Holder: "a benchmark"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func keys(n int) []reconcile.Key {
	all := make([]reconcile.Key, n)
	for i := range all {
		all[i] = reconcile.Key(fmt.Sprintf("command:target-%06d", i))
	}
	return all
}

// quietSweep is what a sweep that finds nothing to do writes.
func quietSweep(b *testing.B, s *Store, targets []reconcile.Key) {
	b.Helper()
	ask := reconcile.Ask{Targets: targets, Reason: "asked by claim 12 for everything", Claim: &reconcile.Claim{Epoch: "e", N: 12, Claimed: time.Now()}}
	if err := s.Commit(b.Context(), reconcile.Batch{Ask: []reconcile.Ask{ask}}); err != nil {
		b.Fatal(err)
	}
	for part := range slices.Chunk(targets, batch) {
		bids := make([]reconcile.Bid, len(part))
		for i, key := range part {
			bids[i] = reconcile.Bid{Target: key, Scopes: []reconcile.Scope{reconcile.Scope(key)}, Reason: ask.Reason}
		}
		answers, err := s.Grant(b.Context(), bids, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		ends := make([]reconcile.Settlement, len(answers))
		for i, a := range answers {
			ends[i] = reconcile.Settlement{Lease: a.Lease, Report: reconcile.Report{State: reconcile.OK, Policy: "p"}, Covered: true, Fingerprint: "f"}
		}
		if _, err := s.Settle(b.Context(), ends); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkQuietSweep is flat when the time per target is the same in each row.
func BenchmarkQuietSweep(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b)
			targets := keys(n)
			quietSweep(b, s, targets)
			for b.Loop() {
				quietSweep(b, s, targets)
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(each.Nanoseconds())/float64(n), "ns/target")
			if n <= 10_000 && each > time.Duration(n)*400*time.Microsecond {
				b.Errorf("a quiet sweep of %d targets takes %s: more than 0.4 ms a target", n, each)
			}
		})
	}
}

// BenchmarkWrites commits events through the ledger and, in turn, the same rows with nothing around them.
func BenchmarkWrites(b *testing.B) {
	for _, n := range []int{1, 16, batch} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := openBench(b)
			l, raw := benchLease(b, s, "command:web"), benchLease(b, s, "command:raw")
			facts := slices.Repeat([]reconcile.Fact{reconcile.Applied{Change: "user ada", Took: time.Second}}, n)
			_, data, _ := reconcile.EncodeFact(facts[0])
			last := 1
			compare(b, func() {
				a := reconcile.Append{Run: l.Run, Expected: last, Facts: facts}
				if err := s.Commit(b.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{a}}); err != nil {
					b.Fatal(err)
				}
			}, func() {
				rawInsert(b, s, raw.Run, last, n, string(data))
				last += n
			}, 2)
		})
	}
}

// compare times two things in turn, so that both have the same share of whatever else the machine does, and fails when
// the first takes more than so many times as long as the second.
func compare(b *testing.B, it, other func(), most float64) {
	b.Helper()
	var took [2]time.Duration
	for b.Loop() {
		for i, do := range []func(){it, other} {
			begin := time.Now()
			do()
			took[i] += time.Since(begin)
		}
	}
	ratio := float64(took[0]) / float64(took[1])
	b.ReportMetric(float64(took[0].Nanoseconds())/float64(b.N), "it-ns")
	b.ReportMetric(float64(took[1].Nanoseconds())/float64(b.N), "other-ns")
	b.ReportMetric(ratio, "times")
	if b.N >= 50 && ratio > most {
		b.Errorf("%.2f times as long, the bound is %.2f", ratio, most)
	}
}

func benchLease(b *testing.B, s *Store, target reconcile.Key) reconcile.Lease {
	b.Helper()
	answers, err := s.Grant(b.Context(), []reconcile.Bid{{Target: target}}, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	l := answers[0].Lease
	a := reconcile.Append{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}}}
	if err := s.Commit(b.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{a}}); err != nil {
		b.Fatal(err)
	}
	return l
}

// rawInsert is one transaction of inserts by prepared statements on the same connection, and nothing else.
func rawInsert(b *testing.B, s *Store, run reconcile.RunID, last, n int, data string) {
	b.Helper()
	do := func(query string, args ...any) {
		if _, err := s.writer.exec(query, args...); err != nil {
			b.Fatal(err)
		}
	}
	do("BEGIN IMMEDIATE")
	for i := range n {
		do("INSERT INTO events (run, seq, at, type, data) VALUES (?, ?, ?, ?, ?)", string(run), last+1+i, "2026-11-29T14:02:11.000000Z", "applied", data)
	}
	do("COMMIT")
}

// BenchmarkMillionEvents is what status reads, and what a one-target tick costs, in a ledger that is old.
func BenchmarkMillionEvents(b *testing.B) {
	old, young := openBench(b), openBench(b)
	for _, s := range []*Store{old, young} {
		quietSweep(b, s, keys(1000))
	}
	age(b, old, 1_000_000)
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			status(b, old.path)
		}
		if each := b.Elapsed() / time.Duration(b.N); each > 60*time.Millisecond {
			b.Errorf("status reads for %s, the bound is 60 ms", each)
		}
	})
	b.Run("tick", func(b *testing.B) {
		compare(b, func() { oneTick(b, old) }, func() { oneTick(b, young) }, 1.2)
	})
}

// age fills the ledger with runs of ten events of a thousand targets.
func age(b *testing.B, s *Store, events int) {
	b.Helper()
	for done := 0; done < events; done += 10 * batch {
		var bids []reconcile.Bid
		for _, key := range keys(1000)[done/10%700:][:batch] {
			bids = append(bids, reconcile.Bid{Target: key})
		}
		answers, err := s.Grant(b.Context(), bids, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		ends := make([]reconcile.Settlement, len(answers))
		for i, a := range answers {
			facts := []reconcile.Fact{reconcile.Leased{Lease: a.Lease}, reconcile.Planned{Policy: "p", Changes: reconcile.Plan{{ID: "a", Op: reconcile.Create, Text: "user ada"}}}}
			for range 7 {
				facts = append(facts, reconcile.Applied{Change: "a", Took: time.Second})
			}
			ends[i] = reconcile.Settlement{Lease: a.Lease, Facts: append(facts, reconcile.Succeeded{Changes: 7}), Report: reconcile.Report{State: reconcile.OK, Run: a.Lease.Run}, Covered: true}
		}
		if _, err := s.Settle(b.Context(), ends); err != nil {
			b.Fatal(err)
		}
	}
}

// status opens the ledger as a verb does and reads what its page shows.
func status(b *testing.B, path string) {
	b.Helper()
	s, err := Open(b.Context(), path, Options{ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	standings, err := s.Standings(b.Context())
	if err != nil || len(standings) != 1000 {
		b.Fatal(len(standings), err)
	}
	if _, err := s.Leases(b.Context()); err != nil {
		b.Fatal(err)
	}
	runs, err := s.Runs(b.Context(), "", 20)
	if err != nil {
		b.Fatal(err)
	}
	for _, run := range runs {
		if _, err := s.Events(b.Context(), run); err != nil {
			b.Fatal(err)
		}
	}
}

// oneTick is a tick of one target that changes something.
func oneTick(b *testing.B, s *Store) {
	b.Helper()
	target := reconcile.Key("command:target-000500")
	if err := s.Commit(b.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{target}}}}); err != nil {
		b.Fatal(err)
	}
	answers, err := s.Grant(b.Context(), []reconcile.Bid{{Target: target}}, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	l := answers[0].Lease
	a := reconcile.Append{Run: l.Run, Facts: []reconcile.Fact{reconcile.Leased{Lease: l}, reconcile.Planned{}}}
	if err := s.Commit(b.Context(), reconcile.Batch{Under: l.Fence, Append: []reconcile.Append{a}}); err != nil {
		b.Fatal(err)
	}
	end := reconcile.Settlement{Lease: l, Expected: 2, Facts: []reconcile.Fact{reconcile.Succeeded{}}, Report: reconcile.Report{State: reconcile.OK, Run: l.Run}, Covered: true}
	if answers, err := s.Settle(b.Context(), []reconcile.Settlement{end}); err != nil || answers[0] != nil {
		b.Fatal(answers, err)
	}
}

// BenchmarkOpen is what a oneshot pays before and after its work: opening, one transaction, closing.
func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	for b.Loop() {
		s, err := Open(b.Context(), path, Options{Holder: "a benchmark"})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Commit(b.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: keys(1)}}}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
