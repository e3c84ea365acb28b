package plan

import (
	"fmt"
	"slices"
	"strings"

	"trueup/reconcile"
)

// An Outlook is what a tick would do.
type Outlook struct {
	Policy string         // the digest of what is wanted
	Plan   reconcile.Plan // everything, in the order of execution; each change is in one of the four below
	Do     reconcile.Plan // is done
	Wait   reconcile.Plan // waits for a person
	Later  reconcile.Plan // is left alone, since something is unknown
	Dark   reconcile.Plan // is unknown
	// Why says why Wait waits.
	Why string
	// Run raised Wait; it is empty when nothing waits or the next tick will raise it.
	Run reconcile.RunID
	// Rejected says who does not want what waits, and is empty while nobody has said so. It is not raised again.
	Rejected string
}

// evidence is what a plan is judged by.
type evidence struct {
	breaker   Breaker
	size      int
	first     bool
	hold      kept[hold]
	approvals shelf[approval]
	doubtful  map[string]reconcile.RunID // changes that may have been done, and the runs that began them
}

// judge splits a sorted plan. No change is ever in two parts.
//
// Where something is unknown, nothing is removed and no person is asked: what looks superfluous may be wanted by the part
// that could not be read, and a set that is not known whole is no set to approve.
func (e evidence) judge(p reconcile.Plan) Outlook {
	o := Outlook{Plan: p}
	over := e.removals(p.Removals())
	dark := slices.ContainsFunc(p, func(c reconcile.Change) bool { return c.Op == reconcile.Unknown })
	grave := func(c reconcile.Change) bool {
		_, doubtful := e.doubtful[c.ID]
		return c.Confirm || doubtful || c.Op == reconcile.Remove && (over != "" || dark)
	}
	ask := slices.DeleteFunc(slices.Clone(p), func(c reconcile.Change) bool { return c.Op == reconcile.Unknown || !grave(c) })
	allowed := e.allows(ask)
	for _, c := range p {
		part := &o.Do
		switch {
		case c.Op == reconcile.Unknown:
			part = &o.Dark
		case grave(c) && dark:
			part = &o.Later
		case grave(c) && !allowed:
			part = &o.Wait
		}
		*part = append(*part, c)
	}
	if len(o.Wait) > 0 {
		o.Why = e.why(o.Wait, over)
	}
	if len(o.Wait) > 0 && e.raised(o.Wait) {
		o.Run, o.Why = e.hold.value.Run, e.hold.value.Why
		if e.hold.value.Answer == rejected {
			o.Rejected = e.hold.value.By
		}
	}
	return o
}

// removals says why the removals have to wait, or nothing. What a person was asked about before waits for that person,
// whatever the bounds say by now.
func (e evidence) removals(removals reconcile.Plan) string {
	if over := e.breaker.over(len(removals), e.size, e.first); over != "" {
		return over
	}
	for _, c := range removals {
		if e.hold.there() && slices.Contains(e.hold.value.Changes, c.ID) {
			return fmt.Sprintf("%s, some of which run %s held back", counted(len(removals), "removal"), e.hold.value.Run)
		}
	}
	return ""
}

// allows tells whether live approvals cover the changes, all of them and as they were when they were approved.
func (e evidence) allows(ask reconcile.Plan) bool {
	return !slices.ContainsFunc(ask, func(c reconcile.Change) bool { return !e.approved(c) })
}

// approved tells whether a change was approved and not done since.
func (e evidence) approved(c reconcile.Change) bool { return e.approval(c).there() }

// approval is the one that allows this very change. One of another change of the same id allows nothing.
func (e evidence) approval(c reconcile.Change) kept[approval] {
	if a := e.approvals.of(c.ID); a.value.Change == c {
		return a
	}
	return kept[approval]{}
}

// raised tells whether a person was asked about exactly these changes. What was approved is asked anew when it waits
// again: the approval is over.
func (e evidence) raised(ask reconcile.Plan) bool {
	return e.hold.there() && e.hold.value.Digest == ask.Digest() && e.hold.value.Answer != approved
}

// why says in a line why changes wait.
func (e evidence) why(ask reconcile.Plan, over string) string {
	var reasons []string
	confirm := 0
	for _, c := range ask {
		if run, doubtful := e.doubtful[c.ID]; doubtful {
			reasons = append(reasons, fmt.Sprintf("%s may have been done already, by run %s", c.Text, run))
		} else if c.Confirm {
			confirm++
		}
	}
	if confirm > 0 {
		reasons = append(reasons, counted(confirm, "change")+" to be confirmed")
	}
	if over != "" {
		reasons = append(reasons, over)
	}
	slices.Reverse(reasons)
	return strings.Join(reasons, "; ")
}

// asks tells whether a person is asked: something waits, and nobody has refused it.
func (o Outlook) asks() bool { return len(o.Wait) > 0 && o.Rejected == "" }

// note is one line about what waits, for people.
func (o Outlook) note() string {
	switch {
	case len(o.Wait) == 0:
		return ""
	case o.Rejected != "":
		return fmt.Sprintf("%s left undone, as %s wants it: %s", counted(len(o.Wait), "change"), o.Rejected, o.Why)
	}
	return o.Why
}

// ids names the changes of a plan.
func ids(p reconcile.Plan) []string {
	names := make([]string, len(p))
	for i, c := range p {
		names[i] = c.ID
	}
	return names
}

// set is the ids of a plan, to look up.
func set(p reconcile.Plan) map[string]bool {
	names := make(map[string]bool, len(p))
	for _, c := range p {
		names[c.ID] = true
	}
	return names
}

// without is the plan without some changes.
func without(p reconcile.Plan, unwanted map[string]bool) reconcile.Plan {
	return slices.DeleteFunc(slices.Clone(p), func(c reconcile.Change) bool { return unwanted[c.ID] })
}
