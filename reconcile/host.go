package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Host is the node that a reconciler runs on, where several hosts share a ledger and divide the targets by their leases.
type Host interface {
	// Takes tells whether the node may be granted targets. It is asked before each batch of grants, so that a node which is
	// drained in the midst of a sweep finishes what it holds and takes nothing more.
	Takes(ctx context.Context) (bool, error)
	// Meets tells whether the node has every label that a target requires.
	Meets(requires []string) bool
}

// ErrUnfit means that this host is not to tick the target: it lacks a label, or takes nothing. Another one does.
var ErrUnfit = errors.New("it is for another node")

// takes is Host.Takes; a host that shares its ledger with nobody takes everything.
func (r *Reconciler) takes(ctx context.Context) (bool, error) {
	if r.Host == nil {
		return true, nil
	}
	takes, err := r.Host.Takes(ctx)
	if err != nil {
		err = fmt.Errorf("looking whether this node takes targets: %w", err)
	}
	return takes, err
}

// fits tells whether this host may tick the target.
func (r *Reconciler) fits(t Target) bool { return r.Host == nil || r.Host.Meets(t.Requires) }

// refuse says why this host is not to tick a target that somebody names; nil when it may.
func (r *Reconciler) refuse(ctx context.Context, t Target) error {
	if !r.fits(t) {
		return fmt.Errorf("ticking %s: it requires %q, and this node lacks that: %w", t.Key, t.Requires, ErrUnfit)
	}
	takes, err := r.takes(ctx)
	if err == nil && !takes {
		err = fmt.Errorf("ticking %s: this node drains: %w", t.Key, ErrUnfit)
	}
	return err
}

// askedAtOnce is how many targets one transaction asks for: for as long as it takes nobody else draws a number.
const askedAtOnce = 2000

// asks are the asks for targets, aloud for those that others have to tick, unless a timer alone wants
// everything: those who are to tick it have timers of their own, and N hosts would have one another sweep N times.
func (r *Reconciler) asks(targets []Key, wanted Wanted, ask Ask) (asks []Ask) {
	aloud := map[Key]bool{}
	for _, t := range r.Targets {
		aloud[t.Key] = !r.fits(t) && (wanted.Touched || slices.Contains(wanted.Keys, t.Key))
	}
	var quiet, loud []Key
	for _, key := range targets {
		if aloud[key] {
			loud = append(loud, key)
		} else {
			quiet = append(quiet, key)
		}
	}
	for _, keys := range [][]Key{quiet, loud} {
		for part := range slices.Chunk(keys, askedAtOnce) {
			ask.Targets, ask.Aloud = part, aloud[part[0]]
			asks = append(asks, ask)
		}
	}
	return asks
}
