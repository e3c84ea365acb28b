package trigger

import "testing"

// TestRenew: a new epoch covers what was asked in the old one once a run that began after it has succeeded, and no earlier.
func TestRenew(t *testing.T) {
	h := newHost(t)
	h.touch()
	before := h.claim()
	h.settle()
	h.touch()
	h.claim() // which owes a success
	ticket := h.touch("one")
	if err := Renew(h.Folders.State); err != nil {
		t.Fatal(err)
	}
	if h.covers(ticket) {
		t.Error("covered by nothing but the renewal")
	}
	c := h.claim()
	if c.Epoch == before.Epoch || !c.All || c.N != 1 {
		t.Errorf("the next claim is %+v, in epoch %s before", c, before.Epoch)
	}
	if h.covers(ticket) {
		t.Error("covered before the run's success")
	}
	h.settle()
	if !h.covers(ticket) {
		t.Error("not covered by the run's success")
	}
	check(t, Renew(h.Folders.State))
	check(t, Renew(h.Folders.State)) // a folder that has nothing to renew
}
