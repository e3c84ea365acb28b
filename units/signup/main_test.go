package signup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile/trigger"
	"trueup/units/nspawn"
)

const (
	soon    = 2 * time.Minute // enough for anything that takes a moment, also on a busy host
	folder  = "/root/sources/docs/examples/signup"
	floor   = 4 * time.Second
	example = "../../docs/examples/"
	spool   = "/var/lib/trueup/trueup/spool"
	state   = "/var/lib/trueup/trueup/state"
	outbox  = "/var/lib/trueup/trueup/outbox"
)

// A host is a Debian 13 on which README.md is played.
type host struct {
	m    *nspawn.Machine
	page *page
	bin  string   // our programs
	b    *browser // opened once the app is there
	key  string   // public; its other half is in the machine
}

// TestSignUp plays the example from its first command to its last, on one machine.
func TestSignUp(t *testing.T) {
	h := &host{page: readPage(t), bin: t.TempDir()}
	built := make(chan error, 1)
	go func() { built <- build(h.bin) }() // while packages are installed
	h.m = nspawn.Boot(t, nspawn.V257, nspawn.Prepare(h.furnish), nspawn.Nspawn("--capability=all", "--system-call-filter=add_key keyctl bpf"))
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	h.sh(t, "mkdir -p /dev/net; [ -c /dev/net/tun ] || mknod /dev/net/tun c 10 200; chmod 666 /dev/net/tun")
	for _, step := range []struct {
		name string
		play func(*testing.T)
	}{
		{"host", h.install}, {"container", h.start}, {"browser", h.browse}, {"rootful", h.rootful}, {"rootless", h.rootless}, {"back out", h.backOut},
	} {
		if !t.Run(step.name, step.play) {
			return // what follows counts on it
		}
		if step.name == "container" {
			h.b = openBrowser(t, h.m, "http://127.0.0.1:8080")
		}
	}
	for _, left := range h.page.commands {
		t.Errorf("nothing plays %s", left)
	}
}

// build builds all programs that go into the machine.
func build(dir string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", dir+"/",
		"trueup/cmd/trueup", "trueup/cmd/trueup-gate", "trueup/docs/examples/signup", "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	return nil
}

// furnish installs the page's packages, as long as there is a network, and lets containers run inside a container: there they have
// no overlay of their own on an overlay, and no controller for pids.
func (h *host) furnish(dir string) error {
	packages := h.page.take("apt-get install")
	cmd := exec.Command("chroot", dir, "sh", "-euc", "apt-get update -qq; "+packages+" >/dev/null; apt-get clean; rm -rf /var/lib/apt/lists/*")
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", packages, err, out)
	}
	for name, text := range map[string]string{
		"storage.conf":                     "[storage]\ndriver = \"vfs\"\nrunroot = \"/run/containers/storage\"\ngraphroot = \"/var/lib/containers/storage\"\n",
		"containers.conf.d/in-a-test.conf": "[containers]\npids_limit = 0\n",
	} {
		file := filepath.Join(dir, "etc/containers", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// try runs a script as root types it in the example's folder, in a unit of its own: logind and podman have to know what runs.
func (h *host) try(t *testing.T, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	return h.m.Exec(ctx, "systemd-run", "--quiet", "--wait", "--pipe", "--collect", "bash", "-euo", "pipefail", "-c", "mkdir -p "+folder+"; cd "+folder+"\n"+script)
}

func (h *host) sh(t *testing.T, script string) string {
	t.Helper()
	out, err := h.try(t, script)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// run runs the page's next commands, one for each beginning that is given.
func (h *host) run(t *testing.T, begins ...string) (out string) {
	t.Helper()
	for _, b := range begins {
		out = h.sh(t, h.page.take(b))
	}
	return out
}

// until waits until a script succeeds.
func (h *host) until(t *testing.T, what, script string) {
	t.Helper()
	nspawn.Eventually(t, soon, what, func() bool { _, err := h.m.Exec(t.Context(), "bash", "-euc", script); return err == nil })
}

// status is what the outbox shows.
func (h *host) status(t *testing.T) (s trigger.Status) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.m.ReadFile(t, outbox+"/status.json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (h *host) install(t *testing.T) {
	h.m.CopyIn(t, filepath.Join(h.bin, "trueup"), "/usr/local/bin/trueup", 0o755)
	h.m.CopyIn(t, filepath.Join(h.bin, "trueup-gate"), "/usr/local/bin/trueup-gate", 0o755)
	for _, name := range []string{"accounts/accounts", "signup/wanted", "signup/trueup.yaml", "signup/signup.container", "signup/Containerfile"} {
		info, err := os.Stat(example + name)
		if err != nil {
			t.Fatal(err)
		}
		h.m.CopyIn(t, example+name, filepath.Join(folder, "..", name), info.Mode())
	}
	h.run(t, "groupadd", "useradd", "install -d", "install -Dm755 ../accounts", "install -Dm755 wanted", "install -Dm644 trueup.yaml")
	h.sh(t, "sed -i 's/^version: 1/&\\ntrigger: {floor: "+floor.String()+", retry_max: "+floor.String()+"}/' /etc/trueup/trueup.yaml")
	h.run(t, "trueup install", "printf")
	h.sh(t, "mkdir -p /run/sshd; systemctl start ssh")
	h.run(t, "sshd -t")
}

func (h *host) start(t *testing.T) {
	h.page.take("CGO_ENABLED=0 go build -o signup .")
	h.m.CopyIn(t, filepath.Join(h.bin, "signup"), folder+"/signup", 0o755)
	h.run(t, "podman build", "install -Dm644 signup.container", "systemctl daemon-reload", "systemctl start signup")
}

func (h *host) backOut(t *testing.T) {
	h.run(t, "systemctl disable --now trueup.path", "systemctl --user -M signup@ stop signup")
	h.sh(t, "id web-ada; touch "+spool+"/sentinel; ! podman ps -q | grep .")
	if out, err := h.try(t, "systemctl is-active trueup.service"); err == nil {
		t.Errorf("a touch starts %s", out)
	}
}

// idle waits until nothing is asked for and nothing owed. It looks from outside: who asks inside takes the time that the run needs.
func (h *host) idle(t *testing.T) {
	t.Helper()
	nspawn.Eventually(t, soon, "nothing is asked for", func() bool {
		asked, err := os.ReadDir(h.m.Path(spool + "/requests"))
		return err == nil && len(asked) == 0 && !exists(h.m.Path(spool+"/sentinel")) && !exists(h.m.Path(state+"/claim"))
	})
}

// clear is idle, and the floor is over: the next touch starts a run at once.
func (h *host) clear(t *testing.T) {
	t.Helper()
	h.idle(t)
	nspawn.Eventually(t, soon, "a run has succeeded, and the floor after it is over", func() bool {
		settled, err := os.Stat(h.m.Path(state + "/settled"))
		return err == nil && time.Since(settled.ModTime()) > floor
	})
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
