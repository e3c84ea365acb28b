package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	trueup "trueup/docs/examples/web"
)

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAdaLaptop ada@laptop"

// An app is one with folders of its own, and a host that only answers what the test says. Those of the real host's answers are in
// units/signup.
type app struct {
	*site
	dir string
}

func newApp(t *testing.T) *app {
	t.Helper()
	a := &app{dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(a.dir, "spool/requests"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.answers(t, `{"version":1,"epoch":"AAAAAAAAAA","claims":4,"settled":4,"state":"idle"}`)
	a.start(t)
	return a
}

// start starts the app, also once more on the same files.
func (a *app) start(t *testing.T) {
	t.Helper()
	book, err := openBook(filepath.Join(a.dir, "accounts.json"))
	if err != nil {
		t.Fatal(err)
	}
	a.site = newSite(book, trueup.Host{Spool: filepath.Join(a.dir, "spool"), Outbox: a.dir})
}

func (a *app) answers(t *testing.T, status string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, "status.json"), []byte(status), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asks tells whether the host has been asked, and takes the request as the gate does.
func (a *app) asks() bool { return os.Remove(filepath.Join(a.dir, "spool/requests", target)) == nil }

func (a *app) signUp(name, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/sign-up", strings.NewReader(url.Values{"name": {name}, "key": {key}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.serve(r)
}

func (a *app) get(path string) *httptest.ResponseRecorder {
	return a.serve(httptest.NewRequest("GET", path, nil))
}

func (a *app) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.handler().ServeHTTP(w, r)
	return w
}

func (a *app) shows(t *testing.T, page string) (p progress) {
	t.Helper()
	if err := json.Unmarshal(a.get(page+"/state").Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFollowed: committed, asked, and live only when the target's own number says so.
func TestFollowed(t *testing.T) {
	a := newApp(t)
	w := a.signUp(" ada ", key+"\n")
	page := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !a.asks() {
		t.Fatalf("signing up: %d, and the host is not asked: %s", w.Code, w.Body)
	}
	text, err := os.ReadFile(filepath.Join(a.dir, "accounts.json"))
	if want := `"name":"ada","uid":20000,"key":"` + key + `"}]`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the list is %s, %v, want %s in it", text, err, want)
	}
	for _, step := range []struct{ status, want string }{
		{`{"version":1,"epoch":"AAAAAAAAAA","claims":4,"settled":4,"state":"idle"}`, "asked"},
		{`{"version":1,"epoch":"AAAAAAAAAA","claims":4,"settled":4,"state":"waiting"}`, "waiting"},
		{`{"version":1,"epoch":"AAAAAAAAAA","claims":5,"settled":4,"state":"running"}`, "running"},
		{`{"version":1,"epoch":"AAAAAAAAAA","claims":5,"settled":4,"state":"failing","targets":{"command:accounts":{"settled":4}}}`, "waiting"},
		{`{"version":1,"epo`, "asked"}, // not whole: nothing is known, and nothing promised
		{`{"version":1,"epoch":"AAAAAAAAAA","claims":6,"settled":4,"state":"failing","targets":{"command:accounts":{"settled":6}}}`, "live"},
	} {
		a.answers(t, step.status)
		if p := a.shows(t, page); p.State != step.want || p.Login != "web-ada" || p.Says == "" {
			t.Errorf("%s: the page shows %+v, want %s", step.status, p, step.want)
		}
	}
}

// TestRestarted: what was committed is there again, and is asked for again when somebody looks.
func TestRestarted(t *testing.T) {
	a := newApp(t)
	page := a.signUp("ada", key).Header().Get("Location")
	a.asks()
	a.start(t)
	if p := a.shows(t, page); p.State != "asked" || !a.asks() {
		t.Errorf("after a restart the page shows %+v, or the host is not asked again", p)
	}
	if a.shows(t, page); a.asks() {
		t.Error("looking twice asks twice")
	}
	if w := a.signUp("bob", key); w.Code != http.StatusSeeOther {
		t.Errorf("signing up: %d %s", w.Code, w.Body)
	}
	if all := a.book.all(); len(all) != 2 || all[1].UID != 20001 {
		t.Errorf("the list is %+v", all)
	}
}

// TestHostIsAway: without the host's folders a sign-up is kept all the same, and asked for later.
func TestHostIsAway(t *testing.T) {
	a := newApp(t)
	if err := os.Rename(filepath.Join(a.dir, "spool"), filepath.Join(a.dir, "away")); err != nil {
		t.Fatal(err)
	}
	page := a.signUp("ada", key).Header().Get("Location")
	if p := a.shows(t, page); p.State != "asked" {
		t.Errorf("without a host the page shows %+v", p)
	}
	if err := os.Rename(filepath.Join(a.dir, "away"), filepath.Join(a.dir, "spool")); err != nil {
		t.Fatal(err)
	}
	if a.shows(t, page); !a.asks() {
		t.Error("the host is back, and is not asked")
	}
}

// TestRefused: what does not fit is said on the form, with what was typed, and nothing is written or asked for.
func TestRefused(t *testing.T) {
	a := newApp(t)
	a.signUp("ada", key)
	a.asks()
	for _, c := range []struct{ name, key, want string }{
		{"ada", key, "taken"}, {"", key, "letters"}, {"Root", key, "letters"}, {"a:b", key, "letters"}, {"../x", key, "letters"},
		{"x\nroot", key, "letters"}, {"eve", "", "no public key"}, {"eve", `command="id" ` + key, "no public key"},
		{"eve", key + "\n" + key, "no public key"}, {`"><script>`, "<script>", "&lt;script&gt;"},
	} {
		w := a.signUp(c.name, c.key)
		if body := w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, c.want) || strings.Contains(body, "<script>") {
			t.Errorf("%q %q: %d %s", c.name, c.key, w.Code, body)
		}
	}
	if n := len(a.book.all()); n != 1 || a.asks() {
		t.Errorf("%d accounts, or the host was asked", n)
	}
}

// TestFullDisk: what cannot be written is not promised.
func TestFullDisk(t *testing.T) {
	a := newApp(t)
	a.book.file = "/dev/full/accounts.json"
	if w := a.signUp("ada", key); w.Code != http.StatusServiceUnavailable || a.asks() || len(a.book.all()) != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPagesAreTheirOwners: nobody finds another's page, and other sites sign nobody up.
func TestPagesAreTheirOwners(t *testing.T) {
	a := newApp(t)
	page := a.signUp("ada", key).Header().Get("Location")
	if w := a.get(page); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "ssh web-ada@example.com") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/account/ada", "/account/ada/state", "/account/", "/accounts.json"} {
		if w := a.get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	r := httptest.NewRequest("POST", "/sign-up", strings.NewReader("name=eve&key="+url.QueryEscape(key)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := a.serve(r); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d %s", w.Code, w.Body)
	}
}

// TestComposeSaysTheSame: what the Quadlet file mounts, publishes and runs as stands in the Compose file too.
func TestComposeSaysTheSame(t *testing.T) {
	quadlet, err := os.ReadFile("signup.container")
	if err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	same := map[string]string{"Image": "", "ContainerName": "", "PublishPort": "", "Volume": "", "User": `"2990:2990"`, "Group": `"2990:2990"`,
		"DropCapability": "cap_drop: [ALL]", "NoNewPrivileges": "no-new-privileges:true", "ReadOnly": "read_only: true",
		"Pull": "pull_policy: never", "Restart": "restart: always"}
	found := 0
	for line := range strings.Lines(string(quadlet)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		want, ok := same[name]
		if want == "" {
			want = value
		}
		if source, rest, _ := strings.Cut(value, ":"); name == "Volume" { // in the long form, which takes no folder that is missing for one
			target, how, _ := strings.Cut(rest, ":")
			want = "source: " + source + ", target: " + target + map[string]string{"z": "", "ro,z": ", read_only: true"}[how] +
				", bind: {create_host_path: false, selinux: z}"
		}
		if ok {
			found++
		}
		if ok && !strings.Contains(string(compose), want) {
			t.Errorf("%s=%s, and compose.yaml does not say %q", name, value, want)
		}
	}
	if found < 12 {
		t.Errorf("%d lines were compared", found)
	}
}
