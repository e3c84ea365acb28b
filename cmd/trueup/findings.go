package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"trueup/reconcile/trigger"
)

// A finding is something that a person has to deal with, and the command that does, or a sentence as a shell's comment.
type finding struct {
	What string `json:"what"`
	Do   string `json:"do,omitempty"`
}

const (
	manyFailures = 3                // attempts in a row after which a person should look
	tooLong      = 15 * time.Minute // for a run that nothing bounds
	noteFor      = 24 * time.Hour   // how long something set right is worth a line
)

// A need notes something that a person has to deal with, and the command that does.
type need func(do, format string, args ...any)

// needs is what a person has to deal with, the worst first.
func (f facts) needs() (found []finding) {
	found = f.site.left()
	for _, r := range rules() {
		found = append(found, r.broken(f)...)
	}
	return append(append(found, f.needsOfAlarms(found)...), f.site.needs(f.folders)...)
}

func (f facts) needsOfPath(need need) {
	s, path := f.systemd, f.stem()+".path"
	switch {
	case s == nil:
	case s.Path.Load == "masked":
		need(f.systemctl("unmask "+quoted(path)+" && "+f.trueup("adopt", f.unit)), "masked: systemd may not load %s, so touches go unheard", path)
	case s.Path.Load != "loaded":
		need(f.trueup("adopt", f.unit), "gone: there is no %s, so touches go unheard", path)
	case s.Dead():
		until := "until somebody revives it: no timer runs"
		if next := s.nextSweep(); !next.IsZero() {
			until = fmt.Sprintf("until the next sweep, in %s, revives it", span(next.Sub(f.now)))
		}
		need(f.revive(), "dead: %s has failed (%s), so touches go unheard %s", path, s.Path.Result, until)
	case s.pathEnabled() && !s.Prompt() && s.Path.Since.IsZero():
		need(f.systemctl("start "+quoted(path)), "not started: %s is enabled and was not started, so touches go unheard", path)
	case s.spoolUnwatched:
		need(f.systemctl("restart "+quoted(path)),
			"unheard: %s is not the folder that %s watches; something was mounted over it, or it was made anew", f.folders.Spool, path)
	}
}

// revive is the command that revives the path unit. Where the spool may have killed it the service is started instead:
// its gate clears the spool, and then revives what is enabled and failed.
func (f facts) revive() string {
	path, unit := quoted(f.stem()+".path"), quoted(f.unit)
	if f.systemd.Path.Result == "resources" {
		return f.systemctl("start --no-block " + unit)
	}
	return f.systemctl("reset-failed " + path + " " + unit + " && " + f.systemctl("start "+path))
}

func (f facts) needsOfDropin(need need) {
	if f.systemd != nil && f.systemd.Drifted {
		need(f.trueup("adopt", f.unit)+" # copies its ExecStartPre= lines anew", "drifted: the unit has changed since it was adopted")
	}
}

func (f facts) needsOfTimer(need need) {
	const loss = "nothing heals drift, nor revives a dead trigger"
	if f.systemd == nil {
		return
	}
	timer := f.systemd.timer()
	switch {
	case timer.Unit == "" && !f.systemd.timerDeclined:
		need(f.trueup("adopt", f.unit), "no timer: %s", loss)
	case timer.Unit != "" && timer.Active != "active":
		need(f.systemctl("enable --now "+quoted(timer.Unit)), "no timer: %s does not run, so %s", timer.Unit, loss)
	case timer.Sub == "elapsed" && f.systemd.Service.Active == "inactive":
		need(f.systemctl("cat "+quoted(timer.Unit))+" # OnUnitActiveSec= alone never fires: add OnActiveSec=",
			"no timer: %s will not fire again, so %s", timer.Unit, loss)
	}
}

func (f facts) needsOfFailures(need need) {
	if failures := f.failures(); failures >= manyFailures {
		need(f.journal("-n 50"), "failing: the run has failed %d times in a row; %s", failures, f.lastSuccess())
	}
}

func (f facts) needsOfHanging(need need) {
	if since, what := f.hanging(); since > 0 {
		do := "# end the command that trueup watch runs: it is run again; then give trueup watch a --timeout"
		if f.unit != "" {
			do = f.systemctl("stop "+quoted(f.unit)) + " # it is run again; then give it a TimeoutStartSec="
		}
		need(do, "hanging: %s for %s, and nothing bounds it", what, span(since))
	}
}

func (f facts) needsOfRequests(need need) {
	switch late := f.overdue(); {
	case f.unrecorded():
		need(f.journal("-p warning"), "unrecorded: the state folder takes no claim; the requests stay, and one run a floor goes on")
	case late > 0:
		need(f.journal("-p warning"), "overdue: asked for %s ago and not taken", span(late))
	}
}

// failures is how many runs in a row have failed. The attempt that is on has not, so far.
func (f facts) failures() int {
	c := f.state.Claim
	switch {
	case c == nil:
		return 0
	case f.phase() == trigger.Failing:
		return c.Attempt
	}
	return c.Attempt - 1
}

// hanging is how long something has been going on that should be over.
func (f facts) hanging() (time.Duration, string) {
	if s := f.systemd; s != nil {
		age := f.now.Sub(s.Service.Since)
		switch {
		case s.Service.Active != "activating" || !s.Service.Unbounded:
		case s.Service.Sub == "start-pre" && age > max(f.policy.Floor, f.policy.RetryMax)+tooLong:
			return age, "the gate, or a command before the run, has been going on"
		case s.Service.Sub != "start-pre" && age > tooLong:
			return age, "the run has been going on"
		}
		return 0, ""
	}
	if c := f.state.Claim; c != nil && f.watch == watchOn && f.phase() == trigger.Running && f.now.Sub(c.Claimed) > tooLong {
		return f.now.Sub(c.Claimed), "the run has been going on"
	}
	return 0, ""
}

func (f facts) needsOfSpool(need need) {
	if f.spoolErr != nil {
		need(f.mend(f.folders.Spool, f.spoolErr), "no spool: %v, so nothing can ask", f.spoolErr)
	}
}

func (f facts) needsOfState(need need) {
	if f.stateErr != nil {
		need(f.mend(f.folders.State, f.stateErr), "no state: %v, so no claim can be recorded", f.stateErr)
	} else if f.state.Damage != nil {
		need(f.runNow(), "damaged: %s; the next run is for everything and mends it", oneLine(f.state.Damage))
	}
}

func (f facts) needsOfOutbox(need need) {
	if f.shownErr != nil {
		need(f.mend(f.folders.Outbox, f.shownErr), "no outbox: %v, so the web app cannot see what is live", f.shownErr)
	}
}

func (f facts) needsOfSharing(need need) {
	if len(f.sharing) > 0 {
		need(f.trueup("unadopt", f.unit)+" && "+f.trueup("adopt", f.unit)+" --spool DIR --state DIR",
			"shared: %s has the same spool or state as %s, so each takes the other's requests", list(f.sharing), f.unit)
	}
}

// needsOfGate is what the last gates met.
func (f facts) needsOfGate(need need) {
	for _, what := range f.trouble.Needs {
		need(f.journal("-p warning"), "%s", what)
	}
}

// warnings is what is worth changing and no reason to get up.
func (f facts) warnings() (lines []string) {
	if f.systemd == nil {
		return nil
	}
	if f.systemd.Service.Unbounded {
		lines = append(lines, "no TimeoutStartSec=: a hung run would block the trigger for ever")
	}
	if f.systemd.timer().Unit == "" && f.systemd.timerDeclined {
		lines = append(lines, "no timer: nothing heals drift, nor revives a dead trigger")
	}
	if late := f.unlooked(); late != "" {
		lines = append(lines, late+": systemctl status trueup-check.timer trueup-check.service")
	}
	return lines
}

// notes is what was set right without anybody's help, and not long ago, and which nodes are away.
func (f facts) notes() (lines []string) {
	if f.site != nil {
		lines = f.site.nodes.notes(f.site.flags, f.now)
	}
	if f.now.Sub(f.trouble.SeenAt) > noteFor {
		return lines
	}
	for _, seen := range f.trouble.Seen {
		lines = append(lines, seen+" ("+ago(f.trouble.SeenAt, f.now)+")")
	}
	return lines
}

// phase is the published one, or what the state folder says where nothing is published.
func (f facts) phase() trigger.Phase {
	switch {
	case f.shown.State != "":
		return f.shown.State
	case f.state.Claim == nil:
		return trigger.Idle
	}
	return trigger.Running
}

func (f facts) stem() string { return strings.TrimSuffix(f.unit, ".service") }

func (f facts) lastSuccess() string {
	if last := f.state.Settled.Finished.Wall; !last.IsZero() {
		return "last success " + ago(last, f.now)
	}
	return "it has never succeeded"
}

// mend is the command for a folder that cannot be used. Adopt makes what is missing, and gives what belongs to somebody else to
// the service; it makes no disk writable.
func (f facts) mend(dir string, err error) string {
	dir = quoted(dir)
	switch {
	case errors.Is(err, unix.EROFS):
		return "findmnt -T " + dir + " # and mount it writable"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, errNoInodes):
		return "df -h " + dir + "; df -i " + dir
	case errors.Is(err, unix.EPERM):
		return "lsattr -d " + dir
	}
	return f.remake()
}

// remake is the command that puts missing folders back.
func (f facts) remake() string {
	if f.unit == "" {
		return "# start trueup watch anew: it makes the folders that it is given"
	}
	return f.trueup("adopt", f.unit)
}

// runNow is the command that has a run begin.
func (f facts) runNow() string {
	if f.unit == "" {
		return "trueup touch --spool " + quoted(f.folders.Spool)
	}
	return f.systemctl("start --no-block " + quoted(f.unit))
}

func (f facts) systemctl(what string) string {
	if f.user {
		return "systemctl --user " + what
	}
	return "systemctl " + what
}

func (f facts) trueup(verb, unit string) string {
	if f.user {
		verb += " --user"
	}
	return "trueup " + verb + " " + quoted(unit)
}

func (f facts) journal(what string) string {
	if f.unit == "" {
		return "# look at what trueup watch and its command print"
	}
	user := ""
	if f.user {
		user = "--user "
	}
	return "journalctl " + user + "-u " + quoted(f.unit) + " " + what
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
