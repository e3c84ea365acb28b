package trigger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"
)

// A Claim says that a run owes a success for these requests. It stands in the state folder from before the
// requests are unlinked until a run that started after it has succeeded.
type Claim struct {
	Epoch      string        `json:"epoch"`              // the numbering that N belongs to
	N          uint64        `json:"n"`                  // grows by one with each claim
	Claimed    time.Time     `json:"claimed"`            // wall clock, for people
	At         time.Duration `json:"at"`                 // boot clock, in nanoseconds
	Boot       string        `json:"boot"`               // the boot that At belongs to
	Attempt    int           `json:"attempt"`            // 1, and one more for each failure in a row
	All        bool          `json:"all"`                // for everything, whatever the names
	Touched    bool          `json:"touched,omitempty"`  // somebody asked for everything, and not the timer alone
	Requests   []string      `json:"requests,omitempty"` // the names asked for, sorted
	Fresh      Asked         `json:"fresh"`              // what of it this attempt took up; the rest is owed from before
	Full       Instant       `json:"full"`               // when everything was last taken up, at this attempt or before
	Invocation string        `json:"invocation"`         // the run that may settle it
}

// Asked is everything, or some names.
type Asked struct {
	All      bool     `json:"all"`
	Requests []string `json:"requests,omitempty"`
}

// Settled is what the last successful runs left behind.
type Settled struct {
	Epoch        string    `json:"epoch"`
	N            uint64    `json:"n"`             // the number of the last claim that settled
	Finished     Instant   `json:"finished"`      // when its run ended: the floor counts from here
	Full         Instant   `json:"full"`          // when the last run for everything ended
	Covered      uint64    `json:"covered"`       // what the outbox may show as settled
	CoveredUntil time.Time `json:"covered_until"` // wall clock of the claim with that number, for people
	Runs         uint64    `json:"runs"`          // how many have settled in this epoch
}

// Instant is one moment on both clocks.
type Instant struct {
	Boot string        `json:"boot"`
	At   time.Duration `json:"at"`   // boot clock, in nanoseconds
	Wall time.Time     `json:"wall"` // for people
}

// reading is the instant on this boot's clock, at most now; one of another boot has no known reading.
func (i Instant) reading(c Clock) (at time.Duration, known bool) {
	if i.Boot == "" || i.Boot != c.Boot() {
		return 0, false
	}
	return min(i.At, c.Now()), true
}

func now(c Clock) Instant { return Instant{Boot: c.Boot(), At: c.Now(), Wall: c.Wall()} }

// State is what the state folder holds.
type State struct {
	Claim   *Claim // nil when no run owes a success
	Settled Settled
	Damage  error // what stands there and cannot be read; it is taken for a claim for everything
}

const (
	claimFile   = "claim"
	settledFile = "settled"
)

// ReadState reads the state folder. An error means that the folder itself could not be opened.
func ReadState(path string) (State, error) {
	d, err := openDir(path)
	if err != nil {
		return State{}, err
	}
	defer d.close()
	return readState(d), nil
}

func readState(d dir) State {
	var s State
	settledErr := readJSON(d, settledFile, &s.Settled)
	if settledErr == nil && s.Settled.Epoch == "" {
		settledErr = fmt.Errorf("reading %s: it has no epoch", d.path(settledFile))
	}
	if settledErr != nil {
		s.Settled = Settled{}
	}
	var claim Claim
	claimErr := readJSON(d, claimFile, &claim)
	switch {
	case claimErr == nil && claim.N > 0 && claim.Epoch != "":
		s.Claim = &claim
	case claimErr == nil:
		claimErr = fmt.Errorf("reading %s: it has no number", d.path(claimFile))
		fallthrough
	case !missing(claimErr):
		// It owed something, and nobody knows what: everything. A new epoch, since its number is lost.
		s.Claim = &Claim{Epoch: newEpoch(), Attempt: 1, All: true}
	}
	if s.Claim != nil && s.Claim.Epoch == s.Settled.Epoch && s.Claim.N <= s.Settled.N {
		s.Claim = nil // settled, but the settling was cut short before the claim was removed
	}
	for _, err := range []error{settledErr, claimErr} {
		if err != nil && !missing(err) {
			s.Damage = errors.Join(s.Damage, err)
		}
	}
	return s
}

// A mark differs between two readings of a state folder when somebody has claimed or settled in between. It leaves out
// the epoch, which is made up anew at each reading of a damaged claim.
type mark struct {
	damaged           bool
	claim, settled    uint64
	claimed, finished time.Duration
	invocation        string
}

func (s State) mark() mark {
	m := mark{damaged: s.Damage != nil, settled: s.Settled.N, finished: s.Settled.Finished.At}
	if s.Claim != nil {
		m.claim, m.claimed, m.invocation = s.Claim.N, s.Claim.At, s.Claim.Invocation
	}
	return m
}

// numbering returns the epoch and the highest number used in it. Where none is on record a new epoch begins.
func (s State) numbering() (epoch string, n uint64) {
	switch {
	case s.Claim != nil:
		return s.Claim.Epoch, s.Claim.N
	case s.Settled.Epoch != "":
		return s.Settled.Epoch, s.Settled.N
	}
	return newEpoch(), 0
}

// recorded tells whether the epoch stands in the state folder.
func (s State) recorded(epoch string) bool {
	return s.Settled.Epoch == epoch || s.Damage == nil && s.Claim != nil && s.Claim.Epoch == epoch
}

// coveredIn is what the outbox of the given epoch may show as settled; another epoch's numbers mean nothing in it.
func (s Settled) coveredIn(epoch string) (n uint64, until time.Time) {
	if s.Epoch != epoch {
		return 0, time.Time{}
	}
	return s.Covered, s.CoveredUntil
}

const epochLength = 10

func newEpoch() string { return rand.Text()[:epochLength] }

// openState opens the state folder, and makes it where it is gone and may be made.
func openState(path string) (dir, error) {
	d, err := openDir(path)
	if missing(err) {
		if mkErr := os.MkdirAll(path, 0o700); mkErr != nil {
			return dir{}, errors.Join(err, mkErr)
		}
		return openDir(path)
	}
	return d, err
}
