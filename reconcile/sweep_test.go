package reconcile_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/sqlite"
)

func TestSweepTicksWhatIsAskedFirst(t *testing.T) {
	s := newStage(t, "a", "b", "c", "d")
	s.Parallel = 1
	s.sweep(s.claim())
	equal(t, s.since(), "a b c d", "a claim for everything")
	s.sweep(s.claim("c"))
	equal(t, s.since(), "c", "a claim for one")
	s.plays("d", fails)
	s.sweep(s.claim("d"))
	s.since()
	s.sweep(s.claim("b"))
	equal(t, s.since(), "b d", "asked by name, then owed from before")
	s.plays("d", fine)
	s.sweep(s.claim())
	equal(t, s.since(), "a d c b", "everything, those covered longest ago first")
}

// A quiet week is one row a target: what changes nothing leaves no run, and a failure that repeats leaves one.
func TestQuietTicksLeaveNoRuns(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", fails)
	for range 5 {
		s.sweep(s.claim())
	}
	equal(t, len(s.runs("a")), 0, "runs of a quiet target")
	equal(t, len(s.runs("b")), 1, "runs of a target that fails alike")
	b := s.standing("b")
	equal(t, b.Failures, 5, "failures in a row")
	equal(t, b.Report.Run, s.runs("b")[0], "the run that tells of it")
	s.plays("b", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		return reconcile.Report{}, errors.New("504")
	})
	s.sweep(s.claim())
	equal(t, len(s.runs("b")), 2, "runs once it fails otherwise")
	s.plays("b", fine)
	s.sweep(s.claim())
	s.plays("b", fails)
	s.sweep(s.claim())
	equal(t, len(s.runs("b")), 3, "runs once it fails anew")
}

// What a tick waits for is told while it waits, with its name.
func TestWaitsAreTold(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", func(ctx context.Context, r *reconcile.Run) (reconcile.Report, error) {
		reconcile.Waits(ctx, "dd (4711)")
		return fine(ctx, r)
	})
	var told []string
	s.Progress = func(p reconcile.Progress) {
		if p.Waits != "" {
			told = append(told, string(p.Target)+" "+p.Waits)
		}
	}
	s.sweep(s.claim())
	equal(t, strings.Join(told, ", "), "command:b dd (4711)", "told")
	reconcile.Waits(t.Context(), "nobody listens")
}

// One target's failure never stops another, not even a panic.
func TestFailuresStayAlone(t *testing.T) {
	s := newStage(t, "a", "b", "c")
	s.plays("a", fails)
	s.plays("b", func(context.Context, *reconcile.Run) (reconcile.Report, error) { panic("nil map") })
	o := s.sweep(s.claim())
	equal(t, o.Reports["command:c"].State, reconcile.OK, "the third")
	if failed := o.Failed(); !slices.Equal(failed, []reconcile.Key{"command:a", "command:b"}) {
		t.Errorf("failed: %v", failed)
	}
	if note := o.Reports["command:b"].Note; !strings.Contains(note, "nil map") {
		t.Errorf("the panic is told as %q", note)
	}
	equal(t, s.story(s.runs("b")[0]), "leased failed", "the run that panicked")
}

// A run that records does so as one story, and its end is part of the settlement.
func TestRunTellsItsStory(t *testing.T) {
	s := newStage(t, "a")
	s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		err := errors.Join(
			run.Do(ctx, reconcile.Propose{Plan: reconcile.Plan{{ID: "x", Op: reconcile.Create}}}),
			run.Check(ctx),
			run.Do(ctx, reconcile.Finish{Change: "x"}))
		return reconcile.Report{State: reconcile.OK, Changes: 1}, err
	})
	s.sweep(s.claim())
	equal(t, s.story(s.runs("a")[0]), "leased planned applied succeeded", "the run")
	equal(t, s.standing("a").Report.Run, s.runs("a")[0], "the report's run")
	// What is planned and not done is no success, whatever the ticker says.
	s.plays("a", func(ctx context.Context, run *reconcile.Run) (reconcile.Report, error) {
		return reconcile.Report{State: reconcile.OK}, run.Do(ctx, reconcile.Propose{Plan: reconcile.Plan{{ID: "x", Op: reconcile.Create}}})
	})
	o := s.sweep(s.claim())
	equal(t, o.Reports["command:a"].State, reconcile.Failing, "a plan that was not carried out")
	equal(t, s.story(s.runs("a")[0]), "leased planned failed", "its run")
}

func TestChangedTargetsAreTicked(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Parallel = 1
	s.sweep(s.claim())
	s.since()
	s.Targets[1].Fingerprint = "changed"
	s.plays("b", fails)
	s.sweep(s.claim("a"))
	equal(t, s.since(), "a b", "a request beside a target that was changed")
	s.plays("b", fine)
	s.sweep(s.claim("a"))
	equal(t, s.since(), "a b", "and again, since it failed")
	s.sweep(s.claim("a"))
	equal(t, s.since(), "a", "and no more")
}

func TestUndeclaredNamesAreDroppedAloud(t *testing.T) {
	s := newStage(t, "a", "b")
	s.sweep(s.claim())
	o := s.sweep(s.claim("a", "z"))
	if !slices.Equal(o.Strange, []reconcile.Key{"command:z"}) {
		t.Errorf("strange: %v", o.Strange)
	}
	s.Targets = s.Targets[:1]
	o = s.sweep(s.claim())
	if !slices.Equal(o.Gone, []reconcile.Key{"command:b"}) || s.standing("b").Target != "" {
		t.Errorf("gone: %v, and %+v is still known", o.Gone, s.standing("b"))
	}
}

// A tick can give reason to look at another target.
func TestTickNotifiesAnother(t *testing.T) {
	s := newStage(t, "a", "b")
	s.Parallel = 1
	s.sweep(s.claim())
	s.since()
	s.plays("a", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		return reconcile.Report{State: reconcile.OK, Notify: []reconcile.Key{"command:b"}}, nil
	})
	s.sweep(s.claim("a"))
	equal(t, s.since(), "a b", "the one and the other")
}

// Rate-limited: nothing is asked of the outside before the instant that it gave, the target stays owed until then, and the
// first sweep after it covers what was asked.
func TestRateLimitedTargetWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a", "b")
		s.sweep(s.claim())
		s.plays("a", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
			return reconcile.Report{}, &reconcile.NotBeforeError{At: time.Now().AddDate(10, 0, 0), Err: errors.New("429")} // an hour is believed
		})
		o := s.sweep(s.claim())
		equal(t, len(o.Failed()), 0, "failures")
		equal(t, o.Reports["command:a"].State, reconcile.Limited, "its state")
		s.covers(o, 1, "limited")
		s.plays("a", fine)
		s.since()
		<-time.After(59 * time.Minute)
		s.covers(s.sweep(s.claim()), 1, "within the hour")
		equal(t, s.since(), "b", "ticked within the hour")
		<-time.After(2 * time.Minute)
		s.covers(s.sweep(s.claim("b")), 3, "after it, by any sweep")
	})
}

// A clock that was far ahead once parks no target until it comes by again.
func TestRateLimitByAClockThatWasAhead(t *testing.T) {
	s := newStage(t, "a")
	s.sweep(s.claim())
	s.plays("a", func(_ context.Context, run *reconcile.Run) (reconcile.Report, error) {
		end := reconcile.Settlement{Lease: run.Lease, Wait: 10 * 365 * 24 * time.Hour, Report: reconcile.Report{State: reconcile.Limited},
			Fingerprint: run.Target.Fingerprint}
		_, err := s.store.Settle(t.Context(), []reconcile.Settlement{end}) // as a sweep of that time would have
		return reconcile.Report{State: reconcile.OK}, err
	})
	s.sweep(s.claim())
	if k := s.standing("a"); !k.NotBefore.IsZero() || k.Report.State != reconcile.Limited || !k.Owed() {
		t.Fatalf("after it: %+v", k)
	}
	s.plays("a", fine)
	s.covers(s.sweep(s.claim()), 3, "by the next sweep")
}

// How long a target waits is for the ledger's clock to say, wherever the host's own stands.
func TestRateLimitOnAHostWhoseClockIsAhead(t *testing.T) {
	s := newStage(t, "a")
	store, err := sqlite.Open(t.Context(), s.path+".behind", sqlite.Options{Clock: func() time.Time { return time.Now().Add(-50 * time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s.store, s.Ledger = store, store
	s.plays("a", func(context.Context, *reconcile.Run) (reconcile.Report, error) {
		return reconcile.Report{}, &reconcile.NotBeforeError{At: time.Now().Add(time.Minute), Err: errors.New("429")}
	})
	s.sweep(s.claim())
	if k := s.standing("a"); k.NotBefore.IsZero() || k.NotBefore.Sub(k.Ticked) > time.Minute {
		t.Errorf("ticked at %s, and not before %s", k.Ticked, k.NotBefore)
	}
}

// A sweep is a few transactions, not a few for each target (B7).
func TestSweepIsFewTransactions(t *testing.T) {
	s := newStage(t, many(1000)...)
	s.Parallel = 8
	counted := &countedLedger{Ledger: s.store}
	s.Ledger = counted
	s.sweep(s.claim())
	if all := counted.n["grant"] + counted.n["settle"] + counted.n["commit"]; all > 20 {
		t.Errorf("%d transactions for 1,000 quiet ticks: %v", all, counted.n)
	}
	equal(t, len(s.ticked), 1000, "ticks")
}

// What was told before is not new: not a failure that goes on, and not a tick that was quiet.
func TestNewIsToldOnce(t *testing.T) {
	s := newStage(t, "a", "b")
	s.plays("b", fails)
	for i, want := range []bool{true, false} {
		o := s.sweep(s.claim())
		equal(t, o.Reports["command:a"].Own, "", "a quiet tick's run")
		if (o.Reports["command:b"].Own != "") != want {
			t.Errorf("failure %d is new: %v", i+1, !want)
		}
	}
}

// Quiet sweeps do not let the ledger grow (B7).
func TestQuietLedgerDoesNotGrow(t *testing.T) {
	s := newStage(t, many(50)...)
	size := func(sweeps int) int64 {
		t.Helper()
		for range sweeps {
			s.sweep(s.claim())
		}
		if err := s.store.Close(); err != nil { // writes the log back into the file
			t.Fatal(err)
		}
		info, err := os.Stat(s.path)
		if err != nil {
			t.Fatal(err)
		}
		s.store = s.process("sweep")
		s.Ledger = s.store
		return info.Size()
	}
	before := size(10)
	if after := size(100); after > before {
		t.Errorf("from %d to %d bytes in 100 quiet sweeps", before, after)
	}
}

// Targets that notify each other without end are heard a few times, and then left to the next sweep.
func TestNotifyingInCirclesEnds(t *testing.T) {
	s := newStage(t, "a", "b")
	for name, next := range map[string]reconcile.Key{"a": "command:b", "b": "command:a"} {
		s.plays(name, func(context.Context, *reconcile.Run) (reconcile.Report, error) {
			return reconcile.Report{State: reconcile.OK, Notify: []reconcile.Key{next}}, nil
		})
	}
	s.sweep(s.claim())
	if n := len(s.ticked); n < 4 || n > 10 {
		t.Errorf("%d ticks", n)
	}
	if !s.standing("a").Owed() && !s.standing("b").Owed() {
		t.Error("nothing is owed to the last one that was notified")
	}
}

// What a person was asked about a target goes with it: declared again, it begins anew.
func TestForgottenTargetBeginsAnew(t *testing.T) {
	s := newStage(t, "a", "b")
	record := func(key string) reconcile.Write {
		return reconcile.Write{Family: "held", Key: key, Value: []byte("{}")}
	}
	if err := s.store.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{record("command:b"), record("command:bb")}}); err != nil {
		t.Fatal(err)
	}
	s.sweep(s.claim())
	s.Targets = s.Targets[:1]
	s.sweep(s.claim())
	left, err := s.store.Records(t.Context(), "held", "")
	if err != nil || len(left) != 1 || left[0].Key != "command:bb" {
		t.Errorf("left: %v, %v", left, err)
	}
}
