package ledgertest

import (
	"errors"
	"testing"
	"time"

	"trueup/reconcile"
)

const ttl = 15 * time.Minute

// A bench is one test's data, with a ledger opened on it. Its methods end the test where the ledger does not do what has
// to be taken for granted.
type bench struct {
	*testing.T
	store Store
	l     Ledger
}

// another is the same data as another process sees it.
func (b bench) another() bench {
	b.Helper()
	return bench{T: b.T, store: b.store, l: opened(b.T, b.store)}
}

// must ends the test on an error.
func (b bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refused wants an error of the given kind.
func (b bench) refused(err, want error) {
	b.Helper()
	if !errors.Is(err, want) {
		b.Errorf("got error %v, want %v", err, want)
	}
}

func bid(target reconcile.Key, scopes ...reconcile.Scope) reconcile.Bid {
	return reconcile.Bid{Target: target, Scopes: append([]reconcile.Scope{reconcile.Scope(target)}, scopes...), Reason: "a test"}
}

// grant gets a lease that nobody stands in the way of.
func (b bench) grant(target reconcile.Key, scopes ...reconcile.Scope) reconcile.Answer {
	b.Helper()
	a := b.bid(bid(target, scopes...))
	b.must(a.Refused)
	return a
}

// bid makes one bid.
func (b bench) bid(bid reconcile.Bid) reconcile.Answer {
	b.Helper()
	answers, err := b.l.Grant(b.Context(), []reconcile.Bid{bid}, ttl)
	b.must(err)
	if len(answers) != 1 {
		b.Fatalf("%d answers to one bid", len(answers))
	}
	return answers[0]
}

// reserved wants a bid refused, and says by whom.
func (b bench) reserved(bid reconcile.Bid) *reconcile.ReservedError {
	b.Helper()
	a := b.bid(bid)
	by, is := errors.AsType[*reconcile.ReservedError](a.Refused)
	if !is {
		b.Fatalf("the bid for %s is answered with %+v, want a *ReservedError", bid.Target, a)
	}
	return by
}

// append adds facts to a run under a lease.
func (b bench) append(under reconcile.Fence, run reconcile.RunID, expected int, facts ...reconcile.Fact) error {
	return b.l.Commit(b.Context(), reconcile.Batch{
		Under: under, Append: []reconcile.Append{{Run: run, Expected: expected, Facts: facts}},
	})
}

// started is a lease with an opened run that has a plan: two events.
func (b bench) started(target reconcile.Key, scopes ...reconcile.Scope) reconcile.Lease {
	b.Helper()
	l := b.grant(target, scopes...).Lease
	b.must(b.append(l.Fence, l.Run, 0, reconcile.Leased{Lease: l}, plan))
	return l
}

var plan = reconcile.Planned{Policy: "p1", Changes: reconcile.Plan{
	{ID: "a", Op: reconcile.Create, Text: "user ada"}, {ID: "b", Op: reconcile.Remove, Text: "user bob"},
}}

// settle ends one tick and returns its answer.
func (b bench) settle(s reconcile.Settlement) error {
	b.Helper()
	answers, err := b.l.Settle(b.Context(), []reconcile.Settlement{s})
	b.must(err)
	if len(answers) != 1 {
		b.Fatalf("%d answers to one settlement", len(answers))
	}
	return answers[0]
}

// quiet is a tick that found nothing to do.
func quiet(l reconcile.Lease) reconcile.Settlement {
	return reconcile.Settlement{Lease: l, Report: reconcile.Report{State: reconcile.OK}, Covered: true, Fingerprint: "f1"}
}

// closed is the end of a run that was started: it succeeds, or holds a part back.
func (b bench) closed(l reconcile.Lease, held bool) {
	b.Helper()
	end := reconcile.Settlement{Lease: l, Expected: 2, Facts: []reconcile.Fact{reconcile.Succeeded{Changes: 2}},
		Report: reconcile.Report{State: reconcile.OK, Run: l.Run, Changes: 2}, Covered: true}
	if held {
		hold := reconcile.HeldBack{Digest: plan.Changes[1:].Digest(), Changes: []string{"b"}, Why: "1 of 1 would go"}
		end.Facts = []reconcile.Fact{hold, reconcile.Succeeded{Changes: 1}}
		end.Report.State, end.Covered = reconcile.Held, false
	}
	b.must(b.settle(end))
}

// ask makes targets owed.
func (b bench) ask(claim *reconcile.Claim, targets ...reconcile.Key) {
	b.Helper()
	b.must(b.l.Commit(b.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: targets, Reason: "a test asks", Claim: claim}}}))
}

// standing is what is known of a target; nothing when nothing is.
func (b bench) standing(target reconcile.Key) reconcile.Standing {
	b.Helper()
	all, err := b.l.Standings(b.Context())
	b.must(err)
	for _, s := range all {
		if s.Target == target {
			return s
		}
	}
	return reconcile.Standing{}
}

// history is a run, folded.
func (b bench) history(run reconcile.RunID) reconcile.History {
	b.Helper()
	events, err := b.l.Events(b.Context(), run)
	b.must(err)
	h, err := reconcile.Fold(events)
	b.must(err)
	return h
}

// unopened wants a run without an event.
func (b bench) unopened(run reconcile.RunID) {
	b.Helper()
	_, err := b.l.Events(b.Context(), run)
	b.refused(err, reconcile.ErrNoRun)
}

// records are the records of a family under a prefix.
func (b bench) records(family, prefix string) []reconcile.Record {
	b.Helper()
	records, err := b.l.Records(b.Context(), family, prefix)
	b.must(err)
	return records
}

// write writes records and nothing else.
func (b bench) write(writes ...reconcile.Write) error {
	return b.l.Commit(b.Context(), reconcile.Batch{Records: writes})
}
