package trigger

import (
	"reflect"
	"testing"
	"time"
)

// A lateClock is read once more after the claim is recorded, before anything is unlinked.
type lateClock struct {
	*fakeClock
	recorded func()
}

func (c lateClock) Wall() time.Time {
	c.recorded()
	return c.fakeClock.Wall()
}

// A touch between a retry's reading and its unlinking is not part of what the retry takes up, so it has to stay. (Found by
// the worlds of package simtest.)
func TestTouchAfterTheReadingOfARetry(t *testing.T) {
	h := newHost(t)
	h.touch()
	h.claim()
	touched := false
	h.Gate.Clock = lateClock{h.clock, func() {
		state, err := ReadState(h.Folders.State)
		check(t, err)
		if state.Claim.N == 2 && !touched {
			touched = true
			h.touch()
		}
	}}
	if c := h.claim(); !touched || c.Attempt != 2 || !c.All || c.Fresh.All {
		t.Fatalf("touched %t, the retry is %+v", touched, c)
	}
	if c := h.claim(); !reflect.DeepEqual(c.Fresh, Asked{All: true}) {
		t.Errorf("the next claim takes up %+v, want everything", c.Fresh)
	}
}
