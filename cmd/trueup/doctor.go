package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"trueup/units"
)

func doctorVerb(u *ui) *cobra.Command {
	var w where
	var conf string
	var trip bool
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "look at everything that can be wrong",
		Long: `look at everything that can be wrong, and say of each: ok, or what is wrong and the command that mends it

It looks at systemd, the trigger and its folders, and of trueup's own service at the ledger and the
targets. It changes nothing, unless --round-trip asks for a request to be made. Each check is ok, a note,
a warning (worth changing) or wrong; it exits 1 when anything is wrong. As root it sees most.`,
		Example: "  sudo trueup doctor --unit web-reconciler.service",
		Args:    exactly(0, "nothing"),
	}
	w.unitFlags(c)
	c.Flags().StringVarP(&conf, "config", "c", "", "the configuration `FILE` of the reconciler, and its trigger")
	w.spoolFlag(c)
	w.stateFlag(c)
	w.outboxFlag(c)
	c.Flags().BoolVar(&trip, "round-trip", false, "request what is no target, and time it until a gate takes it: the service runs once")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, version 1")
	c.RunE = func(c *cobra.Command, _ []string) error {
		chosen, all, err := w.several(c.Context(), c, conf)
		if err != nil {
			if lost := lostManager(c.Context(), w.user); lost != nil {
				return sayDiagnoses(u, []diagnosis{{w.unit, lost}}, asJSON)
			}
			return err
		}
		var found []diagnosis
		for _, p := range chosen {
			d, err := diagnose(c.Context(), p, all, trip)
			if err != nil {
				return err
			}
			found = append(found, d)
		}
		return sayDiagnoses(u, found, asJSON)
	}
	return c
}

// A word is what a check comes to.
type word string

// The words, the best first.
const (
	isOK      word = "ok"
	isNote    word = "note"    // worth knowing
	isWarning word = "warning" // worth changing
	isWrong   word = "wrong"
)

// nothing is to be done about what is only worth knowing.
const nothing = "nothing to do"

// A check is one thing that doctor has looked at.
type check struct {
	ID   string `json:"id"` // GROUP.NAME, which stays; several may be said of one
	Word word   `json:"verdict"`
	What string `json:"what"`
	Do   string `json:"do,omitempty"` // the command that mends it, or what to do; empty where all is well
}

// A diagnosis is everything that was looked at for one trigger.
type diagnosis struct {
	unit   string
	checks []check
}

// checks collects what is found.
type checks []check

func (c *checks) add(w word, id, do, format string, args ...any) {
	*c = append(*c, check{id, w, fmt.Sprintf(format, args...), do})
}

func (c *checks) ok(id, format string, args ...any) { c.add(isOK, id, "", format, args...) }

// findings adds what a rule of status has found, or that all is well.
func (c *checks) findings(id string, found []finding, well string) {
	for _, n := range found {
		c.add(isWrong, id, n.Do, "%s", n.What)
	}
	if len(found) == 0 && well != "" {
		c.ok(id, "%s", well)
	}
}

// A patient is what doctor can see of one trigger, on top of what status sees.
type patient struct {
	facts
	exam    *units.Examination // nil where systemd has no part in it
	examErr error
	gate    string // the version that the gate gives, or what came instead
	busErr  error  // why a user's bus is not at its place
	host    hostFacts
	dirs    []dirFacts
	inotify inotifyFacts
	clock   clockFacts
	ledger  *ledgerFacts
	trip    *tripFacts // nil when it was not asked for
}

// diagnose looks at one trigger.
func diagnose(ctx context.Context, p place, all []place, trip bool) (diagnosis, error) {
	seen, err := look(ctx, []place{p}, all)
	if err != nil {
		return diagnosis{}, err
	}
	a := patient{facts: seen[0]}
	a.examine(ctx)
	a.lookAtDirs()
	a.inotify = lookAtInotify(p.user)
	a.clock = lookAtClock()
	if a.site != nil {
		a.ledger = lookAtLedger(ctx, a.site)
	}
	if trip {
		a.trip = roundTrip(ctx, a.facts)
	}
	return diagnosis{p.unit, a.checks()}, nil
}

// examine asks the manager what Adopt would say.
func (a *patient) examine(ctx context.Context) {
	if a.unit == "" {
		return
	}
	m, err := manager(ctx, a.user)
	if err == nil {
		defer m.Close()
		var e units.Examination
		if e, err = m.Examine(ctx, a.unit); err == nil {
			a.exam = &e
			a.gate = gateVersion(ctx, e)
		}
	}
	a.examErr = err
	a.busErr = lookAtBus(a.user)
}

// checks judges all of it.
func (a patient) checks() []check {
	var c checks
	a.checkSystemd(&c)
	for _, r := range rules() {
		c.findings(r.group+"."+r.id, r.broken(a.facts), r.well(a.facts))
	}
	a.checkUnit(&c)
	a.checkTrip(&c)
	a.checkDirs(&c)
	for _, note := range a.notes() {
		c.add(isNote, "trigger.mended", nothing, "%s", note)
	}
	a.checkSite(&c)
	return c
}
