package trigger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeClock stands still except while somebody waits on it: then it is at once the instant waited for.
type fakeClock struct {
	now, booted time.Duration
	wall        time.Time
	boot        string
	onWait      func()        // runs before each wait is over
	stuck       func() bool   // tells whether only something else can end the wait
	step        time.Duration // that each reading takes, as on a loaded host
}

func (c *fakeClock) Now() time.Duration {
	c.pass(c.step)
	return c.now
}
func (c *fakeClock) Wall() time.Time       { return c.wall }
func (c *fakeClock) Boot() string          { return c.boot }
func (c *fakeClock) Booted() time.Duration { return c.booted }

func (c *fakeClock) Until(t time.Duration) (<-chan struct{}, func(), error) {
	if c.onWait != nil {
		c.onWait()
	}
	fired := make(chan struct{})
	if c.stuck != nil && c.stuck() {
		return fired, func() {}, nil
	}
	c.pass(t - c.now)
	close(fired)
	return fired, func() {}, nil
}

func (c *fakeClock) pass(d time.Duration) {
	c.now += max(0, d)
	c.wall = c.wall.Add(max(0, d))
}

// host is a trigger in temporary folders on a fake clock.
type host struct {
	*Gate
	t      *testing.T
	clock  *fakeClock
	events []Event
}

func newHost(t *testing.T) *host {
	t.Helper()
	root := t.TempDir()
	h := &host{t: t, clock: &fakeClock{now: time.Hour, wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), boot: "boot-1"}}
	h.Gate = &Gate{
		Folders: Folders{Spool: filepath.Join(root, "spool"), State: filepath.Join(root, "state"), Outbox: filepath.Join(root, "outbox")},
		Policy:  DefaultPolicy(), Unit: "web.service", Clock: h.clock,
		Log:  func(e Event) { h.events = append(h.events, e) },
		Tell: func(string, time.Duration) {},
	}
	for _, dir := range []string{h.Folders.Spool, h.Folders.State, h.Folders.Outbox} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Check(context.Background()); err != nil {
		t.Fatalf("Check on new folders: %v", err)
	}
	return h
}

// claim is one activation's gate; each has an invocation of its own, as systemd gives it.
func (h *host) claim() Claim {
	h.t.Helper()
	h.Invocation = newEpoch()
	c, err := h.Claim(context.Background())
	if err != nil {
		h.t.Fatalf("Claim: %v", err)
	}
	return c
}

func (h *host) settle() {
	h.t.Helper()
	if err := h.Settle(context.Background()); err != nil {
		h.t.Fatalf("Settle: %v", err)
	}
}

func (h *host) touch(names ...string) Ticket {
	h.t.Helper()
	ticket, err := Request(h.Folders, names...)
	if err != nil {
		h.t.Fatalf("Request: %v", err)
	}
	return ticket
}

func (h *host) covers(ticket Ticket) bool {
	h.t.Helper()
	s, err := ReadStatus(h.Folders.Outbox)
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Covers(ticket)
}

func (h *host) logged(id string) bool {
	return slices.ContainsFunc(h.events, func(e Event) bool { return e.ID == id })
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// A lone touch starts at once; the next one waits until the floor after the success is over, and no longer.
func TestFloor(t *testing.T) {
	h := newHost(t)
	h.touch()
	start := h.clock.now
	h.claim()
	if waited := h.clock.now - start; waited != 0 {
		t.Errorf("the first claim waited %s", waited)
	}
	h.clock.pass(2 * time.Second) // the run
	h.settle()
	h.clock.pass(10 * time.Second)
	h.touch()
	start = h.clock.now
	h.claim()
	if waited := h.clock.now - start; waited != 20*time.Second {
		t.Errorf("10 s after a success the gate waited %s, want the other 20 s of the floor", waited)
	}
	h.settle()
	h.clock.pass(31 * time.Second)
	start = h.clock.now
	h.claim()
	if waited := h.clock.now - start; waited != 0 {
		t.Errorf("31 s after a success the gate waited %s", waited)
	}
}

// The floor and the backoff end no sooner on a host so loaded that time passes between a gate's readings of the clock.
func TestFloorOnALoadedHost(t *testing.T) {
	h := newHost(t)
	h.clock.onWait = func() { h.clock.step = 0 } // it is the readings before the wait that could shorten it
	h.claim()
	h.settle()
	state, err := ReadState(h.Folders.State)
	if err != nil {
		t.Fatal(err)
	}
	h.clock.step = 10 * time.Millisecond
	second := h.claim()
	if since := second.At - state.Settled.Finished.At; since < h.Policy.Floor {
		t.Errorf("a claim came %s after a success, sooner than the floor", since)
	}
	h.clock.step = 10 * time.Millisecond
	if since := h.claim().At - second.At; since < h.Policy.Backoff(1) {
		t.Errorf("a claim came %s after the one that failed, sooner than the backoff", since)
	}
}

// Wall-clock jumps neither lengthen nor skip a wait (A9, TMR-11); after a reboot the floor is clear; a run that
// fails over reboots is held back from boot on from the third attempt (A8).
func TestWait(t *testing.T) {
	settled := func(ago time.Duration) State {
		return State{Settled: Settled{Finished: Instant{Boot: "boot-1", At: time.Hour - ago}}}
	}
	failed := func(attempt int, ago time.Duration, boot string) State {
		return State{Claim: &Claim{Attempt: attempt, At: time.Hour - ago, Boot: boot}}
	}
	const s, m = time.Second, time.Minute
	for _, test := range []struct {
		name    string
		state   State
		booted  time.Duration
		want    time.Duration
		hurried bool
	}{
		{"never ran", State{}, 0, 0, false},
		{"floor begins", settled(0), 0, 30 * s, false},
		{"floor goes on", settled(29 * s), 0, s, false},
		{"floor is over", settled(31 * s), 0, 0, false},
		{"success lies ahead of the clock", settled(-24 * time.Hour), 0, 30 * s, false},
		{"success in another boot", State{Settled: Settled{Finished: Instant{Boot: "boot-0", At: time.Hour}}}, 0, 0, false},
		{"first failure, just now", failed(1, 0, "boot-1"), 0, 30 * s, true},
		{"second failure", failed(2, 0, "boot-1"), 0, 60 * s, true},
		{"third failure", failed(3, 10*s, "boot-1"), 0, 110 * s, true},
		{"ninth failure", failed(9, 0, "boot-1"), 0, 5 * m, true},
		{"failure long ago: still a floor from this start", failed(1, 10*m, "boot-1"), 0, 30 * s, true},
		{"failure lies ahead of the clock", failed(9, -24*time.Hour, "boot-1"), 0, 5 * m, true},
		{"power cut in the first run", failed(1, 0, "boot-0"), time.Hour - s, 0, false},
		{"power cut in the second run", failed(2, 0, "boot-0"), time.Hour - s, 0, false},
		{"the third takes the host down", failed(3, 0, "boot-0"), time.Hour - s, 2*m - s, false},
		{"the ninth takes the host down", failed(9, 0, "boot-0"), time.Hour - 10*s, 5*m - 10*s, false},
		{"a boot that ended long ago", failed(9, 0, "boot-0"), 0, 0, false},
		{"damaged", State{Damage: errors.New("garbage"), Claim: &Claim{Attempt: 1}}, 0, 30 * s, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, jump := range []time.Duration{0, -24 * time.Hour, 24 * time.Hour} {
				h := newHost(t)
				h.clock.booted = test.booted
				h.clock.wall = h.clock.wall.Add(jump)
				w := h.wait(test.state, h.clock.now)
				if got := max(0, w.until-h.clock.now); got != test.want || w.hurried != test.hurried {
					t.Errorf("waits %s (hurried %v), want %s (%v), wall clock %+v", got, w.hurried, test.want, test.hurried, jump)
				}
			}
		})
	}
}

// The wall clock may jump during the wait itself: the wait ends by the boot clock (A9).
func TestWallClockJumpsInMidWait(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		h := newHost(t)
		h.claim()
		h.settle()
		h.clock.onWait = func() { h.clock.wall = h.clock.wall.Add(jump) }
		start := h.clock.now
		h.claim()
		if waited := h.clock.now - start; waited != 30*time.Second {
			t.Errorf("with the wall clock set %s in mid-wait the gate waited %s, want the floor", jump, waited)
		}
	}
}

// A failed run's claim stands, is for what it was for, and is retried by itself: with nothing in the spool the
// backoff is waited out, with a touch only the floor (PATH-11).
func TestRetry(t *testing.T) {
	h := newHost(t)
	ticket := h.touch()
	for attempt, want := range []time.Duration{0, 30, 60, 120, 240, 300, 300} {
		start := h.clock.now
		c := h.claim()
		if waited := h.clock.now - start; waited != want*time.Second || c.Attempt != attempt+1 || !c.All {
			t.Fatalf("attempt %d waited %s and is for all: %v; want %d s", c.Attempt, waited, c.All, want)
		}
	}
	touched := h.touch()
	start := h.clock.now
	h.claim()
	if waited := h.clock.now - start; waited != 30*time.Second {
		t.Errorf("a fresh touch left a wait of %s, want the floor", waited)
	}
	if h.covers(ticket) || h.covers(touched) {
		t.Error("a ticket is covered before any run has succeeded")
	}
	h.settle()
	if !h.covers(ticket) || !h.covers(touched) {
		t.Error("a ticket is not covered after the run has succeeded")
	}
	start = h.clock.now
	h.claim()
	if waited := h.clock.now - start; waited != 30*time.Second {
		t.Errorf("after the success the gate waited %s, want the floor: failures in a row are over", waited)
	}
}

// The touch may come while the gate waits out its backoff.
func TestTouchShortensTheBackoff(t *testing.T) {
	h := newHost(t)
	h.touch()
	for range 4 {
		h.claim()
	}
	start := h.clock.now
	h.clock.stuck = func() bool {
		if h.clock.now-start < 30*time.Second || h.clock.stuck == nil {
			return false
		}
		h.clock.stuck = nil // this one wait is ended by the touch alone
		h.touch()
		return true
	}
	h.claim()
	if waited := h.clock.now - start; waited > 31*time.Second {
		t.Errorf("the gate waited %s after a touch at 30 s", waited)
	}
}

// Single requests are claimed by name and raise no global number; the sweep that they might starve comes all
// the same, and a retry forgets neither names nor that it was for everything.
func TestSingleRequests(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	ticket := h.touch("github:acme")
	c := h.claim()
	if c.All || !slices.Equal(c.Requests, []string{"github:acme"}) {
		t.Fatalf("claimed all=%v %q, want github:acme alone", c.All, c.Requests)
	}
	h.settle()
	if h.covers(ticket) {
		t.Error("a claim for one name has covered a ticket, which only runs for everything do")
	}
	for range 20 {
		h.clock.pass(time.Second)
		h.touch("slack:a")
		if c = h.claim(); c.All {
			break
		}
		h.settle()
	}
	if !c.All {
		t.Fatal("ten minutes of single requests, and no run for everything")
	}
	h.touch("slack:b")
	if c = h.claim(); !c.All || !slices.Equal(c.Requests, []string{"slack:a", "slack:b"}) {
		t.Errorf("the retry is for all=%v %q", c.All, c.Requests)
	}
	h.settle()
	if !h.covers(ticket) {
		t.Error("a run for everything has not covered the ticket")
	}
}

// The sentinel stays in the spool under a claim for names: its own claim is still to come.
func TestSentinelStaysUnderAClaimForNames(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	h.touch("a")
	s := openSpool(h.Folders.Spool)
	defer s.close()
	seen := s.read()
	h.touch() // arrives between the reading and the unlinking
	s.take(seen, false, h.clock.wall)
	if !exists(filepath.Join(h.Folders.Spool, "sentinel")) {
		t.Error("the sentinel was unlinked under a claim for names")
	}
	if exists(filepath.Join(h.Folders.Spool, "requests/a")) {
		t.Error("the claimed name was left")
	}
}

// Only the run whose claim stands may settle it.
func TestSettleKnowsItsOwn(t *testing.T) {
	h := newHost(t)
	ticket := h.touch()
	h.claim()
	h.Invocation = "another"
	h.settle()
	if h.covers(ticket) || !exists(filepath.Join(h.Folders.State, "claim")) {
		t.Error("a run settled a claim that is not its own")
	}
	h.Invocation = ""
	h.settle()
	if !exists(filepath.Join(h.Folders.State, "claim")) || !h.logged(MsgUnsettled) {
		t.Error("a run without an invocation id settled a claim, or nothing was said")
	}
}

// A number that the outbox did not show before the run is not shown as settled after it: a web app may have
// committed after the run's reading and have read the number before.
func TestUnpublishedNumberCoversNothing(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	status := filepath.Join(h.Folders.Outbox, "status.json")
	before, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	h.touch()
	h.claim()
	if err := os.WriteFile(status, before, 0o644); err != nil { // as if the claim had not been published
		t.Fatal(err)
	}
	late := h.touch() // committed after the run has read
	h.settle()
	if h.covers(late) {
		t.Fatal("covered by a run that had read before the commit")
	}
	h.claim()
	if h.covers(late) {
		t.Fatal("the next claim's number covers it")
	}
	h.settle()
	if !h.covers(late) {
		t.Error("not covered by the run after it")
	}
}

// While a claim is owed whose number was never shown, a waiting gate does not show it either: the run that is owed
// has read already, and a settle of its own that hung may still come (docs/model: the waiting gate shows a number).
func TestWaitingGateShowsNoUnpublishedNumber(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	status := filepath.Join(h.Folders.Outbox, "status.json")
	before, err := os.ReadFile(status)
	check(t, err)
	h.touch()
	h.claim()
	hung := h.Invocation
	check(t, os.WriteFile(status, before, 0o644)) // as if the claim had not been published
	late := h.touch()                             // committed after the run has read
	h.clock.onWait = func() {
		h.clock.onWait = nil
		waiting := h.Invocation
		h.Invocation = hung // its settle wakes while the next gate waits
		h.settle()
		h.Invocation = waiting
		if h.covers(late) {
			t.Error("covered by a run that had read before the commit")
		}
	}
	h.claim()
	h.settle()
	if !h.covers(late) {
		t.Error("not covered by the run after it")
	}
}

// A settle that hangs until another activation has claimed finds that claim, and leaves it.
func TestSettleWaitsForTheGateThatClaims(t *testing.T) {
	h := newHost(t)
	h.touch()
	h.claim()
	state, err := openDir(h.Folders.State)
	check(t, err)
	defer state.close()
	release, err := lock(context.Background(), state, h.clock) // another gate is about to write its claim
	check(t, err)
	h.clock.onWait = func() {
		h.clock.onWait = nil
		standing := readState(state).Claim
		standing.N, standing.Invocation = standing.N+1, "another"
		check(t, writeDurable(state, claimFile, 0o600, standing))
		release()
	}
	h.settle()
	if s := readState(state); s.Claim == nil || s.Claim.Invocation != "another" || s.Settled.N != 0 {
		t.Errorf("the late settle left claim %+v and settled %d, want the other's claim", s.Claim, s.Settled.N)
	}
}

// A folder where the claim belongs, and a number that cannot grow, are set right by the next claim.
func TestOddState(t *testing.T) {
	h := newHost(t)
	check(t, os.MkdirAll(filepath.Join(h.Folders.State, "claim/x"), 0o700))
	ticket := h.touch()
	h.claim()
	if h.settle(); !h.covers(ticket) {
		t.Error("a folder in the claim's place has stopped the trigger")
	}
	settled := filepath.Join(h.Folders.State, "settled")
	text, err := os.ReadFile(settled)
	check(t, err)
	check(t, os.WriteFile(settled, []byte(strings.Replace(string(text), `"n":1`, `"n":18446744073709551615`, 1)), 0o600))
	ticket = h.touch()
	if c := h.claim(); c.N != 1 || c.Epoch == ticket.Epoch {
		t.Errorf("after the greatest number comes %d in epoch %s", c.N, c.Epoch)
	}
	if h.settle(); !h.covers(ticket) {
		t.Error("not covered in the new epoch")
	}
}

// A lock that is held for ever costs a floor a run, not the trigger (LCK-10).
func TestLockHeldForEver(t *testing.T) {
	h := newHost(t)
	ticket := h.touch()
	state, err := openDir(h.Folders.State)
	check(t, err)
	defer state.close()
	release, err := lock(context.Background(), state, h.clock)
	check(t, err)
	h.Invocation = "one"
	start := h.clock.now
	if _, err := h.Claim(context.Background()); !errors.Is(err, ErrUnrecorded) || h.clock.now-start < h.Policy.Floor {
		t.Errorf("Claim under a held lock: %v after %s, want ErrUnrecorded after a floor", err, h.clock.now-start)
	}
	release()
	h.claim()
	if h.settle(); !h.covers(ticket) {
		t.Error("the touch was lost")
	}
}

// A state folder that comes back from a backup begins a new epoch: its numbers were used already.
func TestStateFromABackup(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	settled := filepath.Join(h.Folders.State, "settled")
	backup, err := os.ReadFile(settled)
	check(t, err)
	for range 3 {
		h.claim()
		h.settle()
	}
	check(t, os.WriteFile(settled, backup, 0o600))
	ticket := h.touch()
	c := h.claim()
	if c.Epoch == ticket.Epoch {
		t.Errorf("claim %d goes on in epoch %s, whose numbers the outbox shows as used", c.N, c.Epoch)
	}
	if h.covers(ticket) {
		t.Error("covered before any run has succeeded")
	}
	if h.settle(); !h.covers(ticket) {
		t.Error("not covered")
	}
}

// A state folder of an older epoch that comes back, or an outbox, covers no ticket that was drawn in between.
func TestFoldersThatDoNotFit(t *testing.T) {
	h := newHost(t)
	success := func() {
		h.claim()
		h.settle()
	}
	settled, status := filepath.Join(h.Folders.State, "settled"), filepath.Join(h.Folders.Outbox, "status.json")
	success()
	oldState, err := os.ReadFile(settled)
	check(t, err)
	check(t, os.Remove(settled)) // lost: a new epoch
	success()
	check(t, os.WriteFile(settled, oldState, 0o600)) // and back
	ticket := h.touch()
	check(t, h.Check(context.Background()))
	h.clock.onWait = func() {
		if h.covers(ticket) {
			t.Error("covered by a gate that waits")
		}
	}
	h.claim()
	h.clock.onWait = nil
	if h.covers(ticket) {
		t.Error("covered by an older epoch's success")
	}
	if h.settle(); !h.covers(ticket) {
		t.Error("not covered by the run for it")
	}

	oldStatus, err := os.ReadFile(status)
	check(t, err)
	success()
	success()
	h.claim()
	check(t, os.WriteFile(status, oldStatus, 0o644)) // in mid-run
	late := h.touch()
	if h.settle(); h.covers(late) {
		t.Error("covered by a run that had read before the touch")
	}
	if h.claim(); h.covers(late) {
		t.Error("covered by the next claim")
	}
	if h.settle(); !h.covers(late) {
		t.Error("not covered by the run for it")
	}
}

// The state folder lost: the numbers begin anew in an epoch of their own, which an old ticket takes for proof
// only after a success (TRG-24).
func TestNewEpoch(t *testing.T) {
	h := newHost(t)
	for range 3 {
		h.claim()
		h.settle()
	}
	ticket := h.touch()
	for _, name := range []string{"claim", "settled"} {
		_ = os.Remove(filepath.Join(h.Folders.State, name))
	}
	h.claim()
	if h.covers(ticket) {
		t.Error("covered by an epoch without a success")
	}
	h.settle()
	if !h.covers(ticket) {
		t.Error("not covered by a success in the new epoch")
	}
}

// Damaged files are a claim for everything, said aloud, and mended by the next run (LCK-05).
func TestDamagedState(t *testing.T) {
	for _, name := range []string{"claim", "settled"} {
		for _, content := range []string{"", "\x00\x00\x00", "{", `{"n":"x"}`, `[]`, `{}`} {
			h := newHost(t)
			h.touch("one")
			h.claim()
			h.settle()
			ticket := h.touch("one")
			if err := os.WriteFile(filepath.Join(h.Folders.State, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			start := h.clock.now
			c := h.claim()
			if !c.All {
				t.Errorf("%s = %q: the claim is for %q, want everything", name, content, c.Requests)
			}
			if waited := h.clock.now - start; waited != 30*time.Second {
				t.Errorf("%s = %q: waited %s, want the floor", name, content, waited)
			}
			h.settle()
			if s, err := ReadState(h.Folders.State); err != nil || s.Damage != nil || s.Claim != nil {
				t.Errorf("%s = %q is not mended: %v %v", name, content, err, s.Damage)
			}
			if !h.covers(ticket) {
				t.Errorf("%s = %q: the ticket is not covered", name, content)
			}
		}
	}
}

// A state folder that refuses costs a floor a run and loses nothing (A5).
func TestUnrecordedClaim(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	h.clock.pass(time.Minute)
	ticket := h.touch()
	aside := h.Folders.State + ".aside"
	if err := os.Rename(h.Folders.State, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Folders.State, nil, 0o600); err != nil { // refuses root as well
		t.Fatal(err)
	}
	for range 3 {
		start := h.clock.now
		h.Invocation = newEpoch()
		if _, err := h.Claim(context.Background()); !errors.Is(err, ErrUnrecorded) {
			t.Fatalf("Claim: %v, want ErrUnrecorded", err)
		}
		if waited := h.clock.now - start; waited < 30*time.Second {
			t.Errorf("an unrecorded activation lasted %s, want the floor", waited)
		}
		if !exists(filepath.Join(h.Folders.Spool, "sentinel")) {
			t.Fatal("the sentinel is gone, and no claim stands for it")
		}
	}
	if !h.logged(MsgUnrecorded) {
		t.Error("nothing was said")
	}
	late := h.touch()
	if err := errors.Join(os.Remove(h.Folders.State), os.Rename(aside, h.Folders.State)); err != nil {
		t.Fatal(err)
	}
	h.claim()
	if h.covers(ticket) || h.covers(late) {
		t.Error("covered before any run has succeeded: an epoch was shown that is not on record")
	}
	h.settle()
	if !h.covers(ticket) || !h.covers(late) {
		t.Error("the touch was lost")
	}
}

// The context ends a wait at once, and nothing is claimed.
func TestStopWhileWaiting(t *testing.T) {
	h := newHost(t)
	h.claim()
	h.settle()
	h.touch()
	ctx, cancel := context.WithCancel(context.Background())
	h.clock.onWait = cancel
	if _, err := h.Claim(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Claim: %v, want context.Canceled", err)
	}
	if !exists(filepath.Join(h.Folders.Spool, "sentinel")) || exists(filepath.Join(h.Folders.State, "claim")) {
		t.Error("a stopped gate has claimed")
	}
}

// Where the boot cannot be known (ProcSubset=pid, and no id passed in) every activation lasts a floor: nothing is
// taken for clear that may not be.
func TestUnknownBoot(t *testing.T) {
	h := newHost(t)
	h.clock.boot = ""
	for range 2 {
		start := h.clock.now
		h.claim()
		if waited := h.clock.now - start; waited != h.Policy.Floor {
			t.Errorf("waited %s, want the floor", waited)
		}
		h.settle()
	}
}

// A spool in another place is not one that was made anew, and a claim names only some of many requests in its line.
func TestNotes(t *testing.T) {
	h := newHost(t)
	h.touch()
	h.claim()
	h.settle()
	h.Folders.Spool += "-two"
	check(t, os.MkdirAll(h.Folders.Spool+"/requests", 0o755))
	h.claim()
	h.settle()
	if h.logged(MsgMoved) {
		t.Error("a spool in another place is called moved")
	}
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("%0200d", i)
	}
	h.touch(names...)
	h.claim()
	last := h.events[len(h.events)-1]
	if len(last.Message) > 3000 || !strings.Contains(last.Message, "and 990 more") {
		t.Errorf("the claim of 1000 names says %d bytes: %.100s…", len(last.Message), last.Message)
	}
}
