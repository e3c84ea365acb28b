package main

import (
	"slices"
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
