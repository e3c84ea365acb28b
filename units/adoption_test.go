package units

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"trueup/reconcile/trigger"
)

// TestKeeping shows that what is not given stays as it was.
func TestKeeping(t *testing.T) {
	had := adoptionOf("web.service", "/srv/web").Adoption
	had.Policy = trigger.Policy{Floor: time.Minute, RetryMax: time.Hour, Sweep: 2 * time.Hour}
	had.WebGroup, had.NoTimer, had.Gate = "web", true, "/bin/true"
	complete := func(a Adoption) Adoption {
		t.Helper()
		a.Gate = "/bin/true"
		got, err := a.keeping(had).complete("/var/lib/trueup")
		if err != nil {
			t.Fatal(err)
		}
		got.AddTimer = false // it is a wish, and leaves no trace
		return got
	}
	if got := complete(Adoption{Unit: "web.service"}); !reflect.DeepEqual(got, had) {
		t.Errorf("it kept\n%+v, had\n%+v", got, had)
	}
	wish := Adoption{Unit: "web.service", Folders: trigger.Folders{Spool: "/a", State: "/b", Outbox: "/c"}, WebGroup: "other",
		Policy: trigger.Policy{Floor: time.Second, RetryMax: 2 * time.Second, Sweep: 3 * time.Second}}
	want := wish
	want.Gate, want.NoTimer = "/bin/true", true
	if got := complete(wish); !reflect.DeepEqual(got, want) {
		t.Errorf("given is\n%+v, it took\n%+v", want, got)
	}
	if got := complete(Adoption{AddTimer: true}); got.NoTimer {
		t.Error("a timer that is asked for is still declined")
	}
	had.Policy = trigger.DefaultPolicy()
	if got := complete(Adoption{Policy: trigger.Policy{Floor: 10 * time.Minute}}); got.Policy.RetryMax != 10*time.Minute {
		t.Errorf("a greater floor leaves %+v", got.Policy)
	}
}

// TestWantsTimer shows that ours stays, and comes only where there is no other.
func TestWantsTimer(t *testing.T) {
	for _, c := range []struct {
		declined, had bool
		foreign       []string
		want          bool
	}{
		{want: true},
		{foreign: []string{"other.timer"}},
		{had: true, foreign: []string{"other.timer"}, want: true},
		{had: true, foreign: []string{"web.timer"}}, // it took the place of ours
		{declined: true, had: true},
	} {
		j := adopting{rec: adoptionOf("web.service", "/srv/web"), had: record{OwnTimer: c.had}}
		j.rec.NoTimer = c.declined
		if got := j.wantsTimer(c.foreign); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestUsage tells a wish that cannot be from a unit that cannot have it.
func TestUsage(t *testing.T) {
	for name, a := range map[string]Adoption{
		"floor":    {Policy: trigger.Policy{Floor: time.Nanosecond}},
		"relative": {Folders: trigger.Folders{Spool: "spool"}},
		"line":     {Folders: trigger.Folders{Spool: "/a\nb"}},
		"timer":    {NoTimer: true, AddTimer: true},
	} {
		a.Unit, a.Gate = "web.service", "/bin/true"
		if _, err := a.complete("/var/lib/trueup"); !isUsage(err) {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*UsageError](err)
	return ok
}
