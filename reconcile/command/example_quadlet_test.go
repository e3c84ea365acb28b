package command

import (
	"os"
	"strings"
	"testing"
)

// systemctl behaves as systemd does where it matters here: what runs is what was on the disk at the last daemon-reload
// before the last restart. A service whose file says Broken does not start.
const systemctl = `#!/bin/sh
echo "$@" >>/var/lib/systemctl.log
loaded=/var/lib/loaded running=/var/lib/running
mkdir -p "$loaded" "$running"
for last; do :; done
case $last in *-network.service) file=${last%-network.service}.network ;; *) file=${last%.service}.container ;; esac
case $1 in
    daemon-reload) rm -f "$loaded"/* && cp /etc/containers/systemd/* "$loaded" ;;
    --quiet) test -e "$running/$file" ;;
    stop) rm -f "$running/$file" ;;
    restart)
        rm -f "$running/$file"
        if grep -q Broken "$loaded/$file"; then echo "Job for $last failed" >&2; exit 1; fi
        cp "$loaded/$file" "$running/$file"
        ;;
esac
`

const web, db, network = "etc/trueup/quadlets/wanted/web.container", "etc/trueup/quadlets/wanted/db.container", "etc/trueup/quadlets/wanted/app.network"

func newQuadlets(t *testing.T) (scratch, *Kind) {
	t.Helper()
	root := newScratch(t, map[string]string{
		"etc/trueup/bin/systemctl": systemctl,
		db:                         "[Container]\nImage=db:1\n",
		network:                    "[Network]\n",
		"etc/containers/systemd/foreign.container": "[Container]\n",
	})
	root.install(t, "quadlet/quadlets", "etc/trueup/quadlets/quadlets")
	root.install(t, "quadlet/web.container", web)
	k := root.kind(t, exampleOf(t, "quadlet"))
	k.settings.Env = map[string]string{"PATH": "/etc/trueup/bin:" + os.Getenv("PATH")}
	return root, k
}

// did is what systemctl was told since the last time, but for questions.
func (s scratch) did(t *testing.T) string {
	t.Helper()
	var told []string
	for line := range strings.Lines(readFile(t, s.path("var/lib/systemctl.log"))) {
		if !strings.HasPrefix(line, "--quiet") {
			told = append(told, strings.TrimSpace(line))
		}
	}
	s.write(t, "var/lib/systemctl.log", "")
	return strings.Join(told, ", ")
}

func TestQuadlets(t *testing.T) {
	t.Parallel()
	root, k := newQuadlets(t)
	in, _ := input()
	step := func(did string, planned ...string) {
		t.Helper()
		p, err := converge(t, k, in)
		if err != nil {
			t.Fatal(err)
		}
		want(t, p, planned...)
		if got := root.did(t); got != did {
			t.Errorf("systemctl was told %q, want %q", got, did)
		}
		settled(t, k, in)
	}
	step("daemon-reload, restart app-network.service, daemon-reload, restart db.service, daemon-reload, restart web.service",
		"+ app.network", "+ db.container", "+ web.container")

	root.write(t, web, "[Container]\nImage=web:2\n")
	step("daemon-reload, restart web.service", "~ web.container: new content")
	if got := readFile(t, root.path("var/lib/running/web.container")); got != "[Container]\nImage=web:2\n" {
		t.Errorf("the web app runs with %q", got)
	}

	if err := os.Remove(root.path("var/lib/running/db.container")); err != nil {
		t.Fatal(err)
	}
	step("daemon-reload, restart db.service", "~ db.container: not running")

	if err := os.Remove(root.path(db)); err != nil {
		t.Fatal(err)
	}
	step("stop db.service, daemon-reload", "- db.container: stopped and removed, its volumes stay")
	if got := readFile(t, root.path("etc/containers/systemd/foreign.container")); got != "[Container]\n" {
		t.Errorf("another's file has become %q", got)
	}
}

// A service that does not start leaves the drift to be seen, and so does a crash at the same place.
func TestQuadletThatDoesNotStart(t *testing.T) {
	t.Parallel()
	root, k := newQuadlets(t)
	in, _ := input()
	if _, err := converge(t, k, in); err != nil {
		t.Fatal(err)
	}
	root.write(t, web, "[Container]\nImage=Broken\n")
	root.write(t, db, "[Container]\nImage=db:2\n")
	p, err := converge(t, k, in)
	want(t, p, "~ web.container: new content", "~ db.container: new content")
	if err == nil || !strings.Contains(err.Error(), "Job for web.service failed") {
		t.Errorf("got %v", err)
	}
	if got := readFile(t, root.path("var/lib/running/db.container")); !strings.Contains(got, "db:2") {
		t.Errorf("its neighbour runs with %q", got)
	}
	p, err = converge(t, k, in)
	want(t, p, "~ web.container: not started with its new content")
	if err == nil {
		t.Error("it started")
	}
}

func TestQuadletsWithoutSource(t *testing.T) {
	t.Parallel()
	root, k := newQuadlets(t)
	in, _ := input()
	if _, err := converge(t, k, in); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func() error{
		func() error { return os.RemoveAll(root.path("etc/trueup/quadlets/wanted")) },
		func() error { return os.Mkdir(root.path("etc/trueup/quadlets/wanted"), 0o755) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		seen, err := k.Observe(t.Context(), in)
		unknown(t, err, "wanted")
		if len(seen.Changes) > 0 {
			t.Errorf("planned %q", lines(seen.Changes))
		}
	}
}
