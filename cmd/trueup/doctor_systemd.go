package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trueup/units"
	"trueup/units/heal"
)

// lostManager is what is to be said when a user's manager does not answer: nothing else can be looked at then.
func lostManager(ctx context.Context, own bool) (c checks) {
	if !own {
		return nil
	}
	m, err := manager(ctx, own)
	if err == nil {
		m.Close()
		return nil
	}
	do := "loginctl enable-linger"
	if me, err := user.Current(); err == nil {
		do = fmt.Sprintf("loginctl enable-linger %s && systemctl start user@%s.service", me.Username, me.Uid)
	}
	c.add(isWrong, "systemd.manager", do, "no user manager answers, so nothing of it runs: %s", oneLine(err))
	return c
}

// lookAtBus looks for the socket by which systemctl --user and others find the user's manager (F20).
func lookAtBus(own bool) error {
	if !own {
		return nil
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(heal.Socket(true))), "bus"))
	return err
}

// gateVersion is what the gate says it is. A gate that could be another's program is not started.
func gateVersion(ctx context.Context, e units.Examination) string {
	if slices.ContainsFunc(e.Refused, func(v units.Verdict) bool { return v.Rule == "gate" }) {
		return ""
	}
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, e.Adoption.Gate, "--version").Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

// checkSystemd judges the manager and the host.
func (a patient) checkSystemd(c *checks) {
	switch e := a.exam; {
	case a.examErr != nil:
		c.add(isWrong, "systemd.manager", a.systemctl("status "+quoted(a.unit)), "systemd cannot be asked about %s: %s", a.unit, oneLine(a.examErr))
	case e == nil:
		c.add(isNote, "systemd.manager", nothing, "systemd has no part in this trigger: trueup watch runs it")
	default:
		a.rules(c, e.Warned, []examined{{"version", "systemd.version", fmt.Sprintf("systemd %d", e.Version), isWarning, "install systemd 246 or newer"},
			{"reload", "systemd.reload", "systemd has read the units as they are", isWarning, a.systemctl("daemon-reload")},
			{"alarms", "systemd.alarms", "somebody looks for alarms", isWarning, "trueup alarms enable"}})
		if a.user {
			a.rules(c, e.Warned, []examined{{"linger", "systemd.linger", "linger is on: the trigger outlives the session", isWrong, "loginctl enable-linger"}})
			a.checkBus(c)
		}
	}
	a.inotify.check(c)
	a.clock.check(c, a.facts)
}

func (a patient) checkBus(c *checks) {
	if a.busErr != nil {
		c.add(isWarning, "systemd.bus", "apt-get install dbus-user-session", "there is no user bus, so systemctl --user may not work: %v", a.busErr)
		return
	}
	c.ok("systemd.bus", "the user bus is there")
}

// An examined is one of the rules of a units.Examination: under which name doctor has it, what there is to say where it
// is kept, how grave a breach is, and a command for rules that come without.
type examined struct {
	rule, id, well string
	word           word
	do             string
}

func (a patient) rules(c *checks, found []units.Verdict, rules []examined) {
	for _, r := range rules {
		kept := true
		for _, v := range found {
			if v.Rule != r.rule {
				continue
			}
			kept = false
			do := v.Hint
			if do == "" {
				do = r.do
			}
			if a.user {
				do = strings.Replace(do, "systemctl daemon-reload", "systemctl --user daemon-reload", 1)
			}
			c.add(r.word, r.id, do, "%s", v.Reason)
		}
		if kept && r.well != "" {
			c.ok(r.id, "%s", r.well)
		}
	}
}

// checkUnit judges the unit, its drop-in and its gate, as Adopt would.
func (a patient) checkUnit(c *checks) {
	e := a.exam
	if e == nil {
		return
	}
	edit, again := a.systemctl("edit "+quoted(a.unit)), a.trueup("adopt", a.unit)
	a.rules(c, e.Refused, []examined{
		{"load", "trigger.load", a.unit + " is loaded", isWrong, again},
		{"type", "trigger.type", "Type=oneshot, and no RemainAfterExit=", isWrong, edit},
		{"user", "trigger.user", "it runs as " + accountName(e.User), isWrong, edit},
		{"sockets", "trigger.sockets", "its gate can talk to systemd", isWrong, edit},
		{"root", "trigger.root", "no root of its own hides the gate", isWrong, edit},
		{"conditions", "trigger.conditions", "nothing skips its start", isWrong, edit},
		{"requires", "trigger.requires", "nothing that it requires keeps it from starting", isWrong, edit},
		{"later", "trigger.later", "no later drop-in undoes trueup's", isWrong, edit},
		{"path", "trigger.path-file", "its path unit is trueup's", isWrong, again},
	})
	a.checkGate(c)
	a.checkTimeout(c)
	a.rules(c, e.Warned, []examined{
		{"ignored", "trigger.ignored", "a run that fails counts as failed", isWarning, edit},
		{"success", "trigger.success", "only exit status 0 is a success", isWarning, edit},
		{"restart", "trigger.restart", "no Restart= beside the trigger's retries", isWarning, edit},
		{"boot", "trigger.boot", "no boot waits for it", isWarning, a.systemctl("disable " + quoted(a.unit))},
		{"socket", "trigger.socket", "", isWarning, a.systemctl("disable --now SOCKET")},
		{"no-timer", "trigger.no-timer", "", isWarning, again + " --no-timer=false"},
		{"path-dropin", "trigger.path-dropin", "no drop-in changes its path unit", isWarning, a.systemctl("cat " + quoted(a.stem()+".path"))},
		{"timer-alone", "trigger.timer-alone", "no timer waits for a run that nothing starts", isWarning, a.systemctl("edit "+quoted(a.stem()+".timer")) + " # add OnActiveSec="},
	})
	a.rules(c, e.Refused, []examined{
		{"owner", "folders.owner", "", isWrong, edit},
		{"place", "folders.place", "they are on file systems where a touch is noticed", isWrong, again + " --spool DIR --state DIR --outbox DIR"},
		{"shared", "folders.nested", "they lie side by side, and are no other unit's", isWrong, again + " --spool DIR --state DIR --outbox DIR"},
		{"folders", "folders.mode", "owner, group and mode are those that adopt gives or leaves", isWrong, again},
	})
	a.rules(c, e.Warned, []examined{{"tmpfs", "folders.tmpfs", "", isWarning, again + " --state DIR"}})
}

func accountName(user string) string {
	if user == "" {
		return "the manager's own user"
	}
	return user
}

// checkGate judges the program that stands between the spool and the run.
func (a patient) checkGate(c *checks) {
	gate := a.exam.Adoption.Gate
	well := gate + " can be started, and only root can change it"
	if a.user {
		well = gate + " can be started"
	}
	a.rules(c, a.exam.Refused, []examined{{"gate", "trigger.gate-file", well, isWrong, "make install"}})
	switch want := "trueup-gate " + version; {
	case a.gate == "": // refused
	case a.gate != want:
		c.add(isWarning, "trigger.gate-version", "make install", "%s is %q and this is trueup %s: install both from one build", gate, a.gate, version)
	default:
		c.ok("trigger.gate-version", "the gate is of this version, %s", version)
	}
}

// checkTimeout judges TimeoutStartSec= (F15).
func (a patient) checkTimeout(c *checks) {
	edit := a.systemctl("edit "+quoted(a.unit)) + " # [Service] TimeoutStartSec=10min"
	limit, floor := a.exam.Timeout, a.policy.Floor
	switch {
	case limit == 0:
		a.rules(c, a.exam.Warned, []examined{{"timeout", "trigger.timeout", "", isWarning, edit}})
	case limit < floor:
		c.add(isNote, "trigger.timeout", edit, "TimeoutStartSec=%s is shorter than the floor of %s: a daemon-reload ends a gate that waits, and it begins to wait anew", limit, floor)
	default:
		c.ok("trigger.timeout", "a command that hangs is ended after %s", span(limit))
	}
}
