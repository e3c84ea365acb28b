package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
)

// once lets a fault befall the first write of a kind.
func once(method, path string, fault fake.Fault) func(*http.Request) fake.Fault {
	done := false
	return func(r *http.Request) fake.Fault {
		asked := strings.TrimPrefix(r.URL.Path, "/api/v1")
		if done || r.Method != method || asked != path && !(strings.HasSuffix(path, "/") && strings.HasPrefix(asked, path)) {
			return fake.Fault{}
		}
		done = true
		return fault
	}
}

// A write whose answer is lost was done, or was not: the server is asked, and nothing is done twice.
func TestLostAnswers(t *testing.T) {
	for name, fault := range map[string]fake.Fault{
		"hung up after it was done":       {Done: true, HangUp: true},
		"500 after it was done":           {Done: true, Code: http.StatusInternalServerError},
		"502 after it was done":           {Done: true, Code: http.StatusBadGateway},
		"hung up before":                  {HangUp: true},
		"502 before":                      {Code: http.StatusBadGateway},
		"forbidden for the time being":    {Code: http.StatusForbidden, Text: "you shall not"},
		"refused with a reason":           {Code: http.StatusUnprocessableEntity, Text: "no"},
		"unavailable, come back in a bit": {Code: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "30"}},
	} {
		for _, write := range []string{"POST /admin/users", "POST /admin/users/dan/keys", "POST /repos/migrate", "DELETE /teams/", "PATCH /admin/users/cy", "POST /admin/users/bot/orgs"} {
			server := stand(t)
			method, path, _ := strings.Cut(write, " ")
			if path == "/admin/users/dan/keys" {
				server.AddUser("dan", "dan@example.org")
			}
			server.Meddle(once(method, path, fault))
			if failed := tick(t, server, wanted); fault.Done && len(failed) > 0 || !fault.Done && len(failed) == 0 {
				t.Errorf("%s, %s: failed: %v", name, write, failed)
			}
			if failed := tick(t, server, wanted); len(failed) > 0 {
				t.Errorf("%s, %s: the next tick: %v", name, write, failed)
			}
			o, err := outlook(t, server, wanted)
			if err != nil || len(o.Plan) > 0 || strings.Contains(server.State(), "empty true") {
				t.Errorf("%s, %s: two ticks later: %s, %v\n%s", name, write, lines(o.Plan), err, server.State())
			}
		}
	}
}

const importing1 = "repositories: [{name: acme/tool, import: {url: 'https://git.example.net/tool.git'}}]\n"

// An import that fails leaves an empty repository, which stands in the way of the next: it goes at once, or, where nobody
// was left to remove it, as soon as no import can be under way any more. One that somebody uses stays.
func TestLeftoversOfImports(t *testing.T) {
	server := stand(t)
	server.Break("https://git.example.net/tool.git", true)
	before := server.State()
	failed := tick(t, server, importing1)
	if err := failed["repository acme/tool"]; err == nil || !strings.Contains(err.Error(), "clone failed") || server.State() != before {
		t.Errorf("an import that fails: %v\n%s", failed, server.State())
	}
	// Killed between the failed import and the removal.
	server.Meddle(func(r *http.Request) fake.Fault {
		return fake.Fault{HangUp: r.Method == http.MethodDelete}
	})
	tick(t, server, importing1)
	server.Meddle(nil)
	server.Break("https://git.example.net/tool.git", false)
	if !strings.Contains(server.State(), "empty true") {
		t.Fatalf("no leftover in\n%s", server.State())
	}
	failed = tick(t, server, importing1)
	if err := failed["repository acme/tool"]; err == nil || !strings.Contains(err.Error(), "may still be under way") {
		t.Errorf("a young one: %v", failed)
	}
	server.Age(abandoned)
	if failed = tick(t, server, importing1); len(failed) > 0 || !strings.Contains(server.State(), "repository acme/tool \"\" private false archived false empty false") {
		t.Errorf("an old one: %v\n%s", failed, server.State())
	}

	server = stand(t)
	used := server.AddRepo("acme", "tool", nil)
	used.Empty, used.Original, used.OpenIssues = true, "https://git.example.net/tool.git", 3
	if failed = tick(t, server, importing1); failed["repository acme/tool"] == nil || !strings.Contains(server.State(), "empty true") {
		t.Errorf("one with issues: %v\n%s", failed, server.State())
	}
	used.OpenIssues, used.Closed = 0, 1
	if failed = tick(t, server, importing1); failed["repository acme/tool"] == nil || !strings.Contains(server.State(), "empty true") {
		t.Errorf("one with an issue that is closed: %v\n%s", failed, server.State())
	}
}

// The lease is looked at again between two writes of one change, and where it is lost the second is not done.
func TestGuardBetweenWrites(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		before   func(*fake.Server)
	}{
		"the leftover of a refused import": {importing1, func(s *fake.Server) { s.Break("https://git.example.net/tool.git", true) }},
		"a leftover from before":           {importing1, func(s *fake.Server) { littered(s) }},
		"one that is made to be archived":  {"repositories: [{name: acme/tool, state: archived}]\n", func(*fake.Server) {}},
	} {
		server := stand(t)
		c.before(server)
		kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input(c.document)
		in.Guard = func(context.Context) error { return reconcile.ErrLeaseLost }
		seen, err := kind.Observe(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		wants, _ := kind.Plan(in, seen)
		if err := kind.Apply(t.Context(), in, seen, wants[0]); !errors.Is(err, reconcile.ErrLeaseLost) || server.Writes() != 1 {
			t.Errorf("%s: %d writes, %v", name, server.Writes(), err)
		}
	}
}

// Case RTL-02: a limit ends the tick with the instant to go on, whether it comes in reading or in writing.
func TestLimitsEndTheTick(t *testing.T) {
	limit := fake.Fault{Code: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "120"}}
	for _, path := range []string{"/admin/users", "/users/Ada/keys", "/repos/acme/site/collaborators"} {
		server := stand(t)
		server.Meddle(once(http.MethodGet, path, limit))
		_, err := New(settings(t, server.URL, fake.Token), "policy.yaml").Observe(t.Context(), input(crew))
		if later, is := errors.AsType[*reconcile.NotBeforeError](err); !is || time.Until(later.At) < time.Minute {
			t.Errorf("reading %s: %v", path, err)
		}
	}
	server := stand(t)
	server.Meddle(once(http.MethodPost, "/admin/users", limit))
	failed := tick(t, server, wanted)
	if _, is := errors.AsType[*reconcile.NotBeforeError](failed["user dan"]); !is {
		t.Errorf("writing: %v", failed)
	}
}

// Cases REC-13 and REC-30: one that cannot be done stops no other. A key is unique across the accounts.
func TestOneThatFails(t *testing.T) {
	server := stand(t)
	server.AddUser("mal", "mal@example.org", key3)
	failed := tick(t, server, wanted)
	if len(failed) != 1 || !strings.Contains(fmt.Sprint(failed), "Key content has been used") {
		t.Errorf("failed: %v", failed)
	}
}

// Case REC-18: what is gone already is removed.
func TestGoneAlready(t *testing.T) {
	server := stand(t)
	server.Meddle(once(http.MethodDelete, "/admin/users/Ada/keys/", fake.Fault{Done: true, Code: http.StatusNotFound}))
	if failed := tick(t, server, wanted); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
}

// The units tell a team's right; the server's own word for it differs between versions.
func TestUnits(t *testing.T) {
	for _, word := range []string{"none", "write"} {
		server := stand(t)
		server.Unit = word
		const document = `
orgs:
  - name: acme
    teams:
      - {name: readers, permission: read}
      - {name: mixed, units: {repo.code: write, repo.issues: read, repo.wiki: none}}
      - {name: chiefs, permission: admin, description: all of it}
`
		for range 2 {
			if failed := tick(t, server, document); len(failed) > 0 {
				t.Fatal(failed)
			}
		}
		if o, err := outlook(t, server, document); err != nil || len(o.Plan) > 0 {
			t.Errorf("%s: %s, %v", word, lines(o.Plan), err)
		}
		if failed := tick(t, server, strings.Replace(document, "permission: read", "permission: write, description: d", 1)); len(failed) > 0 || !strings.Contains(server.State(), "team acme/readers map[repo.actions:write") {
			t.Errorf("%s: %v\n%s", word, failed, server.State())
		}
		if failed := tick(t, server, strings.Replace(document, "repo.issues: read", "repo.issues: write", 1)); len(failed) > 0 || !strings.Contains(server.State(), "repo.issues:write repo.wiki:none") {
			t.Errorf("%s: %v\n%s", word, failed, server.State())
		}
	}
}

// An edit leaves alone what it is not about, though the server writes all fields anew.
func TestEditsKeepTheRest(t *testing.T) {
	server := stand(t)
	fay := server.AddUser("fay", "fay@example.org")
	fay.Source, fay.LoginName = 3, "uid=fay"
	if failed := tick(t, server, fmt.Sprintf("users: [{login: fay, id: %d, email: new@example.org}]\n", fay.ID)); len(failed) > 0 {
		t.Fatal(failed)
	}
	if fay.Source != 3 || fay.LoginName != "uid=fay" || fay.Email != "new@example.org" {
		t.Errorf("now it is %+v", fay)
	}
}

// What the token is stays out of what is told, and without rights it says what is missing.
func TestToken(t *testing.T) {
	server := stand(t)
	_, err := New(settings(t, server.URL, "wrong-t0ken-of-others"), "policy.yaml").Observe(t.Context(), input(crew))
	unknown(t, "a wrong token", err, "401")
	if strings.Contains(err.Error(), "wrong-t0ken") {
		t.Errorf("the error tells the token: %v", err)
	}
	s := settings(t, server.URL, "")
	_, err = New(s, "policy.yaml").Observe(t.Context(), input(crew))
	unknown(t, "an empty token", err, "it is empty")
	_, err = New(settings(t, server.URL, fake.Token), "policy.yaml").Observe(t.Context(), input("users: [a\n"))
	unknown(t, "no document", err, "policy.yaml")
}

// Cases RTL-03 and RTL-05: nothing has changed on a server with 2,000 accounts and 5,000 repositories. It takes a call for
// each page that there is and one to know ourselves, no write, and little memory.
func TestLargeServer(t *testing.T) {
	server := fake.New(t)
	var document strings.Builder
	document.WriteString("users:\n")
	for i := range 1999 {
		server.AddUser(fmt.Sprintf("user%d", i), fmt.Sprintf("user%d@example.org", i))
		fmt.Fprintf(&document, "- {login: user%d, email: user%d@example.org, state: active}\n", i, i)
	}
	server.AddOrg("acme", "bot")
	document.WriteString("repositories:\n")
	for i := range 5000 {
		server.AddRepo("acme", fmt.Sprintf("repo%d", i), nil)
		fmt.Fprintf(&document, "- {name: acme/repo%d, private: false}\n", i)
	}
	kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input(document.String())
	seen, err := kind.Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	wants, _ := kind.Plan(in, seen)
	if len(wants) > 0 || server.Writes() > 0 {
		t.Errorf("it wants %d changes, the first %v", len(wants), wants[0])
	}
	if most := 1 + 2000/50 + 1 + 5000/50; server.Calls() != most {
		t.Errorf("%d calls, and %d pages", server.Calls(), most)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d MB live, the fake's own among them", m.HeapAlloc>>20)
	runtime.KeepAlive(seen)
}

// Case REC-29: who leaves a team by choice is not told from who never was in it: the document is what is wanted.
func TestWhoLeftByChoice(t *testing.T) {
	server := stand(t)
	document := "orgs: [{name: acme, teams: [{name: devs, members: [eve]}]}]\n"
	server.Leave("acme", "devs", "eve")
	if o, err := outlook(t, server, document); err != nil || lines(o.Do) != "+ team acme/devs (+eve)\n" {
		t.Errorf("it does %s, %v", lines(o.Do), err)
	}
	if o, err := outlook(t, server, "orgs: [{name: acme, teams: [{name: devs, members: []}]}]\n"); err != nil || len(o.Plan) > 0 {
		t.Errorf("taken out of the document, it wants %s, %v", lines(o.Plan), err)
	}
}
