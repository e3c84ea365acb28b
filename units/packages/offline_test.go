package packages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trueup/units/nspawn"
)

// inside runs a command in a root file system that is not booted, as an installer of images does.
func inside(root, script string) (string, error) {
	cmd := exec.Command("chroot", root, "sh", "-euc", script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestImage installs, upgrades, removes and purges by dpkg and by rpm where no systemd runs: the timer is enabled for the
// first boot, and no adopted service is left without its gate.
func TestImage(t *testing.T) {
	dropin := "/etc/systemd/system/adopted.service.d/10-trueup.conf"
	steps := []struct{ name, dpkg, rpm, want string }{
		{"install", "dpkg -i /root/" + older + ".deb", "rpm -i --nodeps /" + older + ".rpm", ""},
		{"upgrade", "dpkg -i /root/" + newer + ".deb", "rpm -U --nodeps /" + newer + ".rpm", ""},
		{"again", "dpkg -i /root/" + newer + ".deb", "rpm -U --nodeps --replacepkgs /" + newer + ".rpm", ""},
		{"refuse", "dpkg -r trueup", "rpm -e trueup", dropin},
		{"remove", "rm " + dropin + "; dpkg -r trueup", "rm " + dropin + "; rpm -e trueup", ""},
	}
	m := boot(t, nspawn.V257)
	m.PowerOff(t)
	for _, manager := range []string{"dpkg", "rpm"} {
		for _, step := range steps {
			command := step.dpkg
			if manager == "rpm" {
				command = step.rpm
			}
			if step.name == "refuse" {
				m.WriteFile(t, dropin, "# trueup: gate=/usr/bin/trueup-gate\n", 0o644)
				m.WriteFile(t, strings.Replace(dropin, "adopted", "another", 1), "# trueup: gate=/usr/local/bin/trueup-gate\n", 0o644)
			}
			out, err := manage(m, command)
			if refused := err != nil; refused != (step.want != "") || !strings.Contains(out, step.want) {
				t.Fatalf("%s: %s ends with %v:\n%s", step.name, command, err, out)
			}
			_, enabled := os.Lstat(m.Path("/etc/systemd/system/timers.target.wants/trueup-check.timer"))
			_, there := os.Lstat(m.Path("/usr/bin/trueup-gate"))
			if want := step.name != "remove"; (enabled == nil) != want || (there == nil) != want {
				t.Errorf("%s by %s: the timer's link: %v, the gate: %v", step.name, manager, enabled, there)
			}
		}
		m.WriteFile(t, "/var/lib/trueup/web/state/settled", "", 0o600) // as an instance leaves it
	}
	if out, err := inside(m.Dir, "rm -r /etc/systemd/system/another.service.d && dpkg -P trueup"); err != nil {
		t.Fatalf("purging: %v\n%s", err, out)
	}
	gone(t, m, "/var/lib/trueup")
}

// manage runs a package manager on the machine's files: rpm from outside, which has none inside.
func manage(m *nspawn.Machine, command string) (string, error) {
	if !strings.Contains(command, "rpm -") {
		return inside(m.Dir, command)
	}
	command = strings.NewReplacer("rpm -", "rpm --root "+m.Dir+" -", "nodeps /", "nodeps "+built+"/trueup_", "replacepkgs /", "replacepkgs "+built+"/trueup_",
		".rpm", "_amd64.rpm", "rm /", "rm "+m.Dir+"/").Replace(command)
	out, err := exec.Command("sh", "-euc", command).CombinedOutput()
	return string(out), err
}

// TestSameContents compares the two formats: the same files, but for what the distributions keep elsewhere.
func TestSameContents(t *testing.T) {
	lines := func(command string) (files []string) {
		out, err := exec.Command("sh", "-euc", command).Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		for file := range strings.Lines(string(out)) {
			file = strings.TrimSuffix(strings.TrimSpace(file), "/")
			if !strings.HasPrefix(file, "/usr/share/licenses/") && !strings.HasPrefix(file, "/usr/share/zsh/") && !slices.Contains([]string{
				"/usr/share/doc/trueup/NOTICES", "/usr/share/doc/trueup/copyright", "/usr/share/doc/trueup/changelog.gz"}, file) {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		return files
	}
	deb := lines("dpkg-deb -c " + file(older, "deb") + " | grep -v ^d | awk '{ print substr($6, 2) }'")
	rpm := lines("rpm -qlvp " + file(older, "rpm") + " | grep -v ^d | awk '{ print $9 }'")
	if !slices.Equal(deb, rpm) || !slices.Contains(deb, "/usr/bin/trueup-gate") {
		t.Errorf("the .deb has\n%s\nthe .rpm has\n%s", strings.Join(deb, "\n"), strings.Join(rpm, "\n"))
	}
	for _, want := range []string{"/usr/share/licenses/trueup/LICENSE", "/usr/share/licenses/trueup/NOTICES"} {
		out, err := exec.Command("rpm", "-qp", "--licensefiles", file(older, "rpm")).Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("the .rpm marks as licences %s (%v), want %s", out, err, want)
		}
	}
	if out, err := exec.Command("rpm", "-Kv", file(older, "rpm")).CombinedOutput(); err != nil || strings.Contains(string(out), "BAD") {
		t.Errorf("the digests of %s: %v\n%s", filepath.Base(file(older, "rpm")), err, out)
	}
}
