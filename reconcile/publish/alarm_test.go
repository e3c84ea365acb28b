package publish

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func an(name string, about ...string) Alarm {
	return Alarm{ID: ID{name, "web.service", strings.Join(about, "")}, Text: name + " it is", Sure: true}
}

// pending is what is still to be told, as "+name" and "-name".
func pending(all []Standing) (words []string) {
	for _, s := range all {
		for _, n := range s.Pending {
			words = append(words, map[bool]string{false: "+", true: "-"}[n.Cleared]+n.Name+n.Target)
		}
	}
	return words
}

func told(all []Standing) []Standing {
	for i := range all {
		all[i].Pending = nil
	}
	return standing(all)
}

// twice is two looks that find the same.
func twice(before []Standing, look Look, now time.Time) []Standing {
	return Next(Next(before, look, now), look, now.Add(time.Second))
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestRaisedAndClearedOnce(t *testing.T) {
	all := twice(nil, Look{Found: []Alarm{an(Stale), an(Disk), an(Stale)}}, minutes(0))
	same(t, "found", pending(all), "+disk", "+stale")
	all = told(all)
	all = twice(all, Look{Found: []Alarm{an(Disk), an(Stale)}}, minutes(1))
	same(t, "found again", pending(all))
	if !all[1].Since.Equal(minutes(0)) {
		t.Errorf("it stands since %s, want the first look", all[1].Since)
	}
	later := an(Stale)
	later.Text = "stale still"
	all = twice(all, Look{Found: []Alarm{later}}, minutes(2))
	same(t, "one is over", pending(all), "-disk")
	if all[1].Text != "stale still" {
		t.Errorf("the text is %q, want the latest", all[1].Text)
	}
	all = told(all)
	all = twice(all, Look{}, minutes(3))
	same(t, "the other too", pending(all), "-stale")
	if all = told(all); len(all) > 0 {
		t.Errorf("%+v stands", all)
	}
}

// What may be so for a moment only is raised when it is found again; what is not found once stands on.
func TestDoubt(t *testing.T) {
	unsure := an(Disk)
	unsure.Sure = false
	found, none := Look{Found: []Alarm{unsure}}, Look{}
	all := Next(nil, found, minutes(0))
	same(t, "found once", pending(all))
	if m := (Memory{Alarms: all}); len(m.Standing()) > 0 {
		t.Error("it stands")
	}
	if all = Next(all, none, minutes(1)); len(all) > 0 {
		t.Errorf("%+v is left of it", all)
	}
	all = Next(Next(nil, found, minutes(2)), found, minutes(3))
	same(t, "found twice", pending(all), "+disk")
	if !all[0].Since.Equal(minutes(2)) {
		t.Errorf("it stands since %s, want when it was found first", all[0].Since)
	}
	all = Next(told(all), none, minutes(4))
	all = Next(all, found, minutes(5))
	all = Next(all, none, minutes(6))
	same(t, "missed once and again", pending(all))
	all = Next(all, Look{Unknown: func(ID) bool { return true }}, minutes(7))
	same(t, "and not looked at", pending(all))
	same(t, "missed twice", pending(Next(all, none, minutes(8))), "-disk")
}

// What cannot be looked at is neither over nor new.
func TestUnknownStays(t *testing.T) {
	all := told(twice(nil, Look{Found: []Alarm{an(Failing, "a"), an(Stale)}}, minutes(0)))
	all = twice(all, Look{Unknown: func(id ID) bool { return id.Target != "" }}, minutes(1))
	same(t, "half blind", pending(all), "-stale")
	all = twice(told(all), Look{}, minutes(2))
	same(t, "seen", pending(all), "-failinga")
}

// A raising and its clearing that nobody was given cancel out when it is raised again; what was given is cleared first.
func TestNoticesCancelOut(t *testing.T) {
	found, none := Look{Found: []Alarm{an(Stale)}}, Look{}
	all := twice(nil, found, minutes(0))
	for i := range 40 {
		for j := range all[0].Pending {
			all[0].Pending[j].Told = true
		}
		all = twice(all, []Look{none, found}[i%2], minutes(i+1))
		if len(all) != 1 || len(all[0].Pending) > 2 {
			t.Fatalf("%d notices wait", len(all[0].Pending))
		}
	}
	same(t, "raised in the end", pending(all), "+stale")
	all[0].Pending = nil
	all = twice(all, none, minutes(50))
	all[0].Pending[0].Told = true
	all = twice(all, found, minutes(51))
	same(t, "raised before, over, and raised again", pending(all), "-stale", "+stale")
}

// What breaks hundreds of targets is a few alarms, and those that stand stay those.
func TestManyAreFolded(t *testing.T) {
	many := func(from, to int) (found []Alarm) {
		for i := from; i < to; i++ {
			found = append(found, an(Failing, fmt.Sprintf("%03d", i)))
		}
		return append(found, an(Disk))
	}
	all := twice(nil, Look{Found: many(100, 900)}, minutes(0))
	if got := pending(all); len(got) != most+2 || got[1] != "+failing" || all[1].Text != "failing: 750 more targets beside those that are named" {
		t.Fatalf("%d notices, the second %s: %q", len(got), got[1], all[1].Text)
	}
	all = twice(told(all), Look{Found: many(0, 900)}, minutes(1))
	same(t, "more that sort before", pending(all))
	all = twice(told(all), Look{Found: many(100, 140)}, minutes(2))
	if got := pending(all); len(got) != 11 || !slices.Contains(got, "-failing") {
		t.Errorf("%q, want ten and the rest cleared", got)
	}
}

// TestAnyLooks: whatever is found in whatever order, of each alarm raisings and clearings take turns, and the last is true.
func TestAnyLooks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var all []Standing
	last := map[ID]bool{} // what was given last
	for i := range 2000 {
		look, is := Look{}, map[ID]bool{}
		for _, a := range []Alarm{an(Stale), an(Disk), an(Failing, "a"), an(Failing, "b")} {
			if random.IntN(2) == 0 {
				look.Found, is[a.ID] = append(look.Found, a), true
			}
		}
		all = twice(all, look, minutes(i))
		broken := random.IntN(3) > 0
		teller := Teller{Say: func(Notice) {}, Save: func([]Standing) error { return nil }, Now: func() time.Time { return minutes(i) }}
		teller.Give = func(_ context.Context, n Notice) error {
			if broken && random.IntN(2) == 0 {
				return errDown
			}
			if last[n.ID] == !n.Cleared {
				t.Fatalf("%v: %s twice", n.ID, n.State())
			}
			last[n.ID] = !n.Cleared
			return nil
		}
		all, _ = teller.Tell(t.Context(), all)
		for _, s := range all {
			if len(s.Pending) > 2 || len(s.Pending) == 0 && last[s.ID] == s.Cleared {
				t.Fatalf("%+v stands, and what was given last is raised=%t", s, last[s.ID])
			}
			if s.Cleared == is[s.ID] {
				t.Fatalf("%+v stands, and found was %t", s, is[s.ID])
			}
		}
	}
}
