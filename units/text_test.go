package units

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trueup/reconcile/trigger"
)

var update = flag.Bool("update", false, "write the golden files anew")

func adoptionOf(unit, base string) record {
	return record{Adoption: Adoption{Unit: unit, Gate: "/usr/bin/trueup-gate", Policy: trigger.DefaultPolicy(),
		Folders: trigger.Folders{Spool: base + "/spool", State: base + "/state", Outbox: base + "/outbox"}}}
}

func sourceOf(user bool, before, after string) source {
	return source{user: user, before: parseUnit("/etc/x.service", before), after: parseUnit("/etc/x.service.d/override.conf", after)}
}

// TestGolden shows whole files as they are written.
func TestGolden(t *testing.T) {
	plain := adoptionOf("web.service", "/var/lib/trueup/web")
	plain.OwnTimer, plain.WebGroup = true, "www-data"
	plain.Made = []string{"/etc/systemd/system/web.service.d"}

	odd := adoptionOf(`a@b\x2dc.service`, `/srv/50% "odd" $x\y`)
	odd.Policy = trigger.Policy{Floor: 200 * time.Millisecond, RetryMax: 90 * time.Second, Sweep: time.Hour}
	odd.Gate = "/opt/true up/trueup-gate"
	odd.Old = replaced{File: "/etc/systemd/system/a@b.path", Links: []string{"paths.target.wants/a@b.path -> ../a@b.path"}, Active: true}

	home := adoptionOf("mail.service", "/home/ada/.local/state/trueup/mail")
	home.Gate = "/home/ada/bin/trueup-gate"

	own := "[Service]\nExecStartPre=/bin/dropped\nExecStartPre=\nExecStartPre=-+/bin/first %i \\\n  --on ; two\n" +
		"# no line\nExecStartPre=@/bin/sh sh -c 'echo \"$$x\"'\nNotifyAccess=all\n"
	for name, text := range map[string]string{
		"plain.conf":  renderDropin(plain, sourceOf(false, "[Service]\nType=oneshot\n", "")),
		"plain.path":  renderPath(plain, false),
		"plain.timer": renderTimer(plain, false),
		"odd.conf":    renderDropin(odd, sourceOf(false, own, "[Service]\nExecStartPre=/bin/follows-by-itself\n")),
		"odd.path":    renderPath(odd, false),
		"odd.timer":   renderTimer(odd, false),
		"home.conf":   renderDropin(home, sourceOf(true, "[Service]\nProtectHome=yes\n", "")),
		"home.path":   renderPath(home, true),
	} {
		file := filepath.Join("testdata/golden", name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s is now\n%s", name, text)
		}
		if strings.HasSuffix(name, ".conf") && strings.Contains(text, "@@") {
			t.Errorf("%s has a hole", name)
		}
	}
}

// TestRecord shows that a header says all that it was made from.
func TestRecord(t *testing.T) {
	text := rapid.StringMatching(`/[a-zA-Z0-9 =%"\\$.-]{0,20}x`)
	span := rapid.Int64Range(1, 90_000).Draw
	rapid.Check(t, func(t *rapid.T) {
		r := adoptionOf("web.service", text.Draw(t, "base"))
		r.Policy.Floor = time.Duration(span(t, "floor")) * time.Millisecond
		r.Policy.RetryMax = time.Duration(span(t, "retry-max")) * time.Second
		r.Policy.Sweep = time.Duration(span(t, "sweep")) * time.Second
		r.Gate, r.WebGroup = text.Draw(t, "gate"), rapid.StringMatching(`[a-z]{0,8}`).Draw(t, "group")
		r.OwnTimer, r.NoTimer = rapid.Bool().Draw(t, "timer"), rapid.Bool().Draw(t, "no timer")
		some := rapid.SliceOfN(text, 1, 3)
		r.Made, r.MadeFolders = some.Draw(t, "made"), some.Draw(t, "folders")
		r.Old = replaced{File: text.Draw(t, "old"), Links: some.Draw(t, "links"), Active: rapid.Bool().Draw(t, "active")}
		got, ok := parseRecord("# a comment\n" + r.header() + "\n[Service]\n")
		if !ok || !reflect.DeepEqual(got, r) {
			t.Fatalf("wrote\n%s\nand read %+v", r.header(), got)
		}
	})
	if _, ok := parseRecord("[Path]\nUnit=web.service\n"); ok {
		t.Error("somebody else's file passes for ours")
	}
}

// TestParseUnit holds the reading of unit files to what systemd.syntax(7) says.
func TestParseUnit(t *testing.T) {
	got := parseUnit("f", "\uFEFF[Unit]\n A = b=c \n#x\n;y\n\n[Service]\r\nLong=one \\\n# in between\n  two\\\\\nNext=\\\\\\\n end\nLast=open\\")
	want := []assignment{
		{"Unit", "A", "b=c", "f"},
		{"Service", "Long", `one    two\\`, "f"},
		{"Service", "Next", `\\  end`, "f"},
		{"Service", "Last", "open", "f"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %q\nwant %q", got, want)
	}
	if l := list(parseUnit("f", "[S]\nK=1\nK=\nK=2\nK=3\n[T]\nK=4\n"), "S", "K"); len(l) != 2 || l[0].value != "2" {
		t.Errorf("the list is %q", l)
	}
}

// TestSpans shows both ways to write a duration.
func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		30 * time.Second: {"30s", "30s"}, 5 * time.Minute: {"5min", "5m"}, time.Hour: {"60min", "1h"},
		90 * time.Second: {"90s", "1m30s"}, 1500 * time.Millisecond: {"1500ms", "1.5s"}, 10 * time.Minute: {"10min", "10m"},
		100 * time.Minute: {"100min", "1h40m"}, 10 * time.Hour: {"600min", "10h"},
	} {
		if got := [2]string{span(d), flagSpan(d)}; got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
		if back, err := time.ParseDuration(flagSpan(d)); err != nil || back != d {
			t.Errorf("%v comes back as %v, %v", d, back, err)
		}
	}
}

// TestUnitNames shows which names are completed and which refused.
func TestUnitNames(t *testing.T) {
	for name, want := range map[string]string{
		"web": "web.service", "web.service": "web.service", "a.b": "a.b.service", `x@a\x2db:c`: `x@a\x2db:c.service`,
		"web.path": "", "web.timer": "", "": "", "x@": "", "@x": "", "../web": "", "a b": "", "a\nb": "", strings.Repeat("x", 250): "",
	} {
		if got, err := unitName(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is completed to %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestSpecifiers shows that the probe, which has another name, means the unit's.
func TestSpecifiers(t *testing.T) {
	r := specifiers(`my-app@a\x2db-c.service`)
	if got, want := r.Replace(`%n|%N|%p|%P|%i|%I|%j|%J|%%n|%t`),
		`my-app@a\x2db-c.service|my-app@a\x2db-c|my-app|my/app|a\x2db-c|a-b/c|app|app|%%n|%t`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestExplain gives each way in which a probe fails its words.
func TestExplain(t *testing.T) {
	a := adoptionOf("web.service", "/srv/web").Adoption
	for _, c := range []struct {
		result       string
		code, status int
		said         string
		want         string
		folder       string
	}{
		{"exit-code", exited, 226, "", "226/NAMESPACE", ""},
		{"exit-code", exited, 203, "", "203/EXEC", ""},
		{"exit-code", exited, 217, "", "User=", ""},
		{"signal", 2, 31, "", "SystemCallFilter=", ""},
		{"oom-kill", 2, 9, "", "oom-kill", ""},
		{"exit-code", exited, 74, "error: claim: writing the outbox: read-only file system\n", "claim: writing the outbox", "/srv/web/outbox"},
		{"exit-code", exited, 74, "error: claim: opening /srv/web/state: permission denied\n", "permission denied", "/srv/web/state"},
	} {
		err := explain(a, "journalctl -u probe", c.result, c.code, c.status, c.said)
		folder, isFolder := err.(*FolderError)
		if !strings.Contains(err.Error(), c.want) || isFolder != (c.folder != "") || (isFolder && folder.Path != c.folder) {
			t.Errorf("%+v is explained as %v", c, err)
		}
		if refusal, is := err.(*Refusal); is && c.status == 226 && !strings.Contains(refusal.Hint, "journalctl -u probe") {
			t.Errorf("%+v: the hint is %q, and not where systemd names the setting", c, refusal.Hint)
		}
	}
}
