package units

import (
	"fmt"
	"slices"
	"strings"
)

// bootTargets are the targets a boot waits for.
var bootTargets = []string{"multi-user.target", "graphical.target", "default.target", "basic.target", "sysinit.target"}

// warn names what works, and will surprise somebody (F6, F15).
func warn(p properties, version int) []Verdict {
	var out []Verdict
	add := func(rule string, when bool, format string, args ...any) {
		if when {
			out = append(out, Verdict{Rule: rule, Reason: fmt.Sprintf(format, args...)})
		}
	}
	add("version", version < 246, "systemd %d looks at the sentinel only when it changes: a touch during a run is lost until the timer", version)
	add("timeout", p.unbounded(), "no TimeoutStartSec=: a hung run would block the trigger for ever")
	add("ignored", p.IgnoresFailure, `"-" before ExecStart=: a failed run would count as a success`)
	add("success", p.MoreSuccess, "SuccessExitStatus=: runs that end so count as a success")
	add("restart", p.Restart != "" && p.Restart != "no", "Restart=%s starts it again beside the trigger's own retries: better without", p.Restart)
	for _, target := range p.WantedBy {
		add("boot", slices.Contains(bootTargets, target),
			"it is enabled in %s: the boot waits for its run, and for the gate's backoff after a crash; a timer's OnBootSec= does not", target)
	}
	for _, unit := range p.TriggeredBy {
		add("socket", strings.HasSuffix(unit, ".socket"), "%s starts it as well: a connection is refused while the gate waits", unit)
	}
	return out
}
