package units

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	//go:embed files/trigger.path
	pathText string
	//go:embed files/trigger.timer
	timerText string
	//go:embed files/10-trueup.conf
	dropinText string
)

// renderPath writes UNIT.path.
func renderPath(r record, user bool) string { return fill(pathText, common(r, user)) }

// renderTimer writes UNIT.timer, for a unit that no timer triggers.
func renderTimer(r record, user bool) string {
	const first, accuracy = 30 * time.Second, 5 * time.Second // systemd's own accuracy is a minute
	values := common(r, user)
	values["FIRST"] = span(min(first, r.Policy.Sweep))
	values["SWEEP"] = span(r.Policy.Sweep)
	values["ACCURACY"] = span(min(accuracy, r.Policy.Sweep/4))
	return fill(timerText, values)
}

// renderDropin writes UNIT.service.d/10-trueup.conf for a unit with this text.
func renderDropin(r record, src source) string {
	values := common(r, src.user)
	values["RECORD"] = r.header()
	values["BURST"] = strconv.Itoa(r.burst())
	values["NOTIFY"] = notifyAccess(src.value("NotifyAccess"))
	values["ACCESS"] = access(r.Adoption, src)
	values["GATE"] = argument(r.Gate)
	values["FLAGS"] = gateFlags(r)
	values["HEALFLAGS"] = fmt.Sprintf("--path %s --user=%t", argument(r.Path()), src.user)
	values["OWN"] = ownLines(src)
	return fill(dropinText, values)
}

func common(r record, user bool) map[string]string {
	arg := r.Unit
	if user {
		arg += " --user"
	}
	return map[string]string{
		"UNDO": "trueup unadopt " + arg, "UNITARG": arg, "UNIT": r.Unit, "UNITTEXT": specifier(r.Unit),
		"SPOOL": specifier(r.Folders.Spool), "STATE": specifier(r.Folders.State),
	}
}

// fill replaces @NAME@ by its value. Values are not looked at again, whatever they contain.
func fill(text string, values map[string]string) string {
	var pairs []string
	for name, value := range values {
		if value == "" {
			pairs = append(pairs, "@"+name+"@\n", "") // an empty block takes its line along
		}
		pairs = append(pairs, "@"+name+"@", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// gateFlags are the flags of claim and settle: all of them, so that nothing in the unit's environment decides. The boot
// is told since ProcSubset=pid hides where it could be read.
func gateFlags(r record) string {
	return fmt.Sprintf("--spool %s --state %s --outbox %s --floor %s --retry-max %s --sweep %s --path %s --boot %%b",
		argument(r.Folders.Spool), argument(r.Folders.State), argument(r.Folders.Outbox),
		flagSpan(r.Policy.Floor), flagSpan(r.Policy.RetryMax), flagSpan(r.Policy.Sweep), argument(r.Path()))
}

// ownLines repeats the unit's ExecStartPre= lines as they stand, so that prefixes and specifiers keep their
// meaning. Those of drop-ins that sort after ours follow by themselves.
func ownLines(src source) string {
	var b strings.Builder
	for _, l := range list(src.before, "Service", "ExecStartPre") {
		fmt.Fprintf(&b, "ExecStartPre=%s\n", l.value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// notifyAccess is the least that lets the gate speak: exec, or what the unit has if that is wider.
func notifyAccess(own string) string {
	if own == "all" {
		return own
	}
	return "exec"
}

// access opens the sandbox for our folders and nothing else. A folder that is gone must not keep the unit from
// starting, hence the minus signs (F17). A unit that closes nothing gets nothing: a mount namespace for each of its
// commands would be the dearest part of a touch.
func access(a Adoption, src source) string {
	if !src.closes() {
		return ""
	}
	folders := []string{a.Folders.Spool, a.Folders.State, a.Folders.Outbox}
	lines := []string{"ReadWritePaths=" + minus(folders)}
	if !src.rebinds(a) {
		return lines[0]
	}
	// An empty home can have folders bound into it, a locked one cannot (F21).
	lines = append(lines, "ProtectHome=tmpfs")
	if hidden := slices.DeleteFunc(folders, func(f string) bool { return !src.hides(f) }); len(hidden) > 0 {
		lines = append(lines, "BindPaths="+minus(hidden))
	}
	if src.user {
		lines = append(lines, "BindPaths=-%t/systemd/notify")
	}
	if src.hides(a.Gate) {
		lines = append(lines, "BindReadOnlyPaths="+minus([]string{a.Gate}))
	}
	return strings.Join(lines, "\n")
}

func minus(paths []string) string {
	words := make([]string, len(paths))
	for i, p := range paths {
		words[i] = word("-" + p)
	}
	return strings.Join(words, " ")
}
