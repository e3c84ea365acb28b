package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/plan"
	"trueup/reconcile/publish"
	"trueup/reconcile/trigger"
	"trueup/units"
)

// samples are the pages that are looked at: each state that a host can be in.
func samples(t *testing.T) map[string]*view {
	host := func(spoil func(*view)) *view {
		v := &view{facts: well(), host: "host-a"}
		v.unit, v.state.Settled.Runs = "trueup.service", 7
		v.systemd.Path.Unit, v.systemd.Service.Unit, v.systemd.Timers[0].Unit = "trueup.path", "trueup.service", "trueup.timer"
		v.site = &siteFacts{folders: v.folders}
		v.activity = aDay()
		spoil(v)
		return v
	}
	return map[string]*view{
		"well":         host(func(v *view) { v.add(t, 9) }),
		"held":         host(func(v *view) { v.add(t, 12); v.hold("command:members", 41) }),
		"failing":      host(func(v *view) { v.add(t, 12); v.fail("forgejo:git", "r-9c2d0", 3); v.fail("command:dns", "r-5d1k0", 7) }),
		"waiting":      host(func(v *view) { v.add(t, 6); v.wait() }),
		"broken":       host(func(v *view) { v.add(t, 4); v.broken() }),
		"stale":        host(func(v *view) { v.add(t, 3); v.state.Settled.Finished = before(50 * time.Minute) }),
		"empty":        host((*view).empty),
		"many":         host(func(v *view) { v.add(t, 200); v.busy(t) }),
		"crowd":        host(func(v *view) { v.add(t, 1500); v.fail("command:t0007", "r-9c2d0", 4) }),
		"hostile":      host(func(v *view) { v.add(t, 3); v.hostile() }),
		"trigger-only": {facts: well(), host: "host-a"},
		"trigger-dead": {facts: func() facts {
			f := well()
			f.systemd.Path.Active, f.systemd.Path.Result = "failed", "resources"
			return f
		}(), host: "host-a"},
	}
}

// empty was installed a moment ago.
func (v *view) empty() {
	v.activity, v.systemd.Path.Since = publish.Activity{}, noon.Add(-10*time.Second)
	v.state, v.shown = trigger.State{}, trigger.Status{Version: 1, Epoch: "E", State: trigger.Idle}
}

// aDay is a sweep every five minutes, a few touches, one failure, one pause of an hour.
func aDay() publish.Activity {
	a := publish.Activity{Version: 1}
	for i := range 288 {
		at := noon.Add(-24*time.Hour + time.Duration(i)*5*time.Minute + time.Minute)
		if i > 100 && i < 112 {
			continue
		}
		s := publish.Slot{Took: time.Duration(300+i*7%900) * time.Millisecond}
		if i%9 == 4 {
			s.Touched, s.Waited, s.Took = 1, time.Duration(i%29)*time.Second, 4*time.Second
		}
		if i == 211 || i == 212 {
			s.Failed = 1
		}
		a.Add(at, s)
	}
	return a
}

// add adds quiet targets, and to some of them a run that changed something.
func (v *view) add(t *testing.T, n int) {
	names := []string{"github:acme", "command:proxy", "forgejo:git", "slack:T0AB", "command:dns", "command:members", "command:motd", "command:backup", "command:mail", "command:wiki", "command:vpn", "command:keys"}
	for i := range n {
		name := fmt.Sprintf("command:t%04d", i)
		if n <= len(names) {
			name = names[i]
		}
		v.site.standings = append(v.site.standings, reconcile.Standing{Target: reconcile.Key(name), Report: reconcile.Report{State: reconcile.OK}, Since: noon.Add(-time.Duration(i+1) * 7 * time.Hour),
			Asked: 7, Covered: 9, CoveredAt: noon.Add(-12 * time.Second), Ticked: noon.Add(-12 * time.Second)})
		if i%3 == 0 && i < 60 {
			for j := range 1 + i%4 {
				v.run(t, name, fmt.Sprintf("r-%05d", i*10+j), noon.Add(-time.Duration(i*37+j*190+3)*time.Minute), 300*time.Millisecond, "",
					reconcile.Change{ID: "1", Op: reconcile.Create, Text: "user ada"}, reconcile.Change{ID: "2", Op: reconcile.Update, Text: "team acme/devs (+ada)"})
			}
		}
	}
}

// run adds a run that did what it planned, or failed.
func (v *view) run(t *testing.T, target, id string, began time.Time, took time.Duration, failure string, changes ...reconcile.Change) {
	l := reconcile.Lease{Fence: 812, Run: reconcile.RunID(id), Target: reconcile.Key(target), Scopes: []reconcile.Scope{reconcile.Scope(target)}, Holder: "sweep on host-a, pid 7",
		Reason: "asked by claim 12 for everything", Asked: began.Add(-time.Second), Since: began, Until: began.Add(15 * time.Minute)}
	facts := []reconcile.Fact{reconcile.Leased{Lease: l}}
	if len(changes) > 0 {
		facts = append(facts, reconcile.Planned{Changes: changes})
	}
	if failure != "" {
		facts = append(facts, reconcile.Failed{Error: failure})
	} else {
		for _, c := range changes {
			facts = append(facts, reconcile.Applied{Change: c.ID, Took: took})
		}
		facts = append(facts, reconcile.Succeeded{Changes: len(changes)})
	}
	var events []reconcile.Event
	for i, f := range facts {
		events = append(events, reconcile.Event{Seq: i + 1, At: began.Add(took * time.Duration(i) / time.Duration(len(facts)-1)), Fact: f})
	}
	v.record(t, events)
}

func (v *view) record(t *testing.T, events []reconcile.Event) {
	h, err := reconcile.Fold(events)
	if err != nil && t != nil {
		t.Fatal(err)
	}
	at := 0
	for at < len(v.runs) && v.runs[at].Lease.Since.After(h.Lease.Since) {
		at++
	}
	v.runs = append(v.runs[:at:at], append([]reconcile.History{h}, v.runs[at:]...)...)
}

// standing is a target's, to be spoilt.
func (v *view) standing(target string) *reconcile.Standing {
	for i := range v.site.standings {
		if s := &v.site.standings[i]; string(s.Target) == target {
			return s
		}
	}
	return &reconcile.Standing{}
}

func (v *view) hold(target string, n int) {
	const id = "r-7f3k2"
	began := noon.Add(-2 * time.Hour)
	var p reconcile.Plan
	hold := reconcile.HeldBack{Digest: "d", Why: fmt.Sprintf("%d removals of 98, more than 25 %%", n)}
	for i := range n {
		c := reconcile.Change{ID: fmt.Sprint(i), Op: reconcile.Remove, Text: fmt.Sprintf("member m%02d of acme", i)}
		p, hold.Changes = append(p, c), append(hold.Changes, c.ID)
	}
	l := reconcile.Lease{Fence: 700, Run: id, Target: reconcile.Key(target), Holder: "sweep on host-a, pid 7", Since: began, Until: began.Add(15 * time.Minute)}
	v.record(nil, []reconcile.Event{{Seq: 1, At: began, Fact: reconcile.Leased{Lease: l}}, {Seq: 2, At: began, Fact: reconcile.Planned{Changes: p}},
		{Seq: 3, At: began, Fact: hold}, {Seq: 4, At: began.Add(2 * time.Second), Fact: reconcile.Succeeded{}}})
	s := v.standing(target)
	s.Report, s.Since, s.CoveredAt = reconcile.Report{State: reconcile.Held, Note: hold.Why, Run: id}, began, began
	s.Asked, s.AskedAt = 11, noon.Add(-5*time.Second)
	v.site.holds = map[reconcile.Key]plan.Hold{s.Target: {Target: s.Target, Run: id, Why: hold.Why, Changes: n}}
}

func (v *view) fail(target, id string, times int) {
	const why = "import acme/site: 422 clone failed: the server hung up before it had sent everything"
	s := v.standing(target)
	s.Report, s.Failures = reconcile.Report{State: reconcile.Failing, Note: why, Run: reconcile.RunID(id)}, times
	s.Since, s.CoveredAt, s.Asked, s.AskedAt = noon.Add(-4*time.Minute), noon.Add(-9*time.Minute), 11, noon.Add(-5*time.Second)
	for i := range times {
		v.run(nil, target, fmt.Sprintf("%s%d", id[:len(id)-1], i), noon.Add(-time.Duration(i*i+1)*time.Minute), 2100*time.Millisecond, why)
	}
}

// wait has a claim that failed once, a target that somebody reserved, one that is ticked now, one that was told to wait.
func (v *view) wait() {
	v.shown.State, v.state.Claim = trigger.Failing, claim(1, 12*time.Second)
	for i := range v.site.standings[:2] {
		v.site.standings[i].Asked, v.site.standings[i].AskedAt, v.site.standings[i].Reason = 11, noon.Add(-5*time.Second), "asked by claim 12 for everything"
	}
	limited := &v.site.standings[2]
	limited.Report, limited.NotBefore, limited.Asked = reconcile.Report{State: reconcile.Limited, Note: "429 from the server"}, noon.Add(20*time.Minute), 11
	item := reconcile.Item{ID: "pause:slack:T0AB", State: reconcile.InProgress, Reason: "moving house", Scopes: []reconcile.Scope{"slack:T0AB"}, Since: noon.Add(-time.Hour)}
	item.Session.Holder, item.Session.Fence = "ada", 33
	v.site.items, v.site.reserved = []reconcile.Item{item}, map[reconcile.Key]reconcile.Item{"slack:T0AB": item}
	v.site.leases = []reconcile.Lease{{Target: "command:dns", Holder: "tick on host-b, pid 7", Scopes: []reconcile.Scope{"command:dns", "zone/example.org"}, Until: noon.Add(10 * time.Minute)}}
}

// broken cannot read its ledger, and its trigger is dead.
func (v *view) broken() {
	v.site.err, v.site.standings, v.runs = errors.New("opening /var/lib/trueup/trueup/state/ledger.db: database disk image is malformed"), nil, nil
	v.systemd.Path.Active, v.systemd.Path.Result = "failed", "resources"
	v.systemd.Timers = []units.TimerState{}
	v.alarms = []publish.Standing{{Alarm: publish.Alarm{ID: publish.ID{Name: publish.TriggerDead, Unit: v.unit}}, Since: noon.Add(-time.Hour)}}
}

// busy has as much to tell of each target as there is room.
func (v *view) busy(t *testing.T) {
	for i := range v.site.standings {
		s := &v.site.standings[i]
		id := fmt.Sprintf("r-%05d", 90000+i)
		s.Report, s.Failures, s.Since = reconcile.Report{State: reconcile.Failing, Note: strings.Repeat("it went wrong again ", 30), Run: reconcile.RunID(id)}, 1, noon.Add(-time.Hour)
		v.run(t, string(s.Target), id, noon.Add(-time.Duration(i*3)*time.Minute), time.Second, strings.Repeat("it went wrong again ", 30))
	}
	v.runs = v.runs[:min(len(v.runs), maxRuns)]
}

// hostile is what somebody outside might put into names and notes.
func (v *view) hostile() {
	const evil = `"><script>document.title="owned"</script><img src=x onerror="document.title='owned'"> javascript:alert(1)` + "\u202egnp.exe\x1b[2J"
	for i := range v.site.standings {
		s := &v.site.standings[i]
		s.Target = reconcile.Key(fmt.Sprintf("command:%d%s", i, evil))
		s.Report, s.Failures = reconcile.Report{State: reconcile.Failing, Note: evil, Run: reconcile.RunID(evil)}, 5
	}
	for i := range v.runs {
		v.runs[i].Lease.Target, v.runs[i].Lease.Run, v.runs[i].Lease.Holder = v.site.standings[0].Target, reconcile.RunID(evil), evil
		v.runs[i].Plan = reconcile.Plan{{ID: evil, Op: reconcile.Op("-"), Text: evil}}
	}
	item := reconcile.Item{ID: reconcile.ItemID(evil), State: reconcile.Blocked, Note: evil, Reason: evil, Scopes: []reconcile.Scope{evil}}
	item.Session.Holder = evil
	v.site.items, v.remarks = []reconcile.Item{item}, []string{evil}
	v.trouble = trigger.Trouble{Seen: []string{evil}, SeenAt: noon}
}
