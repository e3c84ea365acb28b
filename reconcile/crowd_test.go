package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever meets another host goes on at a place of its own, and what is asked for by name still comes first.
func TestQueueBeginsElsewhere(t *testing.T) {
	var queue []Target
	for i := range 100 {
		queue = append(queue, Target{Key: Key(fmt.Sprintf("command:t%02d", i))})
	}
	first := map[Key]bool{queue[0].Key: true, queue[1].Key: true}
	places := map[Key]bool{}
	for host := range 8 {
		owner := fmt.Sprint("host-", host)
		c, again := crowd{first: first}, crowd{first: first}
		turned := c.elsewhere(queue, owner)
		if turned[0].Key != "command:t00" || turned[1].Key != "command:t01" {
			t.Errorf("%s begins with %s and %s", owner, turned[0].Key, turned[1].Key)
		}
		if turned[2].Key != again.elsewhere(queue, owner)[2].Key {
			t.Errorf("%s goes elsewhere each time", owner)
		}
		places[turned[2].Key] = true
		slices.SortFunc(turned, func(a, b Target) int { return cmp.Compare(a.Key, b.Key) })
		if !slices.EqualFunc(turned, queue, func(a, b Target) bool { return a.Key == b.Key }) {
			t.Errorf("%s has another queue: %v", owner, turned)
		}
	}
	if len(places) < 5 {
		t.Errorf("8 hosts go to %d places: %v", len(places), places)
	}
	if named := queue[:2]; len((&crowd{first: first}).elsewhere(named, "host-1")) != 2 {
		t.Error("a queue of nothing but names is another")
	}
}

// Leases are taken for a second's work: one at a time for slow ticks, also when several end at once.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		each        time.Duration
		want, crowd int // leases at once, alone and where others sweep
	}{{time.Minute, 1, 1}, {time.Second, 4, 2}, {100 * time.Millisecond, 40, 20}, {time.Millisecond, most, most}} {
		synctest.Test(t, func(t *testing.T) {
			p := pace{batch: 4}
			if n := p.next(4, false); n != 4 {
				t.Errorf("%d leases before anything is known", n)
			}
			for range 3 {
				<-time.After(c.each)
				for range 4 {
					p.ended++
					p.next(4, false)
				}
			}
			if n := p.next(4, false); n != c.want {
				t.Errorf("ticks of %s: %d leases at once, want %d", c.each, n, c.want)
			}
			if n := p.next(4, true); n != c.crowd {
				t.Errorf("ticks of %s where others sweep: %d leases at once, want %d", c.each, n, c.crowd)
			}
		})
	}
}
