package units

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestServiceGolden shows the whole service file, with and without a sandbox.
func TestServiceGolden(t *testing.T) {
	system := Installation{Program: "/usr/local/bin/trueup", Config: "/etc/trueup/trueup.yaml", Hardening: "host",
		Ledger: "/var/lib/trueup/trueup/state", Report: "/var/lib/trueup/trueup/report"}
	system.Unit, system.Folders.State = "trueup.service", "/var/lib/trueup/trueup/state"
	odd := Installation{Name: "odd", Program: "/opt/true up/trueup", Config: `/etc/50% "odd"/$x.yaml`, Hardening: "none"}
	odd.Unit = "trueup-odd.service"
	home := Installation{Name: "home", Program: "/home/ada/bin/trueup", Config: "/home/ada/.config/trueup/home.yaml", Hardening: "api",
		Report: "/home/ada/report"}
	home.Unit = "trueup-home.service"
	for name, text := range map[string]string{
		"system.service": renderService(system, nil, false),
		"odd.service":    renderService(odd, nil, false),
		"home.service":   renderService(home, []string{"/home/ada/.config/systemd", "/home/ada/.config/systemd/user"}, true),
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
	}
}

// TestInstalled shows that a service's head says all that it was made from, and passes for nothing else of ours.
func TestInstalled(t *testing.T) {
	text := rapid.StringMatching(`/[a-zA-Z0-9 =%"\\$.-]{0,20}x`)
	rapid.Check(t, func(t *rapid.T) {
		want := installed{"trueup.service", text.Draw(t, "config"), "host", text.Draw(t, "ledger"), text.Draw(t, "report"),
			rapid.SliceOfN(text, 1, 3).Draw(t, "made")}
		if got, ok := parseInstalled("# a comment\n" + want.header() + "\n\n[Unit]\n"); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("wrote\n%s\nand read %+v", want.header(), got)
		}
	})
	r := adoptionOf("trueup.service", "/var/lib/trueup/trueup")
	for _, text := range []string{renderPath(r, false), renderTimer(r, false), renderDropin(r, source{}), "[Service]\nType=oneshot\n"} {
		if got, ok := parseInstalled(text); ok {
			t.Errorf("passes for our service, as %+v:\n%s", got, text)
		}
	}
}

// TestInstalledUnits shows which names an instance may have.
func TestInstalledUnits(t *testing.T) {
	for name, want := range map[string]string{
		"": "trueup.service", "web": "trueup-web.service", "a.b_c-1": "trueup-a.b_c-1.service",
		"x@": "", "x@y": "", "a b": "", "a/b": "", `a\x2d`: "", ".": "", strings.Repeat("x", 250): "",
	} {
		if got, err := installedUnit(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is the instance %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestPlannedUnit shows what a dry run takes a unit for: its own text, then what drop-ins say.
func TestPlannedUnit(t *testing.T) {
	const file = "/etc/systemd/system/trueup.service"
	there := source{before: append(parseUnit(file, "[Service]\nProtectHome=yes\n"), parseUnit("/etc/x.conf", "[Service]\nUser=op\n")...)}
	p, s := plannedUnit(file, "[Service]\nProtectSystem=full\n", properties{LoadState: "loaded", User: "op", Type: "oneshot"}, there)
	if s.value("ProtectHome") != "" || s.value("ProtectSystem") != "full" || s.value("User") != "op" || p.User != "op" {
		t.Errorf("it is %+v, %+v", p, s)
	}
	p, _ = plannedUnit(file, "", properties{LoadState: "not-found"}, source{})
	if err := refuse(Adoption{Unit: "trueup.service"}, p, source{}); err != nil {
		t.Errorf("one that is not there yet is refused: %v", err)
	}
}
