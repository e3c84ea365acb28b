package units_test

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"trueup/units"
)

// TestHardening shows for each profile how `systemd-analyze security` scores it, that systemd understands every
// line, and that an adopted service does its work under it.
func TestHardening(t *testing.T) {
	each(t, func(t *testing.T, h host) {
		for _, c := range []struct {
			profile string
			score   float64 // the worst over all versions (F23)
			service string
			check   string
		}{
			{"system/api", 1.1, "User=op\nExecStart=/bin/true", "true"},
			{"system/host", 3.2, "ExecStart=/bin/sh -c '/usr/sbin/useradd -m newcomer && echo x >/etc/changed && chown newcomer /etc/changed'", "test \"$(stat -c%U /etc/changed)\" = newcomer"},
			{"user/api", 1.4, "ExecStart=/bin/true", "true"},
			{"user/host", 1.7, "ExecStart=/bin/sh -c 'echo x >%h/changed'", "test -s ~/changed"},
		} {
			if strings.HasPrefix(c.profile, "user/") != h.IsUser() {
				continue
			}
			text := units.Hardening(h.IsUser(), path.Base(c.profile))
			name := "hard-" + strings.ReplaceAll(c.profile, "/", "-")
			h.WriteUnit(t, name+".service", "[Service]\nType=oneshot\nTimeoutStartSec=60\n"+c.service+"\n")
			h.WriteUnit(t, name+".service.d/05-hardening.conf", text)
			if got := h.score(t, name+".service"); got > c.score {
				t.Errorf("%s scores %.1f, want %.1f or less", c.profile, got, c.score)
			}
			h.verify(t, name+".service")
			h.WriteUnit(t, name+".service.d/05-hardening.conf", h.possible(text))
			got := h.adopt(t, units.Adoption{Unit: name, Policy: quick})
			h.verify(t, name+".service", name+".path")
			h.touch(t, got)
			outbox := got.Changes.Adoption.Folders.Outbox + "/status.json"
			h.eventually(t, c.profile+" has run", func() bool { return strings.Contains(h.read(t, outbox), `"settled":1`) })
			h.Sh(t, c.check)
			h.unadopt(t, name, true)
		}
	})
}

// TestProfiles shows that each profile can be had, and no other.
func TestProfiles(t *testing.T) {
	for _, user := range []bool{false, true} {
		for profile, want := range map[string]bool{"api": true, "host": true, "": false, "../user/api": false, "other": false} {
			if got := strings.Contains(units.Hardening(user, profile), "[Service]"); got != want {
				t.Errorf("user %t, profile %q: %t", user, profile, got)
			}
		}
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

func (h host) score(t *testing.T, unit string) float64 {
	t.Helper()
	out := h.MustExec(t, "systemd-analyze", h.Flag(), "security", "--no-pager", unit)
	m := exposure.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze security says\n%s", out)
	}
	score, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return score
}

// possible leaves out what a user's manager cannot set up inside a container, though it can on a host (F22).
func (h host) possible(text string) string {
	if !h.IsUser() {
		return text
	}
	out := []string{"ProtectKernelLogs"}
	if h.Machine().Version == 247 {
		out = append(out, "ProtectKernelTunables", "ProtectControlGroups", "ProtectProc", "ProcSubset")
	}
	for _, key := range out {
		text = strings.Replace(text, fmt.Sprintf("\n%s=", key), "\n# in a container: ", 1)
	}
	return text
}
