package reconcile_test

import (
	"context"
	"testing"
	"time"

	"trueup/reconcile"
)

// Each test here is a way to cover a ticket before its write is in, or never (B3). A ticket g is covered when the number is
// above it; who reads g and touches is taken by a claim above g.

// A touch while another process holds the target: that one has observed already.
func TestTicketOfATargetHeldElsewhere(t *testing.T) {
	s := newStage(t, "a", "b")
	s.covers(s.sweep(s.claim()), 1, "at first")
	other := s.beside("tick")
	var o reconcile.Outcome
	ticks := 0
	other.Tickers = map[reconcile.Key]reconcile.Ticker{"command:a": play(func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		if ticks++; ticks == 1 {
			o = s.sweep(s.claim()) // it has observed, and now somebody touches
		}
		return reconcile.Report{State: reconcile.OK}, nil
	})}
	if _, err := other.Tick(t.Context(), "command:a", "by hand"); err != nil {
		t.Fatal(err)
	}
	equal(t, o.Reports["command:a"].State, reconcile.Elsewhere, "what the sweep found")
	s.covers(o, 1, "while it was held")
	equal(t, ticks, 2, "ticks by the holder, which finds the target owed when it gives it back")
	equal(t, s.settled("a", "E"), uint64(2), "the claim that its second tick covers")
	s.covers(s.sweep(s.claim()), 3, "by the next sweep")
}

// The holder dies before it can look: the target stays owed.
func TestTicketOfATargetWhoseHolderDied(t *testing.T) {
	s := newStage(t, "a", "b")
	s.sweep(s.claim())
	dying := s.process("dying")
	if _, err := dying.Grant(t.Context(), []reconcile.Bid{{Target: "command:a", Scopes: []reconcile.Scope{"command:a"}}}, 15*time.Minute); err != nil {
		t.Fatal(err)
	}
	s.covers(s.sweep(s.claim()), 1, "while it was held")
	dying.Close()
	o := s.sweep(s.retry())
	equal(t, o.Reports["command:a"].State, reconcile.OK, "after its holder's death, 900 s before its lease's end")
	s.covers(o, 2, "after that")
	equal(t, s.story(s.runs("a")[0]), "leased lease_expired", "the dead tick's run")
}

// A retry ticks only what is owed, and covers no ticket of those who read the retry's own number.
func TestRetryTicksOnlyWhatIsOwed(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", fails)
	s.covers(s.sweep(s.claim()), 0, "with b failing")
	equal(t, s.settled("a", "E"), uint64(1), "a alone")
	s.since()
	s.plays("b", fine)
	o := s.sweep(s.retry())
	equal(t, s.since(), "b", "ticked by the retry")
	s.covers(o, 1, "a was not observed after claim 2")
}

// A touch merged into a retry is for everything again.
func TestTouchMergedIntoARetry(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", fails)
	s.sweep(s.claim())
	s.since()
	s.plays("b", fine)
	s.covers(s.sweep(s.claim()), 2, "with the touch")
	equal(t, len(s.ticked), 2, "ticks")
}

// A sweep that dies before it has recorded its claim leaves the next one to ask for all that is owed.
func TestClaimThatWasNeverRecorded(t *testing.T) {
	s := newStage(t, "a", "b")
	s.sweep(s.claim())
	s.since()
	s.claim() // the sweep behind it is killed
	s.covers(s.sweep(s.retry()), 3, "after the retry")
	equal(t, len(s.ticked), 2, "ticks")
}

// The same claim twice, as after a kill in mid-sweep, asks once.
func TestClaimIsRecordedOnce(t *testing.T) {
	s := newStage(t, "a", "b")
	order := s.claim()
	s.sweep(order)
	asked := s.standing("a").Asked
	s.since()
	s.covers(s.sweep(order), 1, "the second time")
	equal(t, s.standing("a").Asked, asked, "what is asked of it")
	equal(t, s.since(), "", "ticked again")
}

// A request for one target beside a failing one is covered for itself, and covers nothing for everybody.
func TestRequestBesideAFailingTarget(t *testing.T) {
	s := newStage(t, "a", "b")
	s.sweep(s.claim())
	s.plays("b", fails)
	s.sweep(s.claim("b"))
	s.sweep(s.claim("a"))
	equal(t, s.settled("a", "E"), uint64(3), "a")
	equal(t, s.settled("b", "E"), uint64(1), "b")
	s.plays("b", fine)
	s.covers(s.sweep(s.claim()), 4, "by the second sweep after the obstacle")
}

// A target that was held back stays owed, and is covered once what it held is allowed (RTL-08).
func TestHeldTargetIsCoveredLater(t *testing.T) {
	s := newStage(t, "a", "b")
	s.sweep(s.claim())
	s.plays("a", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		return reconcile.Report{State: reconcile.Held, Note: "4 of 4"}, nil
	})
	o := s.sweep(s.claim())
	equal(t, len(o.Failed()), 0, "failures")
	s.covers(o, 1, "while it is held")
	s.plays("a", fine)
	// Somebody approves: an ask without a ticket. The tick after it answers the claim from before, too.
	if err := s.store.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"command:a"}, Reason: "approved"}}}); err != nil {
		t.Fatal(err)
	}
	s.since()
	s.covers(s.sweep(s.claim("b")), 2, "after the approval")
}

// A sweep by hand answers no ticket that it could have observed too early, and all that were asked before it.
func TestSweepByHand(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", fails)
	s.sweep(s.claim())
	s.plays("b", fine)
	everything := reconcile.Wanted{All: true}
	s.sweep(reconcile.Order{Owing: everything, Fresh: everything})
	equal(t, s.settled("b", "E"), uint64(1), "the claim from before")
	s.covers(s.sweep(s.retry()), 1, "nothing of the claim after")
}

// Numbers of another epoch mean nothing.
func TestNewEpoch(t *testing.T) {
	s := newStage(t, "a", "b")
	for range 3 {
		s.sweep(s.claim())
	}
	order := s.claim()
	order.Claim.Epoch, order.Claim.N = "F", 1
	order.Fresh = reconcile.Wanted{}
	s.covers(s.sweep(order), 1, "in the new epoch")
	equal(t, s.settled("a", "F"), uint64(1), "in its epoch")
	equal(t, len(s.standing("a").Claims), 1, "epochs that are kept")
}

// Numbers that come back in one epoch, as from a backup of the trigger's folder, cover nobody's ticket: what was settled under
// them is not what is asked now. All the same everything is ticked.
func TestNumbersThatComeBack(t *testing.T) {
	s := newStage(t, "a", "b")
	for range 9 {
		s.sweep(s.claim())
	}
	s.since()
	s.n = 3
	for range 6 {
		s.covers(s.sweep(s.claim()), 0, "under a number that was given before")
	}
	equal(t, len(s.ticked), 12, "ticks")
	s.covers(s.sweep(s.claim()), 10, "once they go on")
}

// Reconcilers that share a ledger answer their own claims, and none forgets another's targets.
func TestTwoOwnersShareALedger(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Owner = "one"
	other := *s.Reconciler
	other.Owner = "two"
	other.Targets = []reconcile.Target{{Key: "command:c", Fingerprint: "x"}}
	other.Tickers = map[reconcile.Key]reconcile.Ticker{"command:c": play(fine)}
	for n := range uint64(3) {
		s.covers(s.sweep(s.claim()), n+1, "the one")
		o, err := other.Sweep(t.Context(), reconcile.Order{Owing: reconcile.Wanted{All: true}, Fresh: reconcile.Wanted{All: true},
			Claim: &reconcile.Claim{Epoch: "F", N: n + 7, Claimed: time.Now()}})
		if err != nil || len(o.Gone) > 0 {
			t.Fatalf("the other: %+v, %v", o, err)
		}
		s.covers(o, n+7, "the other")
	}
	if s.standing("a").Target == "" || s.standing("c").Target == "" {
		t.Error("one has forgotten the other's targets")
	}
}
