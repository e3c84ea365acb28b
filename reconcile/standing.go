package reconcile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Standing is what is known of a target between its ticks.
type Standing struct {
	Target      Key
	Asked       Fence // the last ask
	AskedAt     time.Time
	Reason      string   // of the last ask
	Claims      []Claims // of each trigger whose claims have asked, by epoch
	Covered     Fence    // the fence of the last tick that covered
	CoveredAt   time.Time
	Ticked      time.Time
	Failures    int       // in a row
	NotBefore   time.Time // a tick before it is useless; zero once it is over, on the store's clock
	Since       time.Time // when Report.State became what it is
	Report      Report    // the last
	Good        *Report   // the last that succeeded
	Fingerprint string    // the target's at the last tick that covered
}

// Claims are what the claims of one trigger have asked of a target, and how much of it is covered. A trigger's are those of
// its epoch: each host that shares a ledger has one, and each is to be answered by its own numbers.
type Claims struct {
	Asked   Claim  // the highest that has asked
	Last    Fence  // the last ask of any of them
	Settled *Claim // the highest all of whose asks are covered; nil while none is
}

// Succeeded reads the report of the last success as stores keep it.
func (s *Standing) Succeeded(text string) error {
	s.Good = new(Report)
	if err := json.Unmarshal([]byte(text), s.Good); err != nil {
		return fmt.Errorf("what is known of the last success of %s is damaged, see trueup ledger check: %w", s.Target, err)
	}
	return nil
}

// Owed tells whether the target was asked for after its last covering tick began.
func (s Standing) Owed() bool { return s.Asked > s.Covered }

// AskedBy is the highest claim of an epoch that has asked for the target.
func (s Standing) AskedBy(epoch string) (Claim, bool) {
	if i, is := s.epoch(epoch); is {
		return s.Claims[i].Asked, true
	}
	return Claim{}, false
}

// SettledOf is the highest claim of an epoch all of whose asks of the target are covered.
func (s Standing) SettledOf(epoch string) (Claim, bool) {
	if i, is := s.epoch(epoch); is && s.Claims[i].Settled != nil {
		return *s.Claims[i].Settled, true
	}
	return Claim{}, false
}

func (s Standing) epoch(epoch string) (int, bool) {
	return slices.BinarySearchFunc(s.Claims, epoch, func(c Claims, epoch string) int { return strings.Compare(c.Asked.Epoch, epoch) })
}

// Claimed is the standing once a claim has asked under a number. One that comes late does not take a higher one's place, but
// what it asks for has to be covered before that is settled. Stores do the same to many targets at once.
func (s Standing) Claimed(c Claim, n Fence) Standing {
	s.Claims = slices.Clone(s.Claims)
	i, is := s.epoch(c.Epoch)
	if !is {
		s.Claims = slices.Insert(s.Claims, i, Claims{Asked: c})
	}
	if s.Claims[i].Last = n; c.N >= s.Claims[i].Asked.N {
		s.Claims[i].Asked = c
	}
	return s
}

// CoveredBy is the standing once a tick under a fence has covered what was asked before it. Fences of a target come in order
// here, since its ticks exclude each other.
func (s Standing) CoveredBy(f Fence, now time.Time) Standing {
	s.Covered, s.CoveredAt = f, now
	s.Claims = slices.Clone(s.Claims)
	for i, c := range s.Claims {
		if c.Last < f {
			s.Claims[i].Settled = &c.Asked
		}
	}
	return s
}

// patience is how long a target waits at most because the outside asked for it.
const patience = time.Hour

// At is the standing at an instant of the store's clock: a tick is no longer useless once its time has come. A time that is
// further away than patience was set by a clock that was off.
func (s Standing) At(now time.Time) Standing {
	if !s.NotBefore.After(now) || s.NotBefore.After(now.Add(patience)) {
		s.NotBefore = time.Time{}
	}
	return s
}

// After is the standing once a tick has ended with a report. Stores have it of here, as what follows.
func (s Standing) After(r Report, now time.Time) Standing {
	if r.State != s.Report.State {
		s.Since = now
	}
	r.Held, r.Own, r.Notify = "", "", nil // which no ledger keeps
	switch r.State {
	case OK:
		good := r
		s.Good, s.Failures = &good, 0
	case Held:
		s.Failures = 0
	case Failing, Uncertain:
		s.Failures++
	}
	s.Report, s.Ticked = r, now
	return s
}

// Ended is the standing once a tick has been settled.
func (s Standing) Ended(e Settlement, now time.Time) Standing {
	s = s.After(e.Report, now)
	if e.Covered {
		s = s.CoveredBy(e.Lease.Fence, now)
	}
	if s.NotBefore, s.Fingerprint = (time.Time{}), e.Fingerprint; e.Wait > 0 {
		s.NotBefore = now.Add(e.Wait)
	}
	return s
}

// Fits tells whether a tick can be settled under the live lease that has its fence, whose run has so many events; the lease
// is zero where there is none. The run that the tick opened, if any, has to end with it.
func (e Settlement) Fits(live Lease, events int) error {
	switch {
	case live.Fence == 0 || live.Target != e.Lease.Target || live.Run != e.Lease.Run:
		return fmt.Errorf("settling %s: fence %d: %w", e.Lease.Target, e.Lease.Fence, ErrLeaseLost)
	case events != e.Expected:
		return fmt.Errorf("settling %s: run %s has %d events and not %d: %w", live.Target, live.Run, events, e.Expected, ErrConflict)
	case !e.closes():
		return fmt.Errorf("settling %s: nothing closes run %s: %w", live.Target, live.Run, ErrUndecidable)
	}
	return nil
}

func (e Settlement) closes() bool {
	if len(e.Facts) == 0 {
		return e.Expected == 0
	}
	switch e.Facts[len(e.Facts)-1].(type) {
	case Succeeded, Failed, LeaseExpired:
		return true
	}
	return false
}

// Reserved names the first run or item that holds one of the scopes, with all of them that it holds; nil when none does.
// What holds each scope is given without its scopes.
func Reserved(scopes []Scope, held map[Scope]ReservedError) error {
	var by *ReservedError
	for _, scope := range scopes {
		switch h, is := held[scope]; {
		case !is:
		case by == nil:
			h.Scopes = []Scope{scope}
			by = &h
		case by.By() == h.By():
			by.Scopes = append(by.Scopes, scope)
		}
	}
	if by == nil {
		return nil // not a typed nil
	}
	return by
}
