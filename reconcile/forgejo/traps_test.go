package forgejo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// noRecords is a ledger that knows nothing.
type noRecords struct{}

func (noRecords) Records(context.Context, string, string) ([]reconcile.Record, error) {
	return nil, nil
}

// outlook is what a tick would do on a target that was true before.
func outlook(t testing.TB, server *fake.Server, document string, protect ...string) (plan.Outlook, error) {
	t.Helper()
	s := settings(t, server.URL, fake.Token)
	s.Protect = protect
	ticker := plan.New(New(s, "policy.yaml"), always(document), Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 50, Fraction: 1}}))
	return ticker.Preview(t.Context(), reconcile.Target{Key: "forgejo:main"}, reconcile.Standing{Good: &reconcile.Report{}}, noRecords{})
}

// tick does what a tick would do without a person, and returns what failed, by the ids of the changes.
func tick(t testing.TB, server *fake.Server, document string, protect ...string) map[string]error {
	t.Helper()
	o, err := outlook(t, server, document, protect...)
	if err != nil {
		t.Fatal(err)
	}
	s := settings(t, server.URL, fake.Token)
	s.Protect = protect
	kind, in := New(s, "policy.yaml"), input(document)
	seen, err := kind.Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]error{}
	for _, c := range o.Do {
		if err := kind.Apply(t.Context(), in, seen, c); err != nil {
			failed[c.ID] = err
		}
	}
	return failed
}

func input(document string) plan.Input {
	return plan.Input{Target: reconcile.Target{Key: "forgejo:main"}, Run: "r-1", Policy: policy.Document{Data: []byte(document), Digest: "d"},
		Log: func(string, string) {}, Guard: func(context.Context) error { return nil }}
}

// lines are a plan as people read it.
func lines(p reconcile.Plan) string {
	var b strings.Builder
	for _, c := range p {
		fmt.Fprintf(&b, "%s %s\n", c.Op, c.Text)
	}
	return b.String()
}

func unknown(t testing.TB, what string, err error, why string) {
	t.Helper()
	if _, is := errors.AsType[*reconcile.UnknownError](err); !is || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: got %v, want an UnknownError that says %q", what, err, why)
	}
}

func TestDocumentsThatAreNoDocument(t *testing.T) {
	server := stand(t)
	for document, want := range map[string]string{
		"users:\n- {login: ada, email: a@b.c}\n- {login: Ada, email: d@e.f}\n": `policy.yaml:3: users[1].login name "Ada" stands twice, first in users[0].login`, // REC-21
		"users:\n- {login: ada}\n":                                                               "policy.yaml:2: users[0].login ada has neither id nor email",
		"users:\n- {login: ada, email: a@b.c, sshkeys: []}\n":                                    `policy.yaml:2: unknown key "sshkeys"`,
		"users:\n- {login: ada, email: a@b.c, ssh_keys: }\n":                                     "policy.yaml:2: users[0].ssh_keys: has no value",
		"users:\n- {login: ../x, email: a@b.c}\n":                                                "no name that the server takes",
		"users:\n- {login: a, email: a@b.c, id: 3}\n- {login: b, email: A@B.c, id: 3}\n":         "stands twice",
		"users:\n- {login: a, email: a@b.c, state: gone}\n":                                      `is "gone"; want one of active, suspended, deleted`,
		"users:\n- {login: a, email: a@b.c, ssh_keys: [ssh-ed25519]}\n":                          "is no public key",
		"users:\n- {login: a, email: a@b.c, ssh_keys: ['" + key1 + "', '" + key1 + " again']}\n": "the server takes a key only once",
		"orgs:\n- name: acme\n  teams:\n  - {name: Owners, members: []}\n":                       "policy.yaml:4: orgs[0].teams[0].members is empty, and an organisation has at least one owner", // REC-07
		"orgs: [{name: acme, teams: [{name: a, permission: read, units: {repo.code: read}}]}]\n": "stands beside permission",
		"orgs: [{name: acme, teams: [{name: a, members: [bob, Bob]}]}]\n":                        "stands twice",
		"orgs: [{name: acme, teams: [{name: a, units: {}}]}]\n":                                  "gives no right in any unit",
		"orgs: [{name: acme, teams: [{name: a, units: {repo.code: none}}]}]\n":                   "gives no right in any unit",
		"repositories: [{name: site}]\n":                                                         "not of the form owner/name",
		"repositories: [{name: a/site, import: {url: 'https://me:pw@h/x'}}]\n":                   "the URL has a password in it",
		"repositories: [{name: a/site, import: {url: '/srv/x.git'}}]\n":                          "no https, http or git address",
		"repositories: [{name: a/site, collaborators: {ada: write, Ada: read}}]\n":               "stands twice",
		"users:\n- {login: ada, email: a@b.c}\norgs: [{name: ADA}]\n":                            "stands twice",
		"teams: []\n": `unknown key "teams"`,
	} {
		_, err := outlook(t, server, document)
		unknown(t, document, err, want)
	}
	if n := server.Writes(); n != 0 {
		t.Errorf("%d writes for documents that are none", n)
	}
}

// Cases REC-34 and REC-36: a login is not an identity.
func TestNamesThatChangedHands(t *testing.T) {
	for name, c := range map[string]struct {
		document     string
		before       func(*fake.Server)
		do, wait, is string // what is done, what waits for a person, and what is unknown
	}{
		"a stranger took the login; the id tells": {
			document: "users: [{login: bob, id: 4, ssh_keys: ['" + key3 + "']}]\norgs: [{name: acme, teams: [{name: devs, members: [bob, eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("bob", "bobby"); s.AddUser("bob", stranger) },
			do:       "+ team acme/devs (+bobby)\n", // the one who is meant, by his new name
			is:       "? user bob: number 4 is called bobby now, and the name belongs to number",
		},
		"a stranger took the login; the e-mail tells": {
			document: "users: [{login: bob, email: bob@example.org, ssh_keys: ['" + key3 + "']}]\norgs: [{name: acme, teams: [{name: devs, members: [bob, eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("bob", "bobby"); s.AddUser("bob", stranger) },
			do:       "+ team acme/devs (+bobby)\n",
			is:       "? user bob: the account of bob@example.org is called bobby now, and the name belongs to number",
		},
		"a stranger took the login of a member; the e-mail tells": {
			document: "users: [{login: eve, email: eve@example.org}]\norgs: [{name: acme, teams: [{name: devs, members: [eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("eve", "evelyn"); s.AddUser("eve", stranger) },
			is:       "? user eve: the account of eve@example.org is called evelyn now, and the name belongs to number", // and she stays a member
		},
		"the account is gone, and the login with a stranger": {
			document: "users: [{login: eve, id: 77, state: suspended}]\n",
			is:       "? user eve: number 77 is gone, and the name belongs to number",
		},
		"deleted, and a stranger has the login": {
			document: "users: [{login: eve, id: 77, state: deleted}]\norgs: [{name: acme, teams: [{name: devs, members: [Ada, eve]}, {name: Owners, members: [Ada, eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("eve", "evelyn"); s.AddUser("eve", stranger) },
			do:       "+ team acme/devs (+Ada)\n- team acme/devs (-evelyn)\n- team acme/Owners (-evelyn)\n",
		},
		"the account is gone": {
			document: "users: [{login: zoe, id: 77}]\n",
			is:       "? user zoe: number 77 is gone; take the id out",
		},
		"renamed at the server": {
			document: "users: [{login: eve, email: eve@example.org}]\norgs: [{name: acme, teams: [{name: devs, members: [eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("eve", "evelyn") },
			wait:     "~ user evelyn is called eve; the account of eve@example.org is called evelyn now, not eve\n", // and she stays a member
		},
		"renamed by the document": {
			document: "users: [{login: evelyn, email: eve@example.org, previously: eve}]\norgs: [{name: acme, teams: [{name: devs, members: [evelyn]}]}]\n",
			do:       "~ user eve is called evelyn\n",
		},
		"renamed by the document, and done": {
			document: "users: [{login: evelyn, email: eve@example.org, previously: eve}]\norgs: [{name: acme, teams: [{name: devs, members: [eve]}]}]\n",
			before:   func(s *fake.Server) { s.Rename("eve", "evelyn") },
		},
		"cases REC-20, REC-22, REC-23: only the case differs": {
			document: "users: [{login: ADA, email: Ada@Example.org}, {login: Eve, email: eve@example.org}]\norgs: [{name: ACME, teams: [{name: DEVS, members: [EVE]}]}]\nrepositories: [{name: Acme/Site, collaborators: {EVE: write}}]\n",
		},
	} {
		server := stand(t)
		if c.before != nil {
			c.before(server)
		}
		o, err := outlook(t, server, c.document)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for what, of := range map[string][2]string{"does": {lines(o.Do), c.do}, "waits with": {lines(o.Wait), c.wait}, "does not know": {lines(o.Dark), c.is}} {
			if of[1] == "" && of[0] != "" || !strings.HasPrefix(of[0], of[1]) {
				t.Errorf("%s: it %s\n%swant\n%s", name, what, of[0], of[1])
			}
		}
		if len(o.Do.Removals()) > 0 && !strings.Contains(c.do, "\n- ") {
			t.Errorf("%s: it removes %s", name, lines(o.Do))
		}
	}
}

// Cases REC-07 and REC-27: who must stay, stays, and is named.
func TestWhoMustStay(t *testing.T) {
	server := stand(t)
	server.AddOrg("home", "bot", "eve")
	const document = `
users: [{login: bot, email: bot@example.org, state: suspended}, {login: eve, email: eve@example.org, state: suspended}, {login: Ada, email: ada@example.org, state: deleted}]
orgs: [{name: home, teams: [{name: Owners, members: [bob]}]}, {name: acme, teams: [{name: Owners, members: [nobody]}]}]
`
	before := server.Writes()
	failed := tick(t, server, document, "EVE")
	for id, why := range map[string]string{
		"suspend user bot":            "bot is the account whose token trueup uses",
		"suspend user eve":            "eve is protected by the configuration",
		"delete user ada":             "it is active; write state: suspended first",
		"drop member home/owners bot": "bot is the account whose token",
		"drop member home/owners eve": "eve is protected",
		"member acme/owners nobody":   "404",
		"drop member acme/owners ada": "none of those who are to be owners has an account",
		"drop member acme/owners eve": "eve is protected",
	} {
		if failed[id] == nil || !strings.Contains(failed[id].Error(), why) {
			t.Errorf("%s: %v, want %q; all: %v", id, failed[id], why, failed)
		}
		if why != "404" && !reconcile.IsTerminal(failed[id]) {
			t.Errorf("%s is tried again as if a retry could mend it: %v", id, failed[id])
		}
	}
	if n := server.Writes() - before; n != 2 { // bob becomes an owner, and nobody does not
		t.Errorf("%d writes, want 2\n%s", n, server.State())
	}
	// The last owner: the server answers 500, which no retry mends.
	server.Meddle(once("PUT", "/teams/", fake.Fault{Code: 403}))
	failed = tick(t, server, "orgs: [{name: acme, teams: [{name: Owners, members: [bob]}]}]\n")
	last := failed["drop member acme/owners eve"]
	if !reconcile.IsTerminal(last) || !strings.Contains(last.Error(), "at least one owner") || !strings.Contains(server.State(), "member of acme/Owners: eve") {
		t.Errorf("the last owner: %v\n%s", last, server.State())
	}
}

// Case REC-06: suspended first, deleted when said so and when a person agrees, and the way back is open until then.
func TestSuspendedFirst(t *testing.T) {
	server := stand(t)
	eve := func(state string) string {
		return "users: [{login: eve, email: eve@example.org, state: " + state + "}]\n"
	}
	for _, step := range []struct{ state, want string }{
		{"suspended", "active false"}, {"active", "active true"}, {"suspended", "active false"}, {"deleted", "active false"},
	} {
		if failed := tick(t, server, eve(step.state)); len(failed) > 0 {
			t.Fatalf("%s: %v", step.state, failed)
		}
		if want := "user eve <eve@example.org> \"\" " + step.want; !strings.Contains(server.State(), want) {
			t.Errorf("after %s there is no %s in\n%s", step.state, want, server.State())
		}
	}
	o, err := outlook(t, server, eve("deleted"))
	if err != nil || len(o.Wait) != 1 || !o.Wait[0].Confirm {
		t.Errorf("a deletion that no person agreed to: %s, %v", lines(o.Plan), err)
	}
}

// What is not mentioned is not managed.
func TestWhatIsNotMentioned(t *testing.T) {
	server := stand(t)
	for _, document := range []string{
		"users: [{login: ada, email: ada@example.org}]\n",
		"users: []\n", "orgs: []\nrepositories: []\n",
		"orgs: [{name: acme, teams: [{name: devs}]}]\n",
		"repositories: [{name: acme/site}]\n",
	} {
		if o, err := outlook(t, server, document); err != nil || len(o.Plan) > 0 {
			t.Errorf("%s: %s, %v", document, lines(o.Plan), err)
		}
	}
}

// Case REC-10: a right that comes with being an administrator or an owner is not one that was granted here.
func TestInheritedRights(t *testing.T) {
	server := stand(t)
	server.AddRepo("acme", "lib", map[string]string{"bot": "write"})
	const document = "repositories: [{name: acme/lib, collaborators: {bot: read}}, {name: acme/site, collaborators: {eve: write}}]\n"
	if o, err := outlook(t, server, document); err != nil || len(o.Plan) > 0 {
		t.Errorf("it wants %s, %v", lines(o.Plan), err)
	}
}
