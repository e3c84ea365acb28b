package units_test

import (
	"strings"
	"testing"
)

// Under its profiles a sweep can write its ledger, which they would close, whatever the operator's own drop-in adds.
func installProfile(t *testing.T, h host) {
	for _, profile := range []string{"", "api"} {
		ledger := h.usual("trueup-hard") + "/ledger" + profile
		wish := h.installation(t, "hard", "echo ok >"+ledger+"/ledger.db")
		wish.Config, wish.Hardening, wish.Ledger = h.hardConfig(t, ledger), profile, ledger
		h.WriteUnit(t, "trueup-hard.service.d/05-own.conf", h.container())
		got := h.install(t, wish)
		h.verify(t, "trueup-hard.service")
		text, want := h.read(t, h.UnitDir()+"/trueup-hard.service"), "RestrictNamespaces=yes"
		if !strings.Contains(text, want) || profile == "api" != strings.Contains(text, "ProcSubset=pid\n") {
			t.Errorf("hardening %q gives\n%s", profile, text)
		}
		h.touch(t, got)
		h.eventually(t, "a sweep under "+profile, func() bool { return h.read(t, ledger+"/ledger.db") == "ok\n" })
		h.state(t, "trueup-hard.service", "inactive/dead")
		if mode := strings.TrimSpace(h.MustExec(t, "stat", "-c%a", ledger)); mode != "700" {
			t.Errorf("the ledger's folder has mode %s", mode)
		}
		h.uninstall(t, uninstall{Name: "hard", Purge: true})
		h.gone(t, got)
		h.MustExec(t, "rm", "-r", h.UnitDir()+"/trueup-hard.service.d")
		h.MustSystemctl(t, "daemon-reload")
	}
}

// usual is where an instance's folders are.
func (h host) usual(instance string) string {
	if h.IsUser() {
		return h.Home() + "/.local/state/trueup/" + instance
	}
	return "/var/lib/trueup/" + instance
}

// hardConfig is a configuration where the profiles let it be read.
func (h host) hardConfig(t *testing.T, ledger string) string {
	t.Helper()
	file := "/etc/trueup/hard.yaml"
	if h.IsUser() {
		file = h.Home() + "/etc-hard/hard.yaml"
	}
	h.Write(t, file, "echo ok >"+ledger+"/ledger.db\n", 0o644)
	return file
}

// container takes back what a user's manager cannot set up inside a container.
func (h host) container() string {
	text := "[Service]\nNice=1\n"
	if !h.IsUser() {
		return text
	}
	text += "ProtectKernelLogs=no\n"
	if h.Machine().Version == 247 {
		text += "ProtectKernelTunables=no\nProtectControlGroups=no\nProtectProc=default\nProcSubset=all\n"
	}
	return text
}
