package main

import "fmt"

// A rule is one thing that can be wrong about a trigger. Status tells of the rules that are broken, doctor of all.
type rule struct {
	group, id string
	look      func(facts, need)
	well      func(facts) string // what there is to say where it is kept; empty: it is not about this trigger
}

// broken is what a person has to deal with where the rule is not kept.
func (r rule) broken(f facts) (found []finding) {
	r.look(f, func(do, format string, args ...any) {
		found = append(found, finding{fmt.Sprintf(format, args...), do})
	})
	return found
}

// rules are in the order in which their breach matters.
func rules() []rule {
	say := func(text string) func(facts) string { return func(facts) string { return text } }
	return []rule{
		{"trigger", "path", facts.needsOfPath, facts.wellPath},
		{"trigger", "timer", facts.needsOfTimer, facts.wellTimer},
		{"trigger", "drift", facts.needsOfDropin, func(f facts) string {
			return f.onSystemd("the drop-in is what adopt would write for the unit as it is now")
		}},
		{"trigger", "watch", facts.needsOfWatch, func(f facts) string {
			if f.watch == watchOn {
				return "trueup watch runs"
			}
			return ""
		}},
		{"trigger", "runs", facts.needsOfFailures, func(f facts) string { return "it does not fail again and again; " + f.lastSuccess() }},
		{"trigger", "stale", facts.needsOfStale, facts.wellStale},
		{"trigger", "hanging", facts.needsOfHanging, say("no run goes on for too long")},
		{"trigger", "requests", facts.needsOfRequests, say("no request waits for too long")},
		{"folders", "spool", facts.needsOfSpool, func(f facts) string { return f.folders.Spool }},
		{"folders", "state", facts.needsOfState, func(f facts) string { return f.folders.State }},
		{"folders", "outbox", facts.needsOfOutbox, func(f facts) string { return f.folders.Outbox }},
		{"folders", "sharing", facts.needsOfSharing, say("no other unit has them")},
		{"trigger", "gate", facts.needsOfGate, say("the last activation met nothing that a person has to mend")},
	}
}

// onSystemd is the text, where systemd runs the trigger.
func (f facts) onSystemd(text string) string {
	if f.systemd == nil {
		return ""
	}
	return text
}

func (f facts) wellPath() string {
	s := f.systemd
	switch {
	case s == nil:
		return ""
	case !s.Prompt():
		return fmt.Sprintf("%s.path is %s, as somebody wants it%s", f.stem(), s.path(), f.meanwhile())
	}
	return fmt.Sprintf("%s.path is enabled and %s", f.stem(), s.Path.Sub)
}

func (f facts) wellTimer() string {
	switch s := f.systemd; {
	case s == nil || s.timer().Unit == "": // declined, which is warned of
		return ""
	case s.nextSweep().IsZero():
		return s.timer().Unit + " fires again after the run"
	default:
		return fmt.Sprintf("%s fires next in %s", s.timer().Unit, span(s.nextSweep().Sub(f.now)))
	}
}
