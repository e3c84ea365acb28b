package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// Whatever is asked for while a run is on, and however often, makes exactly one more run, as soon as its window
// clears: by one asker or a hundred at once, by sentinel or by name (PATH-01, PATH-03, PATH-04, TRG-01, TRG-10,
// TRG-11, TRG-13, TRG-14).
func touchesDuringRun(t *testing.T, p place) {
	h := p.adopt(t, options{name: "during"})
	h.tell(t, "slow", "2")
	first := h.write(t, 1)
	h.awaitAttempts(t, 0, 1, patience)
	if phase := h.status(t).State; phase != trigger.Running {
		t.Errorf("while it runs, status says %s", phase)
	}
	h.commit(t, 2)
	tickets := make([]trigger.Ticket, 100)
	var all sync.WaitGroup
	for i := range tickets {
		all.Go(func() { tickets[i] = h.touch(t, []string{"github:acme"}[:i%2]...) })
	}
	all.Wait()
	if h.copied() == 1 {
		t.Fatal("this host is too slow to touch while a run of 2 s is on")
	}
	h.tell(t, "slow", "")
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 2 {
		t.Fatalf("%d runs, want the one that was on and one more", len(runs))
	}
	h.followsWindow(t, runs[1], atOnce)
	for _, ticket := range append(tickets, first) {
		if !h.status(t).Covers(ticket) {
			t.Errorf("the ticket %v is not covered by %+v", ticket, h.status(t))
		}
	}
	h.mustLive(t)
}

// A run that is slower than its askers serves them all, and has no more runs than windows (PATH-05).
func slowerThanAskers(t *testing.T, p place) {
	const accounts, every = 20, 200 * time.Millisecond
	h := p.adopt(t, options{name: "accounts"})
	h.tell(t, "slow", "2")
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range accounts {
		h.write(t, i+1, fmt.Sprintf("account:%d", i))
		<-tick.C
	}
	h.awaitCopied(t, accounts, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if most := 2 + int(accounts*every/(2*time.Second)); len(runs) > most {
		t.Errorf("%d runs for %d requests, want at most %d", len(runs), accounts, most)
	}
	asked := map[string]bool{}
	for _, r := range runs {
		for _, name := range r.Claim.Requests {
			asked[name] = true
		}
	}
	if len(asked) != accounts {
		t.Errorf("%d of %d requests were claimed", len(asked), accounts)
	}
}

// A request by name asks for that alone, leaves the sentinel's tickets uncovered, and is claimed once; the
// sentinel asks for everything and takes the names along.
func requestsByName(t *testing.T, p place) {
	h := p.adopt(t, options{name: "names"})
	h.write(t, 1) // the first run is for everything, whatever was asked
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	ticket := h.write(t, 2, "github:acme", "slack:acme")
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) != 2 || runs[1].Claim.All || fmt.Sprint(runs[1].Claim.Requests) != "[github:acme slack:acme]" {
		t.Fatalf("two requests by name were claimed as %+v", runs[len(runs)-1].Claim)
	}
	if h.status(t).Covers(ticket) {
		t.Error("a run for names covers a ticket of everything")
	}
	h.touch(t, "github:acme")
	h.write(t, 3)
	h.awaitCopied(t, 3, patience)
	h.awaitQuiet(t, patience)
	last := h.attempts(t)
	if !last[len(last)-1].Claim.All || !h.status(t).Covers(ticket) {
		t.Errorf("after a touch of the sentinel: claim %+v, status %+v", last[len(last)-1].Claim, h.status(t))
	}
}

// A failing run is made up for without another touch, after waits that double, while the trigger stays alive,
// the claim stands and status says failing (PATH-09, PATH-11, TRG-04).
func failingRun(t *testing.T, p place) {
	h := p.adopt(t, options{name: "failing", policy: trigger.Policy{Floor: 500 * time.Millisecond, RetryMax: 2 * time.Second}})
	h.tell(t, "broken", "yes")
	ticket := h.write(t, 1)
	runs := h.awaitAttempts(t, 0, 5, patience)
	h.eventually(t, patience, "status says failing", func() bool { return h.status(t).State == trigger.Failing })
	if h.claim(t) == nil || h.status(t).Covers(ticket) || h.copied() != 0 {
		t.Errorf("after failures alone: claim %+v, status %+v, copied %d", h.claim(t), h.status(t), h.copied())
	}
	h.mustLive(t)
	h.tell(t, "broken", "")
	h.awaitCopied(t, 1, patience)
	h.awaitQuiet(t, patience)
	for i, r := range runs {
		if r.Claim.Attempt != i+1 || !r.Claim.All {
			t.Errorf("attempt %d has the claim %+v", i+1, r.Claim)
		}
		if i == 0 {
			continue
		}
		wait := h.policy.Backoff(i)
		if since := r.Claim.At - runs[i-1].Claim.At; since < wait {
			t.Errorf("attempt %d came %v after the one before, the backoff is %v", i+1, since, wait)
		}
	}
	if !h.status(t).Covers(ticket) {
		t.Errorf("the ticket %v is not covered by %+v", ticket, h.status(t))
	}
	h.mustLive(t)
}

// A fresh touch shortens a backoff to the floor, and never below.
func touchDuringBackoff(t *testing.T, p place) {
	h := p.adopt(t, options{name: "hurried", policy: trigger.Policy{Floor: time.Second, RetryMax: 5 * time.Minute}})
	h.tell(t, "broken", "yes")
	h.write(t, 1)
	runs := h.awaitAttempts(t, 0, 4, patience) // the next wait is 8 s
	h.eventually(t, patience, "a gate waits", func() bool { return h.status(t).State == trigger.Failing })
	h.tell(t, "broken", "")
	h.write(t, 2)
	h.awaitCopied(t, 2, patience)
	h.awaitQuiet(t, patience)
	after := h.attempts(t)[4:]
	if len(after) != 1 {
		t.Fatalf("%d runs after the touch, want 1", len(after))
	}
	if since := after[0].Claim.At - runs[3].Claim.At; !within(since, h.policy.Floor, 7*h.policy.Floor) {
		t.Errorf("the touch's claim came %v after the failed one, want from %v, and well before %v", since, h.policy.Floor, h.policy.Backoff(4))
	}
}

// Whichever process is killed, the request is made up for without another touch.
func killedProcesses(t *testing.T, p place) {
	h := p.adopt(t, options{name: "killed"})
	h.tell(t, "slow", "0.3")
	written := 0
	for _, r := range []role{gate, run, settle} {
		var ticket trigger.Ticket
		killed := false
		for deadline := time.Now().Add(2 * patience); !killed && time.Now().Before(deadline); {
			written++
			ticket = h.write(t, written)
			killed = h.kill(r, patience/6) // a settle can come and go unseen on a loaded host: then there is another
		}
		if !killed {
			t.Fatalf("no %s came to be killed", r)
		}
		h.awaitCopied(t, written, patience)
		h.awaitQuiet(t, patience)
		if !h.status(t).Covers(ticket) {
			t.Errorf("%s was killed, and the ticket %v is not covered by %+v", r, ticket, h.status(t))
		}
	}
	h.keepsFloor(t, h.attempts(t))
	h.mustLive(t)
}

// Runs leave no process behind, even if the service is careless with its children, and no run is shared or
// lost (TRG-08, TRG-09).
func manyRuns(t *testing.T, p place) {
	h := p.adopt(t, options{name: "many", policy: floor(100 * time.Millisecond),
		service: "TimeoutStopSec=2"}) // a child that is only being forked may miss its SIGTERM
	h.tell(t, "litter", "yes")
	times := either(1000, 25)
	for i := range times {
		h.write(t, i+1)
		h.awaitCopied(t, i+1, patience)
	}
	h.awaitQuiet(t, patience)
	runs := h.attempts(t)
	if len(runs) < times {
		t.Errorf("%d runs copied %d numbers one after the other", len(runs), times)
	}
	h.leavesNothing(t)
	h.keepsFloor(t, runs)
	h.mustLive(t)
	if entries, err := os.ReadDir(filepath.Join(h.folders.Spool, "requests")); err != nil || len(entries) > 0 {
		t.Errorf("requests/ holds %v, %v", entries, err)
	}
}
