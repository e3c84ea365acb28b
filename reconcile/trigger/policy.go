package trigger

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Folders are the three folders of one trigger, as absolute paths.
type Folders struct {
	Spool  string // the web app writes: sentinel, requests/
	State  string // trueup's own: claim, settled
	Outbox string // the web app reads: status.json; empty means that nobody reads
}

// Validate says which folder is missing, relative, shared with another role or in another's.
func (f Folders) Validate() error {
	var errs []error
	for _, dir := range []struct{ role, path string }{{"spool", f.Spool}, {"state", f.State}, {"outbox", f.Outbox}} {
		switch {
		case dir.path == "" && dir.role == "outbox":
		case dir.path == "":
			errs = append(errs, fmt.Errorf("the %s folder is not given: use --%s DIR", dir.role, dir.role))
		case !filepath.IsAbs(dir.path):
			errs = append(errs, fmt.Errorf("the %s folder %q is relative: give it from the root", dir.role, dir.path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if overlap(f.Spool, f.State) || overlap(f.Spool, f.Outbox) || overlap(f.State, f.Outbox) {
		return fmt.Errorf("spool %s, state %s and outbox %s must be three folders, none in another: the web app writes the first and reads the last", f.Spool, f.State, f.Outbox)
	}
	return nil
}

// overlap tells whether one folder is the other or lies in it, by name.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a, b = filepath.Clean(a)+"/", filepath.Clean(b)+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Policy says how often the trigger may run.
type Policy struct {
	Floor    time.Duration // least time between the end of a successful run and the next claim
	RetryMax time.Duration // the longest backoff after failures in a row
	Sweep    time.Duration // how often a run for everything is due
}

// DefaultPolicy is a floor of 30 s, retries at most 5 min apart and a sweep every 5 min.
func DefaultPolicy() Policy {
	return Policy{Floor: 30 * time.Second, RetryMax: 5 * time.Minute, Sweep: 5 * time.Minute}
}

// Validate says which duration is out of bounds.
func (p Policy) Validate() error {
	var errs []error
	if p.Floor < 100*time.Millisecond || p.Floor > time.Hour {
		errs = append(errs, fmt.Errorf("floor %s is out of bounds: give 100ms to 1h", p.Floor))
	}
	if p.RetryMax < p.Floor || p.RetryMax > 24*time.Hour {
		errs = append(errs, fmt.Errorf("retry-max %s is out of bounds: give the floor (%s) to 24h", p.RetryMax, p.Floor))
	}
	if p.Sweep < p.Floor || p.Sweep > 24*time.Hour {
		errs = append(errs, fmt.Errorf("sweep %s is out of bounds: give the floor (%s) to 24h", p.Sweep, p.Floor))
	}
	return errors.Join(errs...)
}

// Backoff is the wait after the given number of failures in a row: the floor, doubling, at most RetryMax.
func (p Policy) Backoff(failures int) time.Duration {
	wait := p.Floor
	for range failures - 1 {
		if wait *= 2; wait >= p.RetryMax {
			return p.RetryMax
		}
	}
	return min(wait, p.RetryMax)
}
