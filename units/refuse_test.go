package units

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// fine is a unit with nothing to complain of.
func fine() properties {
	return properties{ID: "web.service", LoadState: "loaded", Fragment: "/etc/web.service", Type: "oneshot", TimeoutStart: 1,
		Requires: []string{"system.slice", "sysinit.target", "-.mount", "tmp.mount"}}
}

// TestRefuse has every refusal once, with its reason and its way out.
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*properties)
		text   string // of the unit
		later  string // of a drop-in that sorts after ours
	}{
		{want: ""},
		{want: "no such unit", change: func(p *properties) { p.LoadState = "not-found" }},
		{want: "masked", change: func(p *properties) { p.LoadState = "masked" }},
		{want: "cannot load it (bad-setting)", change: func(p *properties) { p.LoadState = "bad-setting" }},
		{want: "no unit file", change: func(p *properties) { p.Transient = true }},
		{want: "no unit file", change: func(p *properties) { p.Fragment = "" }},
		{want: "Type=simple; a trigger needs Type=oneshot", change: func(p *properties) { p.Type = "simple" }},
		{want: "RemainAfterExit", change: func(p *properties) { p.RemainAfterExit = true }},
		{want: "PermissionsStartOnly", change: func(p *properties) { p.PreStartOnlyAsTop = true }},
		{want: "DynamicUser", change: func(p *properties) { p.DynamicUser = true }},
		{want: "RestrictAddressFamilies", change: func(p *properties) { p.NoUnixSockets = true }},
		{want: "RootDirectory=/srv", change: func(p *properties) { p.RootDirectory = "/srv" }},
		{want: "", change: func(p *properties) { p.RootDirectory = "/" }},
		{want: "RootImage=/img", change: func(p *properties) { p.RootImage = "/img" }},
		{want: "TemporaryFileSystem=/var hides /var/lib/trueup/web/spool", change: func(p *properties) { p.TemporaryFileSystem = []string{"/srv", "/var"} }},
		{want: "TemporaryFileSystem=/usr/ hides /usr/bin/trueup-gate", change: func(p *properties) { p.TemporaryFileSystem = []string{"/usr/"} }},
		{want: "", change: func(p *properties) { p.TemporaryFileSystem = []string{"/var/lib/true"} }},
		{want: "ConditionHost=", change: func(p *properties) { p.Conditions = []string{"ConditionHost"} }},
		{want: "AssertHost=", change: func(p *properties) { p.Asserts = []string{"AssertHost"} }},
		{want: "ExecCondition=", change: func(p *properties) { p.ExecCondition = []string{"/bin/true"} }},
		{want: "Requires=db.service", text: "[Unit]\nRequires=db.service\n"},
		{want: "", text: "[Unit]\nRequires=db.service\nRequires=\nWants=db.service\n"},
		{want: "Requisite=db.service", later: "[Unit]\nRequisite=db.service\n"},
		{want: "BindsTo=db.service", text: "[Unit]\nBindsTo=db.service\n"},
		{want: "RequiresMountsFor=/nas", text: "[Unit]\nRequiresMountsFor=/nas\n"},
		{want: "Requires=linked.service", change: func(p *properties) { p.Requires = append(p.Requires, "linked.service") }},
		{want: "sets ExecStartPre= after", later: "[Service]\nExecStartPre=\nExecStartPre=/bin/mine\n"},
		{want: "", later: "[Service]\nExecStartPre=/bin/mine\n"},
		{want: "sets ExecStartPost= after", later: "[Service]\nExecStartPost=/bin/mine\n"},
		{want: "sets ExecStopPost= after", later: "[Service]\nExecStopPost=\n"},
		{want: "", later: "[Service]\nExecStopPost=/bin/mine\n"},
		{want: "sets NotifyAccess= after", later: "[Service]\nNotifyAccess=none\n"},
		{want: "sets StartLimitBurst= after", later: "[Unit]\nStartLimitBurst=5\n"},
		{want: "sets ReadWritePaths= after", later: "[Service]\nReadWritePaths=\n"},
		{want: "", later: "[Service]\nReadWritePaths=/srv\nProtectHome=yes\n"},
	} {
		p := fine()
		if c.change != nil {
			c.change(&p)
		}
		err := refuse(adoptionOf("web.service", "/var/lib/trueup/web").Adoption, p, sourceOf(false, c.text, c.later))
		refusal, refused := errors.AsType[*Refusal](err)
		if refused != (c.want != "") {
			t.Errorf("want %q, got %v", c.want, err)
		} else if refused && (!strings.Contains(refusal.Reason, c.want) || refusal.Hint == "" || refusal.Unit != "web.service") {
			t.Errorf("want %q, got %+v", c.want, refusal)
		}
	}
	// A later ProtectHome= matters only where we had to change it.
	if err := refuse(adoptionOf("web.service", "/home/x").Adoption, fine(), sourceOf(false, "", "[Service]\nProtectHome=yes\n")); err == nil {
		t.Error("a ProtectHome= that takes our binds away is let pass")
	}
}

// TestWarn has every warning once, and none for a unit that is well.
func TestWarn(t *testing.T) {
	if got := warn(fine(), 247); len(got) > 0 {
		t.Errorf("a unit that is well is warned of: %q", got)
	}
	p := fine()
	p.TimeoutStart, p.IgnoresFailure, p.MoreSuccess, p.Restart = math.MaxUint64, true, true, "on-failure"
	p.WantedBy, p.TriggeredBy = []string{"multi-user.target", "own.target"}, []string{"web.socket", "web.path"}
	got := texts(warn(p, 245))
	for i, want := range []string{"systemd 245", "TimeoutStartSec", `"-" before ExecStart=`, "SuccessExitStatus", "Restart=on-failure", "multi-user.target", "web.socket"} {
		if len(got) <= i || !strings.Contains(got[i], want) {
			t.Errorf("no warning of %s in %q", want, got)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d warnings: %q", len(got), got)
	}
}

// TestStandsAlone tells the timers that never fire from those that do (F18).
func TestStandsAlone(t *testing.T) {
	rows := func(bases ...string) [][]any {
		var out [][]any
		for _, b := range bases {
			out = append(out, []any{b, uint64(1), uint64(1)})
		}
		return out
	}
	for _, c := range []struct {
		timer bag
		want  bool
	}{
		{bag{"TimersMonotonic": rows("OnUnitActiveUSec")}, true},
		{bag{"TimersMonotonic": rows("OnUnitInactiveUSec", "OnUnitActiveUSec")}, true},
		{bag{"TimersMonotonic": rows("OnUnitInactiveUSec", "OnActiveUSec")}, false},
		{bag{"TimersMonotonic": rows("OnUnitActiveUSec"), "TimersCalendar": rows("OnCalendar")}, false},
		{bag{"TimersCalendar": rows("OnCalendar")}, false},
		{bag{}, false},
	} {
		if got := standsAlone(c.timer); got != c.want {
			t.Errorf("%v stands alone: %v", c.timer, got)
		}
	}
}
