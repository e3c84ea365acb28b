package units

import (
	"fmt"
	"path/filepath"
	"strings"
)

const runbook = "see docs/runbook.md#adopt"

// refusals are the rules that a unit has to keep, by the names that Examine gives them.
var refusals = []struct {
	name  string
	check func(Adoption, properties, source) (reason, hint string)
}{
	{"load", refuseLoad}, {"type", refuseType}, {"user", refuseUser}, {"sockets", refuseMute}, {"root", refuseRoot},
	{"conditions", refuseGating}, {"requires", refuseRequired}, {"later", refuseLater},
}

// refuse looks for what would make a trigger unsafe or useless. The first reason found is given.
func refuse(a Adoption, p properties, src source) error {
	for _, r := range refusals {
		if reason, hint := r.check(a, p, src); reason != "" {
			return &Refusal{Unit: a.Unit, Reason: reason, Hint: hint}
		}
	}
	return nil
}

func refuseLoad(a Adoption, p properties, _ source) (reason, hint string) {
	switch {
	case p.LoadState == "not-found":
		return "there is no such unit", "write it first; adopt adds only the trigger"
	case p.LoadState == "masked":
		return "it is masked", "systemctl unmask " + a.Unit
	case p.LoadState != "loaded":
		return "systemd cannot load it (" + p.LoadState + ")", "systemctl status " + a.Unit + " says why"
	case p.Transient || p.Fragment == "":
		return "it has no unit file, so it is gone when it stops", "write a unit file for it"
	}
	return "", ""
}

func refuseType(_ Adoption, p properties, _ source) (reason, hint string) {
	switch {
	case p.Type != "oneshot":
		return fmt.Sprintf("it is Type=%s; a trigger needs Type=oneshot", p.Type), "wrap the work in a oneshot, " + runbook
	case p.RemainAfterExit:
		// F6
		return "RemainAfterExit=yes keeps it active after its run, so it would never run again",
			"set RemainAfterExit=no in a drop-in"
	case p.PreStartOnlyAsTop:
		return "PermissionsStartOnly=yes would run the gate as root, outside the sandbox",
			`remove it and put "+" before the commands that need root`
	}
	return "", ""
}

func refuseUser(_ Adoption, p properties, _ source) (reason, hint string) {
	if p.DynamicUser {
		return "DynamicUser=yes gives it another user each time, who could not own its folders",
			"make a system user and set User=, DynamicUser=no"
	}
	return "", ""
}

// refuseMute refuses a gate that could not tell systemd to go on waiting for it, and would be killed by
// TimeoutStartSec= within the floor (F15).
func refuseMute(_ Adoption, p properties, _ source) (reason, hint string) {
	if p.NoUnixSockets {
		return "RestrictAddressFamilies= shuts the gate off from systemd's notify socket", "add AF_UNIX to it"
	}
	return "", ""
}

// refuseRoot refuses a root of its own, where neither the gate nor the folders are.
func refuseRoot(a Adoption, p properties, _ source) (reason, hint string) {
	if p.RootDirectory != "" && p.RootDirectory != "/" {
		return "RootDirectory=" + p.RootDirectory + " hides the gate and its folders",
			"adopt a oneshot without it that starts this one, " + runbook
	}
	if p.RootImage != "" {
		return "RootImage=" + p.RootImage + " hides the gate and its folders",
			"adopt a oneshot without it that starts this one, " + runbook
	}
	for _, tmpfs := range p.TemporaryFileSystem {
		for _, path := range []string{a.Folders.Spool, a.Folders.State, a.Folders.Outbox, a.Gate} {
			if within(path, filepath.Clean(tmpfs)) {
				return fmt.Sprintf("TemporaryFileSystem=%s hides %s", tmpfs, path),
					"choose folders elsewhere with --spool, --state and --outbox"
			}
		}
	}
	return "", ""
}

// refuseGating refuses whatever skips a start: the path unit would start it again at once, until one of them
// dies or PID 1 hangs (F1, F2).
func refuseGating(_ Adoption, p properties, _ source) (reason, hint string) {
	const out = "test for it inside the run, and exit 0 when there is nothing to do"
	for _, c := range []struct {
		kind  string
		found []string
	}{{"", p.Conditions}, {"", p.Asserts}, {"ExecCondition", p.ExecCondition}} {
		if len(c.found) > 0 {
			name := c.kind
			if name == "" {
				name = c.found[0] // systemd gives ConditionPathExists and its like by name
			}
			return name + "= can skip the start while the sentinel stays, which kills the trigger", out
		}
	}
	return "", ""
}

// refuseRequired refuses hard dependencies, which fail the start before the gate could wait (F2). Those that
// systemd adds itself are always there.
func refuseRequired(_ Adoption, p properties, src source) (reason, hint string) {
	const out = "use Wants= and After=, and let the run fail when it misses something"
	const because = " can fail the start before the gate runs, which kills the trigger"
	for _, key := range []string{"Requires", "Requisite", "BindsTo", "RequiresMountsFor"} {
		if found := list(src.all(), "Unit", key); len(found) > 0 {
			return key + "=" + found[0].value + because, out
		}
	}
	for _, unit := range p.Requires {
		if !implied(unit) {
			return "Requires=" + unit + because, "systemctl disable " + unit + ", or " + out
		}
	}
	return "", ""
}

func implied(unit string) bool {
	switch filepath.Ext(unit) {
	case ".slice", ".mount":
		return true
	}
	return unit == "sysinit.target" || unit == "basic.target" || unit == "dbus.socket" ||
		strings.HasPrefix(unit, "systemd-journald")
}

// refuseLater refuses drop-ins that are read after ours and take away what it says.
func refuseLater(a Adoption, _ properties, src source) (reason, hint string) {
	for _, l := range src.after {
		reset := l.value == ""
		undoes := false
		switch l.key {
		case "ExecStartPre", "ExecStopPost", "ReadWritePaths", "BindPaths", "BindReadOnlyPaths":
			undoes = reset
		case "ExecStartPost", "NotifyAccess": // settle would not be last, the gate not heard
			undoes = true
		case "ProtectHome":
			undoes = src.rebinds(a)
		case "StartLimitIntervalSec", "StartLimitBurst", "StartLimitInterval":
			undoes = true
		}
		if undoes {
			return fmt.Sprintf("%s sets %s= after our drop-in %s is read", l.file, l.key, dropinName),
				fmt.Sprintf("rename it so that it sorts before, as in %s", filepath.Join(filepath.Dir(l.file), "05-"+filepath.Base(l.file)))
		}
	}
	return "", ""
}
