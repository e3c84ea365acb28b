package units_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
	"trueup/units/nspawn"
)

// TestAlarms raises every alarm by its real cause, cuts the power, and ends the causes: each alarm is told once when it is
// raised and once when it is over, by the journal and by the command (C3). One version is enough unless all are asked for.
func TestAlarms(t *testing.T) {
	t.Parallel()
	if os.Getenv("TRUEUP_PROVE") == "1" {
		nspawn.Each(t, alarmed)
		return
	}
	if _, err := nspawn.EnsureRoots(nspawn.V257); err != nil {
		t.Fatal(err)
	}
	alarmed(t, nspawn.Boot(t, nspawn.V257))
}

func alarmed(t *testing.T, m *nspawn.Machine) {
	m.CopyIn(t, filepath.Join(programs, "trueup-gate"), gate, 0o755)
	m.CopyIn(t, filepath.Join(programs, "drive"), drive, 0o755)
	m.MustExec(t, "mkdir", "-p", "/var/log/journal") // it has to outlast the power cut
	m.MustExec(t, "systemctl", "restart", "systemd-journald")
	var all []operator
	for _, g := range m.Managers() {
		all = append(all, newOperator(t, host{g}))
	}
	each := func(phase string, do func(operator, *testing.T)) {
		t.Run(phase, func(t *testing.T) {
			for _, o := range all {
				t.Run(o.String(), func(t *testing.T) { t.Parallel(); do(o, t) })
			}
		})
	}
	each("units", operator.enable)
	each("raised", operator.breakAll)
	m.MustExec(t, "journalctl", "--sync")
	m.PowerCut(t)
	m.Boot(t)
	each("over", operator.mendAll)
}

// An operator has units of every kind, and is told of alarms.
type operator struct {
	host
	trueup  []string // the program
	told    string   // what the command was told
	metrics string
	conf    string // alarms.yaml
}

func newOperator(t *testing.T, h host) operator {
	t.Helper()
	o := operator{host: h, trueup: []string{trueup}, told: h.Home() + "/told.log", metrics: h.Home() + "/trueup.prom"}
	etc := "/etc/trueup"
	program := trueup
	if h.IsUser() {
		etc, program = h.Home()+"/.config/trueup", h.Home()+"/bin/trueup"
		h.Machine().CopyIn(t, filepath.Join(programs, "trueup-gate"), h.Home()+"/bin/trueup-gate", 0o755)
	}
	o.trueup = []string{program}
	h.Machine().CopyIn(t, filepath.Join(programs, "trueup"), program, 0o755)
	teller := h.Home() + "/teller"
	h.Write(t, teller, "#!/bin/sh\ngrep -q '\"state\":\"'$TRUEUP_STATE && echo $TRUEUP_STATE $TRUEUP_ALARM $TRUEUP_UNIT $TRUEUP_TARGET >>"+o.told+"\n", 0o755)
	o.conf = etc + "/alarms.yaml"
	h.Write(t, o.conf, fmt.Sprintf("version: 1\ncommand: [%s]\nmetrics: %s\n", teller, o.metrics), 0o644)
	h.Write(t, etc+"/trueup.yaml", fmt.Sprintf(`version: 1
trigger: {floor: 1s, retry_max: 2s, sweep: 1h}
targets:
- {kind: command, name: broken, check: [test, '!', -e, %[1]s/broken], apply: ['true'], scopes: [host:a]}
- kind: command
  name: members
  plan: {shell: "test ! -e %[1]s/bob || echo '{\"id\":\"bob\",\"op\":\"-\",\"text\":\"member bob\"}'"}
  apply: [rm, %[1]s/bob]
`, h.Home()), 0o644)
	return o
}

func (o operator) run(t *testing.T, verb string, args ...string) string {
	t.Helper()
	argv := append(slices.Clone(o.trueup), strings.Fields(verb)...)
	if o.IsUser() {
		argv = append(argv, "--user")
	}
	return o.MustExec(t, append(argv, args...)...)
}

// breakAll breaks everything, and waits until it is told.
func (o operator) breakAll(t *testing.T) {
	o.WriteUnit(t, "trueup-check.timer.d/often.conf", "[Timer]\nOnActiveSec=\nOnActiveSec=200ms\nOnUnitInactiveSec=700ms\nAccuracySec=10ms\n")
	o.WriteUnit(t, "trueup-check.service.d/often.conf", "[Unit]\nStartLimitIntervalSec=0\n")
	o.WriteUnit(t, "trueup.service.d/05-own.conf", o.container())
	o.run(t, "alarms enable")
	conf, at := o.read(t, o.conf), o.Home()
	o.Write(t, o.conf, strings.Replace(conf, "command", "comand", 1), 0o644)
	o.WriteUnit(t, "bad.service", o.oneshot("bad", "ExecStart=/bin/test ! -e "+at+"/bad\n"))
	for _, name := range []string{"dead", "late", "small"} {
		o.WriteUnit(t, name+".service", o.oneshot(name, ""))
	}
	sweeping := trigger.Policy{Floor: time.Second, RetryMax: 2 * time.Second, Sweep: 5 * time.Second}
	dead := o.adopt(t, units.Adoption{Unit: "dead", Policy: quick, NoTimer: true})
	bad := o.adopt(t, units.Adoption{Unit: "bad", Policy: quick})
	small := o.adopt(t, units.Adoption{Unit: "small", Policy: quick})
	o.touch(t, o.adopt(t, units.Adoption{Unit: "late", Policy: sweeping}))
	o.awaitRuns(t, "late", 1)
	o.MustSystemctl(t, "disable", "--now", "late.timer")

	o.MustExec(t, "touch", at+"/bad", at+"/broken", at+"/bob")
	o.touch(t, bad)
	o.MustExec(t, "ln", "-s", "sentinel", dead.Changes.Adoption.Folders.Spool+"/sentinel")
	outbox := small.Changes.Adoption.Folders.Outbox
	o.Machine().MustExec(t, "mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", outbox)
	o.run(t, "install")
	o.MustExec(t, "touch", o.usual("trueup")+"/spool/sentinel")
	o.eventually(t, "there is a ledger", func() bool { return o.Sh(t, "ls "+o.usual("trueup")+"/state/ledger.db 2>/dev/null || true") != "" })
	o.run(t, "work start", "disk", "--scope", "host:b", "--for", "1s")

	nspawn.Eventually(t, 2*time.Minute, "every alarm is raised, and waits for a command to tell", func() bool {
		var said struct{ Waiting int }
		list := o.Sh(t, strings.Join(o.trueup, " ")+" alarms --list --json "+o.userFlag())
		return json.Unmarshal([]byte(list), &said) == nil && said.Waiting == len(alarms())
	})
	if said := o.Sh(t, "journalctl "+o.Flag()+" -q -b -o cat -u trueup-check.service || true"); !strings.Contains(said, `unknown key "comand"`) {
		t.Errorf("the journal does not say what is wrong with %s:\n%s", o.conf, said)
	}
	o.Write(t, o.conf, conf, 0o644)
	nspawn.Eventually(t, 2*time.Minute, "every alarm is raised", func() bool { return len(o.notices(t)) >= len(alarms()) })
	o.looksOn(t)
	o.wasTold(t, "raised")
	text := o.read(t, o.metrics)
	for _, want := range []string{`trueup_alarms{alarm="stale",unit="late.service"} 1`, `trueup_target_state{unit="trueup.service",target="command:members",state="held"} 1`,
		`trueup_runs_total{unit="bad.service",result="success"} 0`, `trueup_path_up{unit="dead.service"} 0`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
	if status := o.Sh(t, strings.Join(o.trueup, " ")+" status "+o.userFlag()+" || true"); !strings.Contains(status, "alarm    stale for ") {
		t.Errorf("status says\n%s", status)
	}
}

// alarms are those that breakAll raises.
func alarms() []string {
	return []string{"disk small.service", "failing bad.service", "failing trueup.service", "failing trueup.service command:broken",
		"held trueup.service command:members", "reserved trueup.service disk", "stale late.service", "trigger-dead dead.service"}
}

// mendAll ends each cause, and wants each alarm's end told, and nothing twice over the power cut.
func (o operator) mendAll(t *testing.T) {
	defer func() {
		if t.Failed() {
			t.Logf("the command was told %q\n%s", o.notices(t), o.Sh(t, strings.Join(o.trueup, " ")+" alarms --list "+o.userFlag()+" || true"))
		}
	}()
	o.looksOn(t)
	at := o.Home()
	o.MustExec(t, "rm", at+"/bad", at+"/broken")
	o.MustSystemctl(t, "start", "--no-block", "dead.service")
	o.MustSystemctl(t, "enable", "--now", "late.timer")
	o.run(t, "work done", "disk")
	held := o.Sh(t, fmt.Sprintf("%s history %s | sed -n '/held/{s/ .*//p;q}'", strings.Join(o.trueup, " "), o.userFlag()))
	o.run(t, "approve", strings.TrimSpace(held))
	nspawn.Eventually(t, 2*time.Minute, "every alarm is over", func() bool { return len(o.notices(t)) >= 2*len(alarms()) })
	o.looksOn(t)
	o.MustSystemctl(t, "stop", "trueup-check.timer")
	if said := o.Sh(t, strings.Join(o.trueup, " ")+" doctor --unit late "+o.userFlag()+" || true"); !strings.Contains(said, "nobody looks for alarms: trueup-check.timer is inactive") {
		t.Errorf("doctor says\n%s", said)
	}
	o.wasTold(t, "raised", "cleared")
	o.wasLogged(t)
	if o.Machine().Version == 257 { // older ones say how each run ended
		o.isQuiet(t)
	}
}

func (o operator) userFlag() string {
	if o.IsUser() {
		return "--user"
	}
	return ""
}

// notices are the lines that the command was told.
func (o operator) notices(t *testing.T) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(o.read(t, o.told)), "\n")
}

// wasTold wants each alarm told once with each of the words.
func (o operator) wasTold(t *testing.T, words ...string) {
	t.Helper()
	var want []string
	for _, word := range words {
		for _, a := range alarms() {
			want = append(want, word+" "+a)
		}
	}
	got := o.notices(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the command was told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wasLogged wants the same of the journal, whoever says it first: the sweep of what it holds, the gate of a dead path.
func (o operator) wasLogged(t *testing.T) {
	t.Helper()
	got := map[string]int{}
	for _, e := range o.Journal(t) {
		if name := e["TRUEUP_ALARM"]; name != "" {
			state := "raised"
			if e["TRUEUP_STATE"] == "cleared" {
				state = "cleared"
			}
			unit := e["TRUEUP_UNIT"]
			if unit == "" { // the sweep's entry
				unit = "trueup.service"
			}
			got[strings.TrimSpace(state+" "+name+" "+unit+" "+e["TRUEUP_TARGET"])]++
		}
	}
	for _, a := range append(alarms(), "disk trueup-check.service") { // the latter of forgetful
		for _, word := range []string{"raised ", "cleared "} {
			if got[word+a] != 1 {
				t.Errorf("the journal has %q %d times", word+a, got[word+a])
			}
			delete(got, word+a)
		}
	}
	if len(got) > 0 {
		t.Errorf("the journal has also %v", got)
	}
}

// looksOn waits until somebody has looked three times more.
func (o operator) looksOn(t *testing.T) {
	t.Helper()
	last := ""
	for range 3 {
		o.eventually(t, "somebody looks", func() bool {
			now := o.Show(t, "trueup-check.service", "ExecMainExitTimestampMonotonic")["ExecMainExitTimestampMonotonic"]
			if now == last || now == "0" {
				return false
			}
			last = now
			return true
		})
	}
}

// isQuiet wants no line in the journal for a look that finds nothing new.
func (o operator) isQuiet(t *testing.T) {
	t.Helper()
	said := o.Sh(t, "journalctl "+o.Flag()+" -q -b -o cat -g 'trueup-check.service|connection bus' || true")
	if strings.Count(said, "\n") > 3 {
		t.Errorf("looks leave lines in the journal:\n%s", said)
	}
}
