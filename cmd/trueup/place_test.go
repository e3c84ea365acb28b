package main

import (
	"io"
	"testing"
)

// A name on the command line that names nothing is a matter of the command line; that nothing is there at all is not.
func TestPick(t *testing.T) {
	places := []place{{unit: "trueup-lab.service"}, {unit: "web.service"}}
	for _, c := range []struct {
		places []place
		unit   string
		want   int
	}{
		{places, "web", 0}, {places, "trueup-lab.service", 0}, {places[:1], "", 0},
		{places, "wbe", exitUsage}, {nil, "web", exitUsage}, {places, "", exitUsage}, {nil, "", exitConfig},
	} {
		_, err := pick("status", c.places, c.unit, false)
		if got := newUI(io.Discard, io.Discard).exit(t.Context(), err); got != c.want {
			t.Errorf("%q of %d units: exit %d, want %d: %v", c.unit, len(c.places), got, c.want, err)
		}
	}
}

// Hints name the installation as the command line has to.
func TestNamed(t *testing.T) {
	for want, w := range map[string]which{
		"":                             {},
		" --name lab --user":           {name: "lab", user: true},
		" -c '/srv/a b.yaml' --name l": {config: "/srv/a b.yaml", name: "l"},
	} {
		if got := w.named(); got != want {
			t.Errorf("%+v is named by %q, want %q", w, got, want)
		}
	}
}
