package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units"
)

// TestBeginWith shows that the configuration to begin with can be had as the hint says, and holds.
func TestBeginWith(t *testing.T) {
	for _, user := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "new folder", "trueup.yaml")
		command, _ := strings.CutPrefix(beginWith(file, user), "begin with: ")
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		w := which{config: file, name: "two", user: user}
		c, err := w.load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Targets) != 1 || c.Targets[0].Key() != "command:hello" {
			t.Errorf("it declares %+v", c.Targets)
		}
		var i units.Installation
		if err := fromConfig(t.Context(), w, &i); err != nil {
			t.Fatal(err)
		}
		if i.Config != file || i.Policy != trigger.DefaultPolicy() || !strings.HasSuffix(i.Folders.Spool, "/trueup/trueup-two/spool") ||
			i.Ledger != i.Folders.State || i.Report == "" {
			t.Errorf("installed would be %+v", i)
		}
	}
}

// TestFromConfig shows that the service is made for what the configuration says, and for nothing that cannot be.
func TestFromConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trueup.yaml")
	load := func(text string) (i units.Installation, err error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return i, fromConfig(t.Context(), which{config: file}, &i)
	}
	i, err := load("version: 1\ntrigger: {spool: /a/s, state: /a/t, floor: 1m, sweep: 10m, retry_max: 20m}\n" +
		"state: sqlite:///a/l/x.db\noutbox: /a/o\nreport: /a/r\n")
	want := units.Installation{Config: file, Ledger: "/a/l", Report: "/a/r"}
	want.Folders = trigger.Folders{Spool: "/a/s", State: "/a/t", Outbox: "/a/o"}
	want.Policy = trigger.Policy{Floor: time.Minute, Sweep: 10 * time.Minute, RetryMax: 20 * time.Minute}
	if err != nil || i.Adoption != want.Adoption || i.Config != want.Config || i.Ledger != want.Ledger || i.Report != want.Report {
		t.Errorf("got %+v, %v", i, err)
	}
	for _, text := range []string{"version: 1\ntrigger: {floor: 1ms}\n", "version: 2\n"} {
		if _, err := load(text); newUI(&bytes.Buffer{}, &bytes.Buffer{}).exit(t.Context(), err) != exitConfig {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestInstalledDocument shows the keys that scripts read.
func TestInstalledDocument(t *testing.T) {
	c := units.Changes{Adoption: units.Adoption{Unit: "trueup.service", Folders: trigger.Folders{Spool: "/s", State: "/t", Outbox: "/o"}},
		Done: []units.Change{{Op: units.Create, What: "/s"}, {Op: units.Enable, What: "trueup.path"}}}
	text, err := json.Marshal(installedDocument(c, units.Installation{Config: "/etc/x.yaml"}))
	want := `{"version":1,"unit":"trueup.service","user":false,"config":"/etc/x.yaml","spool":"/s","state":"/t","outbox":"/o","dry_run":false,` +
		`"changes":[{"op":"create","what":"/s"},{"op":"enable","what":"trueup.path"}],"warnings":[]}`
	if err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
}
