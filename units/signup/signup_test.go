package signup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

// browse signs people up, as they do it. From here on the timer makes no run of its own: runs are counted, and what is laid in the
// host's way is to meet the run that the test waits for.
func (h *host) browse(t *testing.T) {
	h.sh(t, "trueup touch --unit trueup.service --wait --timeout 2m; systemctl stop trueup.timer")
	h.sh(t, "ssh-keygen -q -t ed25519 -N '' -C 'ada@laptop' -f /root/key")
	h.key = strings.TrimSpace(h.m.ReadFile(t, "/root/key.pub"))
	for _, act := range []struct {
		name string
		play func(*testing.T)
	}{
		{"live in seconds", h.live}, {"refused", h.refused}, {"without scripts", h.plainly}, {"fifty at once", h.fifty},
		{"broken and repaired", h.broken}, {"killed in the middle", h.killed},
	} {
		t.Run(act.name, act.play)
	}
	if v := h.b.do(t, ask{Do: "complaints"}); len(v.Complaints) > 0 {
		t.Errorf("the browser complains: %q", v.Complaints)
	}
	h.sh(t, "systemctl start trueup.timer")
	h.run(t, "trueup show", "trueup status", "id web-ada")
	h.sh(t, "systemctl stop trueup.timer")
}

// logsIn logs in over SSH with the key, as nobody could before.
func (h *host) logsIn(t *testing.T, login string) {
	t.Helper()
	if out := h.sh(t, "ssh -i /root/key -o StrictHostKeyChecking=no -o BatchMode=yes "+login+"@127.0.0.1 id -un 2>/dev/null"); out != login {
		t.Errorf("logged in as %s, it is %q", login, out)
	}
}

// shot is where a picture goes: into docs/images when TRUEUP_IMAGES says so, else nowhere.
func shot(t *testing.T, name string) string {
	if os.Getenv("TRUEUP_IMAGES") == "" {
		return filepath.Join(t.TempDir(), name)
	}
	dir, err := filepath.Abs("../../docs/images")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// live: the page learns from the outbox that the account is there, with nothing of the host's accounts mounted (CTR-08).
func (h *host) live(t *testing.T) {
	h.clear(t)
	if v := h.b.do(t, ask{Do: "signup", Name: "ada", Key: h.key, Shot: shot(t, "signup-form.png")}); v.Login != "web-ada" || v.State == "waiting" {
		t.Errorf("after signing up the page shows %+v", v)
	}
	began := time.Now()
	v := h.b.do(t, ask{Do: "until", State: "live", Shot: shot(t, "signup-live.png")})
	took := time.Since(began)
	t.Logf("live after %v: %s", took.Round(10*time.Millisecond), v.Says)
	if took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if v.Title != "web-ada: live" {
		t.Errorf("the page's title is %q", v.Title)
	}
	h.logsIn(t, "web-ada")
}

// refused: what is wrong with the form is said, and nothing is asked for.
func (h *host) refused(t *testing.T) {
	before := h.status(t).Claims
	for name, want := range map[string]string{"ada": "taken", "root;id": "small letters"} {
		if v := h.b.do(t, ask{Do: "signup", Name: name, Key: h.key}); !strings.Contains(v.Fault, want) {
			t.Errorf("signing up as %q is answered with %+v, want %q", name, v, want)
		}
	}
	if v := h.b.do(t, ask{Do: "signup", Name: "eve", Key: `command="id" ` + h.key}); !strings.Contains(v.Fault, "public key") {
		t.Errorf("a key with options is answered with %+v", v)
	}
	if after := h.status(t).Claims; after != before {
		t.Errorf("claims went from %d to %d", before, after)
	}
}

func (h *host) plainly(t *testing.T) {
	h.b.do(t, ask{Do: "signup", Name: "bob", Key: h.key, Plainly: true})
	h.b.do(t, ask{Do: "until", State: "live", Plainly: true})
	h.sh(t, "id web-bob")
}

func (h *host) fifty(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("many%d", i))
	}
	h.idle(t)
	before := h.status(t).Claims
	paths := h.b.do(t, ask{Do: "burst", Names: names, Key: h.key}).Paths
	h.idle(t)
	if states := h.b.do(t, ask{Do: "states", Paths: paths}).States; len(states) != len(names) || slices.ContainsFunc(states, func(s string) bool { return s != "live" }) {
		t.Errorf("the host has done what was asked, and the pages show %q", states)
	}
	if runs := h.status(t).Claims - before; runs < 1 || runs > 2 {
		t.Errorf("fifty sign-ups at once made %d runs, want one or two", runs)
	}
	if got := h.sh(t, "getent passwd | grep -c '^web-many'; ls /etc/ssh/authorized_keys.d | grep -c '^web-many'"); got != "50\n50" {
		t.Errorf("of fifty accounts and keys there are %q", got)
	}
}

// broken: while the host cannot do it, the page says waiting, and never live.
func (h *host) broken(t *testing.T) {
	h.clear(t)
	h.sh(t, "chmod -x /etc/trueup/accounts/accounts")
	h.b.do(t, ask{Do: "signup", Name: "carol", Key: h.key})
	if v := h.b.do(t, ask{Do: "until", State: "waiting"}); !strings.Contains(v.Says, "tries again") {
		t.Errorf("the page says %q", v.Says)
	}
	failed := h.status(t).Claims
	nspawn.Eventually(t, soon, "the host has tried again", func() bool { s := h.status(t); return s.Claims > failed && s.State == trigger.Failing })
	if v := h.b.do(t, ask{Do: "shows"}); v.State == "live" {
		t.Errorf("the page shows an account that is not there as %+v", v)
	}
	h.b.do(t, ask{Do: "until", State: "waiting"})
	if out, err := h.try(t, "id web-carol"); err == nil {
		t.Fatalf("the account is there although it could not be made: %s", out)
	}
	h.sh(t, "chmod +x /etc/trueup/accounts/accounts")
	h.b.do(t, ask{Do: "until", State: "live"})
	h.logsIn(t, "web-carol")
}

// killed: the host's run and the app, in the middle of making an account; the long form does so at more places. It costs time only.
func (h *host) killed(t *testing.T) {
	h.sh(t, "echo 1 >/etc/passwd.lock") // useradd waits for whoever has the accounts, here PID 1
	h.killedWhen(t, "dora", "getent group web-dora && ! getent passwd web-dora")
	if os.Getenv("TRUEUP_PROVE") != "1" {
		return
	}
	for name, when := range map[string]string{"erin": "test -e " + state + "/claim", "faye": "getent passwd web-faye",
		"gina": "test -d /home/web-gina", "hana": "test -e /etc/ssh/authorized_keys.d/web-hana"} {
		h.killedWhen(t, name, when)
	}
}

func (h *host) killedWhen(t *testing.T, name, when string) {
	h.idle(t)
	h.b.do(t, ask{Do: "signup", Name: name, Key: h.key})
	h.until(t, when, when)
	h.sh(t, "systemctl kill --signal=KILL trueup.service || :; podman kill --signal=KILL signup; rm -f /etc/passwd.lock")
	h.b.do(t, ask{Do: "until", State: "live"}) // the page was open all the time
	h.logsIn(t, "web-"+name)
	if got := h.sh(t, "getent passwd | grep -c '^web-"+name+":'"); got != "1" {
		t.Errorf("there are %s accounts of that name", got)
	}
}
