package signup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A prisoner is the hostile program in the app's container.
type prisoner struct {
	*host
	exec string // runs it: a command of the host's
}

func (h *host) rootful(t *testing.T) {
	h.m.CopyIn(t, filepath.Join(h.bin, "probe"), "/srv/signup/probe", 0o755)
	h.sh(t, `mkdir -m 700 /etc/canary.d; echo 'canary-of-the-host' | tee /etc/canary >/etc/canary.d/file; chmod 600 /etc/canary
		echo '[{"name":"stolen","uid":29000,"key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAdaLaptop"}]' >/etc/canary.json; chmod 600 /etc/canary.json`)
	p := prisoner{h, "podman exec signup /data/probe"}
	t.Run("may", p.may)
	t.Run("plants", func(t *testing.T) { p.plants(t, "entries", "requests") })
	t.Run("lists", p.lists)
}

// rootless has the same container run by signup itself, whose number is the same outside (CTR-09), and nothing is open to all (CTR-10).
func (h *host) rootless(t *testing.T) {
	h.run(t, "systemctl stop signup", "loginctl enable-linger", "install -Dm644 signup.container", "printf '[Container]")
	h.until(t, "the user's manager is there", "test -S /run/user/2990/bus")
	h.run(t, "podman save", "systemctl --user -M signup@ daemon-reload", "systemctl --user -M signup@ start signup")
	if open := h.sh(t, "find "+spool+" "+outbox+" /srv/signup -type d -perm /o=w"); open != "" {
		t.Errorf("everybody may write in %s", open)
	}
	p := prisoner{h, "runuser -u signup -- env -C / XDG_RUNTIME_DIR=/run/user/2990 podman exec signup /data/probe"}
	t.Run("may", p.may)
	plants := []string{"entries"}
	if os.Getenv("TRUEUP_PROVE") == "1" {
		plants = append(plants, "requests")
	}
	t.Run("plants", func(t *testing.T) { p.plants(t, plants...) })
	h.b.do(t, ask{Do: "signup", Name: "frank", Key: h.key})
	h.b.do(t, ask{Do: "until", State: "live"})
	h.logsIn(t, "web-frank")
}

// may: what the container is for can be done, and nothing else.
func (p prisoner) may(t *testing.T) {
	var said struct {
		UID, GID int
		Came     map[string]string
		Seen     []string
	}
	out := p.sh(t, p.exec+" may")
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if said.UID != 2990 || said.GID != 2990 || len(said.Came) < 30 {
		t.Errorf("it runs as %d:%d and has tried %d things", said.UID, said.GID, len(said.Came))
	}
	for what, came := range said.Came {
		if done := came == "done"; done != strings.HasPrefix(what, "may: ") {
			t.Errorf("%s: %s", what, came)
		}
	}
	t.Logf("what came of what it tried: %q", said.Came)
	all := strings.Join(said.Seen, "\n")
	if !strings.Contains(all, `"settled"`) || !strings.Contains(all, "/spool/requests") {
		t.Errorf("it did not see the outbox and the spool: %s", all)
	}
	for _, name := range []string{"web-", "ada", "op:", "canary", "lingers"} {
		if i := strings.Index(all, name); i >= 0 {
			t.Errorf("it learns %q: …%s…", name, all[max(0, i-60):min(len(all), i+60)])
		}
	}
	p.outbox(t)
}

// outbox: nothing but what is meant to be in it.
func (p prisoner) outbox(t *testing.T) {
	t.Helper()
	var shown map[string]json.RawMessage
	var targets map[string]map[string]any
	if err := json.Unmarshal([]byte(p.m.ReadFile(t, outbox+"/status.json")), &shown); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(shown["targets"], &targets); err != nil {
		t.Fatal(err)
	}
	for key := range shown {
		if !slices.Contains([]string{"version", "unit", "epoch", "claims", "settled", "covered_until", "state", "targets"}, key) {
			t.Errorf("the outbox has %q: %s", key, shown[key])
		}
	}
	for name, target := range targets {
		for key, value := range target {
			if name != "command:accounts" || !slices.Contains([]string{"settled", "state", "epoch"}, key) {
				t.Errorf("the outbox has of %s %q: %v", name, key, value)
			}
		}
	}
}

// plants: whatever lies in the spool, the next run is a good one, and the host has touched nothing else.
func (p prisoner) plants(t *testing.T, all ...string) {
	p.idle(t)
	before := p.world(t)
	for _, plant := range all {
		p.sh(t, p.exec+" plant "+plant)
		p.sh(t, "trueup touch --unit trueup.service --wait --timeout 1m")
		p.idle(t)
	}
	p.differs(t, before)
	if left := p.sh(t, "find "+spool+"/requests -mindepth 1; test -d "+spool+"/requests && test ! -L "+spool+"/requests"); left != "" {
		t.Errorf("in requests are left: %s", left)
	}
}

// lists: whatever lies in the place of the app's list, nothing is made for it, and nobody is removed.
func (p prisoner) lists(t *testing.T) {
	before := p.world(t)
	for _, plant := range []string{"secret", "pipe", "endless", "rows", "among good rows"} {
		p.sh(t, p.exec+" plant '"+plant+"'")
		out, err := p.try(t, "trueup tick command:accounts 2>&1")
		if (err == nil) != (plant == "among good rows") {
			t.Errorf("%s: the tick ends with %v: %s", plant, err, out)
		}
		if strings.Contains(out, "stolen") {
			t.Errorf("%s: a file of root's was read: %s", plant, out)
		}
		p.sh(t, "cd /srv/signup && rm accounts.json && mv accounts.json.kept accounts.json")
	}
	p.differs(t, before)
	p.sh(t, "trueup tick command:accounts")
}

// world is every file of the host outside of what trueup and the container have to write, by name, owner, mode, size and time.
func (p prisoner) world(t *testing.T) []string {
	t.Helper()
	out := p.sh(t, `find /etc /home /root /srv /usr/local /opt /boot /var/lib/trueup -xdev \( -path /srv/signup -o -path /home/signup -o -path '/home/*/.cache' \
		-o -path /var/lib/trueup/trueup/spool -o -path /var/lib/trueup/trueup/state -o -path /var/lib/trueup/trueup/outbox -o -path /var/lib/trueup/trueup/report \) -prune \
		-o -printf '%p %u:%g %m %s %T@ %i %n\n' | sort; sha256sum /etc/canary /etc/canary.d/file`)
	return strings.Split(out, "\n")
}

func (p prisoner) differs(t *testing.T, before []string) {
	t.Helper()
	after := p.world(t)
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new or changed: %s", line)
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("gone or changed: %s", line)
		}
	}
}
