// Package ledgertest is what each method of reconcile.Ledger and reconcile.WorkLedger promises, as tests. Every store passes them: a store's own
// tests call Run with a way to make one.
//
// The suite knows nothing of how a store keeps its data. What only one store can get wrong, such as a full disk or a
// database lock, is tested beside that store.
package ledgertest

import (
	"slices"
	"testing"
	"time"

	"trueup/reconcile"
)

// A Store is the data of one ledger, empty at first, as several processes see it.
type Store interface {
	// Open opens the data as one more process would. The suite closes what it opens.
	Open(t *testing.T) Ledger
	// Advance moves the clock that everything opened on this data reads; back when negative.
	Advance(d time.Duration)
	// Plant writes an event past the ledger's methods, as a newer trueup or damage would. One that is there is replaced.
	Plant(t *testing.T, run reconcile.RunID, seq int, typ, data string)
}

// A Ledger is one opened on the data of a Store. Closing it is the end of its process, as far as the store can tell.
type Ledger interface {
	reconcile.Ledger
	Close() error
}

// Run runs the suite of reconcile.Ledger, each test on data of its own.
func Run(t *testing.T, store func(t *testing.T) Store) {
	run(t, store, leases(), lapses(), runs(), asks(), settlements(), records(), restarts())
}

// RunWork runs the suite of reconcile.WorkLedger, which everything opened has to be as well.
func RunWork(t *testing.T, store func(t *testing.T) Store) { run(t, store, work()) }

func run(t *testing.T, store func(t *testing.T) Store, groups ...[]test) {
	for _, test := range slices.Concat(groups...) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of a test is waiting for the disk
			s := store(t)
			test.run(bench{T: t, store: s, l: opened(t, s)})
		})
	}
}

type test struct {
	name string
	run  func(b bench)
}

// opened opens the data and sees to it that it is closed in the end.
func opened(t *testing.T, s Store) Ledger {
	l := s.Open(t)
	t.Cleanup(func() { _ = l.Close() }) // a test may have closed it before
	return l
}
