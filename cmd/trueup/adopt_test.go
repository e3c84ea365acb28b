package main

import (
	"slices"
	"strings"
	"testing"

	"trueup/reconcile/trigger"
	"trueup/units"
)

func TestDoneLines(t *testing.T) {
	place := func(spool, state, outbox string) units.Adoption {
		return units.Adoption{Unit: "web.service", Folders: trigger.Folders{Spool: spool, State: state, Outbox: outbox}}
	}
	usual := place("/v/spool", "/v/state", "/v/outbox")
	apart := place("/srv/spool", "/v/state", "/v/outbox")
	cases := []struct {
		name string
		a    units.Adoption
		done []units.Change
		want []string
	}{
		{"all new", usual, []units.Change{
			{Op: units.Create, What: "/v/spool"}, {Op: units.Create, What: "/v/spool/requests"}, {Op: units.Create, What: "/v/state"},
			{Op: units.Create, What: "/v/outbox"}, {Op: units.Create, What: "/etc/web.path"}, {Op: units.Enable, What: "web.path"}},
			[]string{"+ /v/{spool,state,outbox}", "+ /etc/web.path", "enable web.path"}},
		{"apart", apart, []units.Change{
			{Op: units.Create, What: "/srv/spool"}, {Op: units.Create, What: "/v/state"}, {Op: units.Create, What: "/v/outbox"}},
			[]string{"+ /srv/spool", "+ /v/{state,outbox}"}},
		{"one", usual, []units.Change{{Op: units.Update, What: "/v/spool"}, {Op: units.Remove, What: "/etc/old"}},
			[]string{"~ /v/spool", "- /etc/old"}},
	}
	for _, c := range cases {
		if got := doneLines(units.Changes{Adoption: c.a, Done: c.done}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAdoptedSays: what is said of the timer is so, whatever else was changed, and who may ask is said where it is not the web app.
func TestAdoptedSays(t *testing.T) {
	a := units.Adoption{Unit: "web.service", Folders: trigger.Folders{Spool: "/v/spool", State: "/v/state", Outbox: "/v/outbox"}}
	made := units.Change{Op: units.Create, What: "/etc/systemd/system/web.timer"}
	group := units.Change{Op: units.Update, What: "/v/spool"}
	const new, ours, nobody = "so it gets a timer", "trueup's timer triggers it too", "only root and the service's user may ask"
	for name, c := range map[string]struct {
		changes   units.Changes
		web       string
		has, lack string
	}{
		"first":        {units.Changes{OwnTimer: true, Done: []units.Change{made}}, "web", new, nobody},
		"again":        {units.Changes{OwnTimer: true, Done: []units.Change{group}}, "web", ours, new},
		"nothing":      {units.Changes{OwnTimer: true}, "", nobody, new},
		"a user's own": {units.Changes{OwnTimer: true, User: true}, "", ours, nobody},
	} {
		var out strings.Builder
		c.changes.Adoption = a
		c.changes.Adoption.WebGroup = c.web
		sayAdopted(&ui{out: &out, err: &out}, c.changes, a)
		if said := out.String(); !strings.Contains(said, c.has) || strings.Contains(said, c.lack) {
			t.Errorf("%s: said %q, want %q and not %q", name, said, c.has, c.lack)
		}
	}
}
