package packages_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestVersionsSort goes from a commit without a tag to a release and beyond: each is newer than the one before, for dpkg
// and for rpm.
func TestVersionsSort(t *testing.T) {
	var before string
	for _, c := range []struct{ described, epoch, want string }{
		{"0123abc", "1764417600", "0~git20251129T120000.0123abc"},
		{"0023abc", "1764417601", "0~git20251129T120001.0023abc"},
		{"v0.1.0-rc.1", "0", "0.1.0~rc.1"},
		{"v0.1.0-rc.1-2-g0123abc", "0", "0.1.0~rc.1+git2.0123abc"},
		{"v0.1.0-rc.2", "0", "0.1.0~rc.2"},
		{"v0.1.0", "0", "0.1.0"},
		{"v0.1.0-9-g0123abc", "0", "0.1.0+git9.0123abc"},
		{"v0.1.0-10-g0123abc-dirty", "0", "0.1.0+git10.0123abc.dirty"},
		{"v0.1.1", "0", "0.1.1"},
	} {
		out, err := exec.Command("./version", c.described, c.epoch).Output()
		got := strings.TrimSpace(string(out))
		if err != nil || got != c.want {
			t.Errorf("%s gives %q (%v), want %q", c.described, got, err, c.want)
		}
		if before != "" {
			if err := exec.Command("dpkg", "--compare-versions", before, "lt", got).Run(); err != nil {
				t.Errorf("dpkg does not take %s for newer than %s", got, before)
			}
			newest, err := exec.Command("rpm", "--eval", "%{lua:print(rpm.vercmp('"+before+"', '"+got+"'))}").Output()
			if strings.TrimSpace(string(newest)) != "-1" {
				t.Errorf("rpm does not take %s for newer than %s: %s (%v)", got, before, newest, err)
			}
		}
		before = got
	}
}
