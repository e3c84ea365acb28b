package forgejo

import (
	"net/http"
	"strings"
	"testing"

	"trueup/reconcile/forgejo/fake"
)

const crew = `
users: [{login: ada, email: ada@example.org, ssh_keys: []}]
orgs: [{name: acme, teams: [{name: Owners, members: [ada]}, {name: devs, members: [ada], repositories: []}]}]
repositories: [{name: acme/site, collaborators: {}}]
`

// Cases REC-01 and REC-33: whichever of the lists cannot be read to its end, nothing is removed on account of it.
func TestListsThatAreNotWhole(t *testing.T) {
	paths := []string{"/user", "/admin/users", "/users/Ada/keys", "/admin/orgs", "/orgs/acme/teams", "/teams/", "/repos/search", "/repos/acme/site/collaborators"}
	for name, fault := range map[string]fake.Fault{
		"an error":          {Code: http.StatusInternalServerError},
		"forbidden":         {Code: http.StatusForbidden},
		"no such thing":     {Code: http.StatusNotFound},
		"hung up":           {HangUp: true},
		"one is missing":    {Page: func(all []any) []any { return all[:max(len(all)-1, 0)] }},
		"an empty 200":      {Page: func([]any) []any { return nil }},
		"the count is more": {Count: "77"},
		"one is null":       {Page: func(all []any) []any { return append(all[:max(len(all)-1, 0)], nil) }},
		"one is nothing":    {Page: func(all []any) []any { return append(all[:max(len(all)-1, 0)], map[string]any{}) }},
		"one twice":         {Page: func(all []any) []any { return append(all, all...) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the pauses before another attempt add up
			for _, path := range paths {
				slow := fault.HangUp && path != "/admin/users" && path != "/teams/" // each reading is tried three times
				if !slow && (path != "/user" || fault.Code != 0) {                  // which is no list
					faultyList(t, path, fault)
				}
			}
		})
	}
}

func faultyList(t *testing.T, path string, fault fake.Fault) {
	server := stand(t)
	server.AddTeam("acme", "ops", "read")
	server.Meddle(func(r *http.Request) fake.Fault {
		if strings.HasPrefix(r.URL.Path, "/api/v1"+path) && r.Method == http.MethodGet {
			return fault
		}
		return fake.Fault{}
	})
	o, err := outlook(t, server, crew)
	if err != nil {
		unknown(t, path, err, "")
		return
	}
	if removals := o.Do.Removals(); len(removals) > 0 || len(o.Dark) == 0 {
		t.Errorf("%s: it does %s", path, lines(o.Do))
	}
}

// An answer with no list and no count, as from another server that answers 200 to everything, is no empty server.
func TestEmptyAnswers(t *testing.T) {
	server := stand(t)
	server.Meddle(func(r *http.Request) fake.Fault {
		if r.URL.Path == "/api/v1/user" {
			return fake.Fault{}
		}
		return fake.Fault{Page: func([]any) []any { return nil }, Count: "-"}
	})
	_, err := outlook(t, server, crew)
	unknown(t, "empty lists", err, "does not say how many there are")
	server.Meddle(func(r *http.Request) fake.Fault {
		if r.URL.Path == "/api/v1/admin/users" {
			return fake.Fault{Page: func([]any) []any { return nil }, Count: "0"}
		}
		return fake.Fault{}
	})
	_, err = outlook(t, server, crew)
	unknown(t, "no accounts", err, "the list of accounts lacks our own, bot")
}

// What answers in the server's place, with 200 and whatever it likes, makes the target unknown, and nothing worse.
func TestAnswersOfSomethingElse(t *testing.T) {
	for _, answer := range []string{"<html>sign in to the hotel</html>", "null", "{}", "[]", `{"message": "ok"}`, "[[]]", "[null]", "[{}]", `["ada"]`, `[{"id": "one"}]`,
		`[{"id": 1, "login": ""}]`, `[{"id": 1, "login": "bot"}, {"id": 2, "login": "BOT"}]`, `{"ok": true, "data": [null]}`, `{"ok": true, "data": {}}`, `{"ok": false}`, strings.Repeat("[", 1<<20), ""} {
		for _, path := range []string{"/user", "/admin/users", "/users/Ada/keys", "/admin/orgs", "/orgs/acme/teams", "/teams/", "/repos/search", "/repos/acme/site/collaborators"} {
			server := stand(t)
			server.Meddle(func(r *http.Request) fake.Fault {
				if strings.HasPrefix(r.URL.Path, "/api/v1"+path) {
					return fake.Fault{Code: http.StatusOK, Raw: answer}
				}
				return fake.Fault{}
			})
			o, err := outlook(t, server, crew)
			if err != nil {
				unknown(t, path+" answers "+answer[:min(len(answer), 40)], err, "")
			} else if len(o.Dark) == 0 || len(o.Do.Removals()) > 0 {
				t.Errorf("%s answers %s: it does %s", path, answer, lines(o.Do))
			}
		}
	}
}
