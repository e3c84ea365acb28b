package postgres

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// BenchmarkCosts is what the server's processor does for a target that is asked for, leased, settled and read: that of one
// connection, which goes on counting where the machine is busy. With the claims of so many hosts, of which so many have asked since
// the target was settled before. The simulation in reconcile/simtest reckons with these figures.
func BenchmarkCosts(b *testing.B) {
	for _, c := range []struct{ targets, hosts, asking int }{{1, 1, 1}, {2000, 1, 1}, {2000, 10, 1}, {2000, 10, 10}} {
		b.Run(fmt.Sprintf("%d/%d/%d", c.targets, c.hosts, c.asking), func(b *testing.B) {
			s, err := Open(b.Context(), pgtest.URL(b)+"&pool_max_conns=1", Options{Holder: "a benchmark"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var keys []reconcile.Key
			for i := range c.targets {
				keys = append(keys, reconcile.Key(fmt.Sprintf("command:target-%06d", i)))
			}
			costing{b, s, map[string]time.Duration{}}.sweep(keys, c.hosts, 1)
			cost := costing{b, s, map[string]time.Duration{}}
			n := uint64(1)
			for b.Loop() {
				n++
				cost.sweep(keys, c.asking, n)
			}
			for what, took := range cost.took {
				calls := b.N
				if what == "ask" {
					calls *= c.asking
				}
				b.ReportMetric(float64(took.Microseconds())/float64(calls*c.targets), "us/"+what)
			}
		})
	}
}

type costing struct {
	*testing.B
	s    *Store
	took map[string]time.Duration
}

// sweep has so many hosts ask for everything under their n-th claims, leases and settles it in whole batches, and reads it.
func (c costing) sweep(keys []reconcile.Key, hosts int, n uint64) {
	for i := range hosts {
		claim := &reconcile.Claim{Epoch: fmt.Sprint("epoch-", i), N: n, Claimed: time.Now()}
		c.cost("ask", func() error {
			return c.s.Commit(c.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: keys, Reason: "a benchmark", Claim: claim}}})
		})
	}
	for len(keys) > 0 {
		n := min(256, len(keys))
		bids := make([]reconcile.Bid, n)
		for i, key := range keys[:n] {
			bids[i] = reconcile.Bid{Target: key, Scopes: []reconcile.Scope{reconcile.Scope(key)}}
		}
		keys = keys[n:]
		var answers []reconcile.Answer
		c.cost("grant", func() (err error) {
			answers, err = c.s.Grant(c.Context(), bids, time.Minute)
			return err
		})
		c.cost("refusal", func() error {
			_, err := c.s.Grant(c.Context(), bids, time.Minute)
			return err
		})
		ends := make([]reconcile.Settlement, n)
		for i, a := range answers {
			ends[i] = reconcile.Settlement{Lease: a.Lease, Report: reconcile.Report{State: reconcile.OK}, Covered: true}
		}
		c.cost("settle", func() error {
			_, err := c.s.Settle(c.Context(), ends)
			return err
		})
	}
	c.cost("read", func() error {
		_, err := c.s.Standings(c.Context(), "epoch-0")
		return err
	})
}

// cost adds what the server's process has done meanwhile.
func (c costing) cost(what string, do func() error) {
	c.Helper()
	before := c.busy()
	if err := do(); err != nil {
		c.Fatal(err)
	}
	c.took[what] += c.busy() - before
}

// busy is how long the process of the one connection was on a processor.
func (c costing) busy() time.Duration {
	c.Helper()
	var pid int
	if err := c.s.pool.QueryRow(c.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		c.Fatal(err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		c.Fatal(err)
	}
	first, _, _ := bytes.Cut(line, []byte(" "))
	ns, err := strconv.ParseInt(strings.TrimSpace(string(first)), 10, 64)
	if err != nil {
		c.Fatal(err)
	}
	return time.Duration(ns)
}
