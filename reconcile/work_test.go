package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"trueup/reconcile"
)

var workTypes = []reconcile.WorkFactType{reconcile.WorkStarted, reconcile.WorkCheckpointed, reconcile.WorkBlocked, reconcile.WorkReviewed,
	reconcile.WorkUnblocked, reconcile.WorkEnded, reconcile.WorkExpired}

// TestWorkDecided gives orders in any sequence: whatever is decided can be folded, reads back from its JSON as it was,
// ends no live session without its fence, and begins each with a greater one.
func TestWorkDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := reconcile.Item{ID: "disk"}
		now := time.Date(2026, 11, 29, 14, 0, 0, 0, time.UTC)
		for next := reconcile.Fence(1); next < 40; next++ {
			o := reconcile.WorkOrder{Item: item.ID, Do: rapid.SampledFrom(workTypes).Draw(t, "do"), By: "ada", For: time.Minute,
				Fence: reconcile.Fence(rapid.IntRange(0, int(next)).Draw(t, "fence")), Scopes: []reconcile.Scope{"x", "y", "x"}}
			if rapid.Bool().Draw(t, "knows") {
				o.Fence = item.Session.Fence
			}
			now = now.Add(time.Second)
			fact, err := item.Decide(o, next, now)
			if err != nil {
				continue
			}
			after, err := fold(item, now, fact)
			if err != nil {
				t.Fatalf("%+v was decided in %s and does not follow: %v", fact, item.State, err)
			}
			live := item.State == reconcile.InProgress
			switch {
			case live && o.Fence != item.Session.Fence, !live && !o.Begins() && o.Fence != 0:
				t.Fatalf("%+v was decided under fence %d", o, item.Session.Fence)
			case o.Begins() != (after.Session.Fence == next) || after.Session.Fence < item.Session.Fence:
				t.Fatalf("%s went from fence %d to %d", o.Do, item.Session.Fence, after.Session.Fence)
			case (after.Reserves([]reconcile.Scope{"y"}) == nil) != (after.State == reconcile.WorkDone):
				t.Fatalf("while it is %s it reserves %v", after.State, after.Scopes)
			case (after.State == reconcile.InProgress) == (after.NeedsPerson() || after.State == reconcile.WorkDone):
				t.Fatalf("%s: needs a person: %t", after.State, after.NeedsPerson())
			}
			item = after
		}
	})
}

// fold appends a fact that has been to the ledger and back.
func fold(i reconcile.Item, at time.Time, f reconcile.WorkFact) (reconcile.Item, error) {
	typ, data, err := reconcile.EncodeWorkFact(f)
	if err != nil {
		return i, err
	}
	back, err := reconcile.DecodeWorkFact(typ, data)
	if err == nil && !reflect.DeepEqual(back, f) {
		err = fmt.Errorf("%+v came back as %+v", f, back)
	}
	if err != nil {
		return i, err
	}
	return reconcile.FoldWork(i.ID, append(slices.Clone(i.Events), reconcile.WorkEvent{Seq: i.Next(), At: at, WorkFact: back}))
}

// TestWorkDamaged refuses histories that make no sense.
func TestWorkDamaged(t *testing.T) {
	start := reconcile.WorkEvent{Seq: 1, WorkFact: reconcile.WorkFact{Type: reconcile.WorkStarted, Fence: 1, Scopes: []reconcile.Scope{"x"}}}
	for name, events := range map[string][]reconcile.WorkEvent{
		"a gap":            {start, {Seq: 3, WorkFact: reconcile.WorkFact{Type: reconcile.WorkBlocked}}},
		"no number":        {{Seq: 0, WorkFact: start.WorkFact}},
		"a head cut off":   {{Seq: 2, WorkFact: reconcile.WorkFact{Type: reconcile.WorkCheckpointed, Fence: 1}}},
		"a gap, another's": {start, {Seq: 3, WorkFact: reconcile.WorkFact{Type: reconcile.WorkCheckpointed, Fence: 2}}},
		"a step back":      {start, {Seq: 1, WorkFact: reconcile.WorkFact{Type: reconcile.WorkCheckpointed, Fence: 1}}},
		"no start":         {{Seq: 1, WorkFact: reconcile.WorkFact{Type: reconcile.WorkBlocked}}},
		"unknown":          {start, {Seq: 2, WorkFact: reconcile.WorkFact{Type: "levitated"}}},
		"a second start":   {start, {Seq: 2, WorkFact: start.WorkFact}},
		"blocked, twice":   {start, {Seq: 2, WorkFact: reconcile.WorkFact{Type: reconcile.WorkBlocked}}, {Seq: 3, WorkFact: reconcile.WorkFact{Type: reconcile.WorkExpired}}},
		"after it is done": {start, {Seq: 2, WorkFact: reconcile.WorkFact{Type: reconcile.WorkEnded}}, {Seq: 3, WorkFact: reconcile.WorkFact{Type: reconcile.WorkReviewed}}},
	} {
		if i, err := reconcile.FoldWork("disk", events); err == nil {
			t.Errorf("%s: folded to %+v", name, i)
		}
	}
	if _, err := reconcile.DecodeWorkFact("levitated", []byte("{}")); !errors.Is(err, reconcile.ErrUnknownEvent) {
		t.Errorf("decoding an unknown type: %v", err)
	}
}

// TestWorkSinceAnyStart: what retention leaves of an item folds to what the whole did.
func TestWorkSinceAnyStart(t *testing.T) {
	at := func(seq int, typ reconcile.WorkFactType, fence reconcile.Fence) reconcile.WorkEvent {
		return reconcile.WorkEvent{Seq: seq, WorkFact: reconcile.WorkFact{Type: typ, Fence: fence, Scopes: []reconcile.Scope{"x"}}}
	}
	events := []reconcile.WorkEvent{at(1, reconcile.WorkStarted, 1), at(2, reconcile.WorkEnded, 1), at(3, reconcile.WorkStarted, 2),
		at(4, reconcile.WorkCheckpointed, 2), at(5, reconcile.WorkCheckpointed, 2), at(6, reconcile.WorkBlocked, 2)}
	want, err := reconcile.FoldWork("disk", events)
	if err != nil || len(want.Events) != 4 || want.Next() != 7 || want.State != reconcile.Blocked {
		t.Fatalf("folded to %+v, %v; want it from its second start on", want, err)
	}
	if got, err := reconcile.FoldWork("disk", events[2:]); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("without the first start it folds to %+v, %v; want %+v", got, err, want)
	}
	thinned := append(slices.Clone(events[2:3]), events[4:]...)
	if got, err := reconcile.FoldWork("disk", thinned); err != nil || got.State != want.State || got.Next() != 7 {
		t.Errorf("without the earlier checkpoint it folds to %+v, %v", got, err)
	}
}

func TestReservedErrorOfAnItem(t *testing.T) {
	until := time.Date(2026, 11, 29, 14, 7, 40, 0, time.UTC)
	by := &reconcile.ReservedError{Item: "disk", Holder: "ada", Scopes: []reconcile.Scope{"command:proxy", "host:web"}, Until: until}
	if got, want := by.Error(), "scope reserved by disk (ada): command:proxy, host:web until 2026-11-29T14:07:40Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	by.Holder = "eve\n\x1b[2Jerror: all is lost"
	if got, want := by.Error(), `scope reserved by disk ("eve\n\x1b[2Jerror: all is lost"): command:proxy, host:web until 2026-11-29T14:07:40Z`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	by.Until, by.Holder = time.Time{}, "ada"
	if got, want := by.Error(), "scope reserved by disk (ada): command:proxy, host:web until a person decides"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWorkNames(t *testing.T) {
	for name, fits := range map[string]bool{"disk": true, "pause:command:proxy": true, "r-1": true, "r-7f3k2": false, "": false, "two words": false, "-x": false} {
		if _, err := reconcile.ParseItemID(name); (err == nil) != fits {
			t.Errorf("item %q: %v", name, err)
		}
	}
	for name, fits := range map[string]bool{"repo/acme": true, "command:proxy": true, "": false, "a b": false, "a;b": false} {
		if _, err := reconcile.ParseScope(name); (err == nil) != fits {
			t.Errorf("scope %q: %v", name, err)
		}
	}
}

// A clerk is a ledger in which only renewals happen: it counts them, and refuses with what it is told to.
type clerk struct {
	reconcile.WorkLedger
	mu      sync.Mutex
	renewed int
	refuse  error
}

func (c *clerk) Work(_ context.Context, o reconcile.WorkOrder) (reconcile.Item, error) {
	return reconcile.Item{ID: o.Item, Session: reconcile.Session{Fence: 7}}, nil
}

func (c *clerk) RenewWork(context.Context, reconcile.ItemID, reconcile.Fence, time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse == nil {
		c.renewed++
	}
	return c.refuse
}

// refuses says with what renewals are refused from now on, and how many were not.
func (c *clerk) refuses(err error) (renewed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = err
	return c.renewed
}

// TestHoldWork renews at a third of the time, and ends the work when the session is lost, or before it runs out where the
// ledger cannot be reached.
func TestHoldWork(t *testing.T) {
	for name, c := range map[string]struct {
		refuse error
		within time.Duration // after the last renewal
	}{
		"lost":        {reconcile.ErrLeaseLost, 5 * time.Minute},
		"unreachable": {errors.New("the disk is full"), 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clerk := &clerk{}
				held, err := reconcile.HoldWork(t.Context(), clerk, reconcile.WorkOrder{Item: "disk", For: 15 * time.Minute}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer held.Leave()
				<-time.After(time.Hour + time.Minute)
				began := time.Now()
				if renewed := clerk.refuses(c.refuse); held.Ctx.Err() != nil || renewed != 12 {
					t.Fatalf("renewed %d times in an hour, %v; want 12", renewed, context.Cause(held.Ctx))
				}
				<-held.Ctx.Done()
				if took := time.Since(began); took >= c.within || !errors.Is(context.Cause(held.Ctx), reconcile.ErrLeaseLost) {
					t.Errorf("ended %v after it was refused: %v", took, context.Cause(held.Ctx))
				}
			})
		})
	}
}
