package ledgertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"trueup/reconcile"
)

func tallies() []archiveTest {
	return []archiveTest{
		{"each request is counted in one outcome", outcomes},
		{"a request of a tick that has begun is that tick's", tallyUnderway},
		{"what is gone stays counted", tallyGone},
		{"the outcomes sum up to the requests, whatever happens", tallySums},
	}
}

// tally is what was counted for a target.
func (s shelf) tally(target reconcile.Key) reconcile.Tally {
	s.Helper()
	all, err := s.archive().Tallies(s.Context())
	s.must(err)
	for _, t := range all {
		if t.Target == target {
			return t
		}
	}
	return reconcile.Tally{}
}

// counted wants a tally without its ticks.
func (s shelf) counted(when string, target reconcile.Key, want reconcile.Tally) {
	s.Helper()
	got := s.tally(target)
	want.Target, want.Ticks, got.Ticks = got.Target, nil, nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("%s: %s is counted as %+v, want %+v", when, target, got, want)
	}
}

func (s shelf) end(l reconcile.Lease, state reconcile.State) {
	s.Helper()
	s.must(s.settle(reconcile.Settlement{Lease: l, Report: reconcile.Report{State: state}, Covered: state == reconcile.OK}))
}

func outcomes(s shelf) {
	const one = "test:one"
	s.ask(nil, one)
	s.ask(nil, one)
	s.counted("asked twice", one, reconcile.Tally{Requests: 2, Coalesced: 1, Open: 1})
	s.end(s.grant(one).Lease, reconcile.Failing)
	s.counted("failed", one, reconcile.Tally{Requests: 2, Coalesced: 1, Open: 1})
	s.end(s.grant(one).Lease, reconcile.OK)
	s.counted("succeeded", one, reconcile.Tally{Requests: 2, Coalesced: 1, Ran: 1})
	s.end(s.grant(one).Lease, reconcile.OK) // which nobody asked for
	s.ask(nil, one)
	s.end(s.grant(one).Lease, reconcile.Held)
	s.end(s.grant(one).Lease, reconcile.Held) // still owed, and counted before
	s.counted("held", one, reconcile.Tally{Requests: 3, Coalesced: 1, Ran: 1, Held: 1})
	s.end(s.grant(one).Lease, reconcile.OK)
	s.counted("approved", one, reconcile.Tally{Requests: 3, Coalesced: 1, Ran: 1, Held: 1})

	other := s.another()
	blocker := other.grant("test:other", "shared").Lease
	s.ask(nil, one)
	s.reserved(bid(one, "shared"))
	s.reserved(bid(one, "shared"))
	s.counted("reserved by another process", one, reconcile.Tally{Requests: 4, Coalesced: 1, Ran: 1, Held: 1, HandedOver: 1})
	s.must(other.settle(quiet(blocker)))
	s.end(s.grant(one).Lease, reconcile.OK)
	s.counted("done later", one, reconcile.Tally{Requests: 4, Coalesced: 1, Ran: 1, Held: 1, HandedOver: 1})
	s.ask(nil, one)
	own := s.grant("test:other", "shared").Lease
	s.reserved(bid(one, "shared"))
	s.counted("reserved by this process", one, reconcile.Tally{Requests: 5, Coalesced: 1, Ran: 1, Held: 1, HandedOver: 1, Open: 1})
	s.must(s.settle(quiet(own)))

	s.store.Advance(time.Second)
	s.grant(one)
	s.store.Advance(2 * ttl)
	s.must(s.write(reconcile.Write{Family: "marker", Key: "k", Value: []byte("1")})) // lapses it
	want := map[reconcile.State]uint64{reconcile.OK: 4, reconcile.Failing: 1, reconcile.Held: 2, reconcile.Uncertain: 0, reconcile.Limited: 0, reconcile.Lapse: 1}
	if got := s.tally(one).Ticks; !maps.Equal(got, want) {
		s.Errorf("ticks %v, want %v", got, want)
	}
}

func tallyUnderway(s shelf) {
	const one = "test:one"
	s.ask(nil, one)
	first := s.grant(one).Lease
	s.ask(nil, one)
	s.ask(nil, one)
	s.counted("asked twice in a tick", one, reconcile.Tally{Requests: 3, Coalesced: 1, Open: 2})
	s.end(first, reconcile.OK)
	s.counted("the first has run", one, reconcile.Tally{Requests: 3, Coalesced: 1, Ran: 1, Open: 1})
	second := s.grant(one).Lease
	s.ask(nil, one)
	s.end(second, reconcile.Failing)
	s.counted("the second has failed", one, reconcile.Tally{Requests: 4, Coalesced: 1, Ran: 1, Open: 2})
	s.end(s.grant(one).Lease, reconcile.OK)
	s.counted("one tick for both", one, reconcile.Tally{Requests: 4, Coalesced: 2, Ran: 2})
}

func tallyGone(s shelf) {
	const one = "test:one"
	s.ask(nil, one)
	s.end(s.grant(one).Lease, reconcile.OK)
	s.ask(nil, one, "test:two")
	s.must(s.l.Commit(s.Context(), reconcile.Batch{Strange: 3, Forget: []reconcile.Key{one}}))
	s.counted("forgotten", "", reconcile.Tally{Requests: 5, Ran: 1, Dropped: 4})
	s.counted("another", "test:two", reconcile.Tally{Requests: 1, Open: 1})
	s.counted("forgotten", one, reconcile.Tally{})
	s.ask(nil, one)
	s.counted("declared again", one, reconcile.Tally{Requests: 1, Open: 1})
	if got := s.tally("").Ticks[reconcile.OK]; got != 1 {
		s.Errorf("%d ticks of targets that are gone, want 1", got)
	}
}

// tallySums does anything in any order, from two processes, and holds the books after each step.
func tallySums(s shelf) {
	seed := uint64(time.Now().UnixNano())
	s.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	desks := []bench{s.bench, s.another()}
	targets := []reconcile.Key{"test:one", "test:two", "test:three"}
	live := map[reconcile.Fence]func(reconcile.Settlement) error{}
	leases := []reconcile.Lease{}
	var asked uint64
	var before reconcile.Tally
	for range 150 {
		desk, target := desks[random.IntN(2)], targets[random.IntN(len(targets))]
		switch random.IntN(8) {
		case 0, 1, 2:
			desk.ask(nil, target)
			asked++
		case 3, 4:
			answers, err := desk.l.Grant(s.Context(), []reconcile.Bid{bid(target, reconcile.Scope(fmt.Sprint(random.IntN(3))))}, ttl)
			s.must(err)
			if l := answers[0].Lease; answers[0].Refused == nil {
				leases = append(leases, l)
				live[l.Fence] = desk.settle
			}
		case 5, 6:
			if n := len(leases); n > 0 {
				l := leases[random.IntN(n)]
				state := []reconcile.State{reconcile.OK, reconcile.OK, reconcile.Held, reconcile.Failing, ""}[random.IntN(5)]
				_ = live[l.Fence](reconcile.Settlement{Lease: l, Report: reconcile.Report{State: state}, Covered: state == reconcile.OK}) // may be over
			}
		case 7:
			switch random.IntN(3) {
			case 0:
				s.store.Advance(ttl + time.Second)
			case 1:
				s.must(desk.l.Commit(s.Context(), reconcile.Batch{Strange: 2}))
				asked += 2
			case 2:
				s.must(desk.l.Commit(s.Context(), reconcile.Batch{Forget: []reconcile.Key{target}}))
			}
		}
		before = s.balanced(asked, before)
	}
}

// balanced holds that every request that was ever asked is counted once, and that nothing that was counted is taken back.
func (s shelf) balanced(asked uint64, before reconcile.Tally) (all reconcile.Tally) {
	s.Helper()
	tallies, err := s.archive().Tallies(s.Context())
	s.must(err)
	for _, t := range tallies {
		if sum := t.Ran + t.Coalesced + t.Held + t.HandedOver + t.Dropped + t.Open; sum != t.Requests || t.Open > 2 {
			s.Fatalf("%+v: the outcomes sum up to %d", t, sum)
		}
		all.Requests, all.Ran, all.Coalesced = all.Requests+t.Requests, all.Ran+t.Ran, all.Coalesced+t.Coalesced
		all.Held, all.HandedOver, all.Dropped = all.Held+t.Held, all.HandedOver+t.HandedOver, all.Dropped+t.Dropped
	}
	if all.Requests != asked {
		s.Fatalf("%d requests are counted, and %d were made", all.Requests, asked)
	}
	if all.Ran < before.Ran || all.Coalesced < before.Coalesced || all.Held < before.Held || all.HandedOver < before.HandedOver || all.Dropped < before.Dropped {
		s.Fatalf("counted %+v and then %+v", before, all)
	}
	return all
}
