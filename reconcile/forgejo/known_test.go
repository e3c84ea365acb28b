package forgejo

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
	"trueup/reconcile/sqlite"
)

const stranger = "stranger@example.net"

// ticks lets a process tick the target once, on a ledger that is kept, and tells how it ended and what the ledger knows.
func ticks(t *testing.T, server *fake.Server, database, document string, protect ...string) (reconcile.Report, string) {
	t.Helper()
	ledger, err := sqlite.Open(t.Context(), database, sqlite.Options{Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	s := settings(t, server.URL, fake.Token)
	s.Protect = protect
	target := reconcile.Target{Key: "forgejo:main"}
	ticker := plan.New(New(s, "policy.yaml"), always(document), Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 10, Fraction: 1}}))
	r := reconcile.Reconciler{Ledger: ledger, Targets: []reconcile.Target{target}, TTL: time.Minute, Parallel: 1,
		Tickers: map[reconcile.Key]reconcile.Ticker{target.Key: ticker}}
	outcome, err := r.Sweep(t.Context(), reconcile.Order{Owing: reconcile.Wanted{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	known, err := ledger.Records(t.Context(), "known", "forgejo:main")
	if err != nil || len(known) != 1 {
		t.Fatalf("the ledger knows %v, %v", known, err)
	}
	return outcome.Reports[target.Key], fmt.Sprintf("%s at revision %d", known[0].Value, known[0].Revision)
}

// Cases REC-34, REC-36: whose a login was is remembered, so that a stranger who takes it gets nothing and loses nothing, though the
// document gives no id, nor an entry at all; and who gave it up keeps what they have.
func TestLoginTakenSinceTheLastTick(t *testing.T) {
	server, database := stand(t), filepath.Join(t.TempDir(), "ledger.db")
	const document = "orgs: [{name: acme, teams: [{name: Owners, members: [Ada, eve]}, {name: devs, members: [EVE]}]}]\nrepositories: [{name: acme/site, collaborators: {eve: write}}]\n"
	if report, known := ticks(t, server, database, document); report.State != reconcile.OK || known != `{"accounts":{"acme":7,"ada":2,"eve":6}} at revision 1` {
		t.Fatalf("it ends as %+v, and knows %s", report, known)
	}
	if _, known := ticks(t, server, database, document); !strings.HasSuffix(known, "at revision 1") {
		t.Errorf("what is known already is written again: %s", known)
	}
	server.Rename("eve", "evelyn")
	report, _ := ticks(t, server, database, document)
	if report.State != reconcile.Uncertain || !strings.Contains(report.Note, "login eve: number 6, who was called so, is called evelyn now; write that name") {
		t.Errorf("renamed: it ends as %+v", report)
	}
	took := server.AddUser("eve", stranger)
	before, writes := server.State(), server.Writes()
	report, known := ticks(t, server, database, document)
	if want := fmt.Sprintf("the name belongs to number %d", took.ID); report.State != reconcile.Uncertain || !strings.Contains(report.Note, want) || !strings.Contains(known, `"eve":6`) {
		t.Errorf("taken: it ends as %+v, and knows %s", report, known)
	}
	if server.Writes() != writes || server.State() != before {
		t.Errorf("%d writes:\n%s", server.Writes()-writes, server.State())
	}
	// A person says who is meant.
	document2 := fmt.Sprintf("users: [{login: eve, id: %d}]\n", took.ID) + document
	if report, known = ticks(t, server, database, document2); report.State != reconcile.OK || !strings.Contains(known, fmt.Sprintf(`"eve":%d`, took.ID)) || !strings.Contains(server.State(), "member of acme/devs: eve\n") {
		t.Errorf("said so: it ends as %+v, and knows %s:\n%s", report, known, server.State())
	}
}

// remembers is a ledger that knows numbers, as the last tick left them.
type remembers map[string]int64

func (r remembers) Records(_ context.Context, family, _ string) ([]reconcile.Record, error) {
	if family != "known" {
		return nil, nil
	}
	encoded, err := json.Marshal(memory{r})
	return []reconcile.Record{{Key: "forgejo:main", Revision: 1, Value: encoded}}, err
}

// What is remembered speaks for an entry that has no id.
func TestEntriesByNumbersSeenBefore(t *testing.T) {
	for name, c := range map[string]struct {
		document     string
		known        remembers
		before       func(*fake.Server)
		do, wait, is string
	}{
		"the e-mail is another, and the number the same": {
			document: "users: [{login: bob, email: new@example.org}]\n", known: remembers{"bob": 4},
			do: "~ user bob (email: \"bob@example.org\" → \"new@example.org\")\n",
		},
		"a stranger has the login and takes the e-mail along": {
			document: "users: [{login: bob, email: bob@example.org, state: suspended}]\n", known: remembers{"bob": 4},
			before: func(s *fake.Server) { s.Rename("bob", "bobby").Email = "b@b.b"; s.AddUser("bob", "bob@example.org") },
			is:     "? user bob: number 4 is called bobby now, and the name belongs to number 11; if that one is meant",
		},
		"renamed at the server, with another e-mail": {
			document: "users: [{login: bob, email: bob@example.org}]\n", known: remembers{"bob": 4},
			before: func(s *fake.Server) { s.Rename("bob", "bobby").Email = "b@b.b" },
			wait:   "~ user bobby is called bob; number 4 is called bobby now, not bob\n~ user bob (email",
		},
		"renamed by the document": {
			document: "users: [{login: rob, email: new@example.org, previously: bob}]\n", known: remembers{"bob": 4},
			do: "~ user bob is called rob\n~ user rob (email: \"bob@example.org\" → \"new@example.org\")\n",
		},
		"gone, and made anew": {
			document: "users: [{login: zoe, email: zoe@example.org}]\n", known: remembers{"zoe": 77},
			do: "+ user zoe <zoe@example.org>\n",
		},
		"gone, and a stranger has the login": {
			document: "users: [{login: eve, email: eve@example.org, state: suspended}]\n", known: remembers{"eve": 77},
			is: "? user eve: number 77 is gone, and the name belongs to number 6; if that one is meant",
		},
		"gone as wanted, and a stranger has the login": {
			document: "users: [{login: cy, email: old@example.org, state: deleted}]\n", known: remembers{"cy": 77},
		},
		"another entry has the number": {
			document: "users: [{login: robert, id: 4, previously: rob}, {login: bob, email: new@example.org}]\n", known: remembers{"bob": 4},
			before: func(s *fake.Server) { s.Rename("bob", "rob") },
			do:     "+ user bob <new@example.org>\n~ user rob is called robert\n",
		},
		"two entries, and one account": {
			document: "users: [{login: robert, id: 4}, {login: bob, email: bob@example.org, state: suspended}]\n",
			is:       "? user bob: number 4, who is called bob now, is whom the entry of robert means",
		},
		"no entry; gone, and a stranger has the login": {
			document: "orgs: [{name: acme, teams: [{name: devs, members: [bob]}]}]\n", known: remembers{"bob": 77},
			is: "? login bob: number 77, who was called so, is gone, and the name belongs to number 4",
		},
		"the one who is protected has another name": {
			document: "orgs: [{name: acme, teams: [{name: Owners, members: [Ada]}]}]\n", known: remembers{"root": 6},
			do: "- team acme/Owners (-eve)\n", // which is refused when it is done, by the reason below
		},
	} {
		server := stand(t)
		if c.before != nil {
			c.before(server)
		}
		s := settings(t, server.URL, fake.Token)
		s.Protect = []string{"root"}
		ticker := plan.New(New(s, "policy.yaml"), always(c.document), Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 50, Fraction: 1}}))
		o, err := ticker.Preview(t.Context(), reconcile.Target{Key: "forgejo:main"}, reconcile.Standing{Good: &reconcile.Report{}}, c.known)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for what, of := range map[string][2]string{"does": {lines(o.Do), c.do}, "waits with": {lines(o.Wait), c.wait}, "does not know": {lines(o.Dark), c.is}} {
			if (of[0] == "") != (of[1] == "") || !strings.HasPrefix(of[0], of[1]) {
				t.Errorf("%s: it %s\n%swant\n%s", name, what, of[0], of[1])
			}
		}
		if name == "the one who is protected has another name" && !strings.Contains(o.Do[0].Data, "protected by the configuration") {
			t.Errorf("%s: it would do %s", name, o.Do[0].Data)
		}
	}
}

// Between the reading and the write a name can change hands, and what is to go can come back into use.
func TestNamesTakenBeforeTheWrite(t *testing.T) {
	const document = `
users:
  - {login: eve, email: eve@example.org, ssh_keys: ["` + key3 + `"], full_name: Eve}
  - {login: bob, email: bob@example.org, state: suspended}
  - {login: cy, email: cy@example.org, state: deleted}
orgs: [{name: acme, teams: [{name: devs, members: [eve, Ada]}, {name: Owners, members: [Ada]}]}]
repositories: [{name: acme/site, collaborators: {eve: admin}, private: true}, {name: acme/old, state: deleted}]
`
	for name, meanwhile := range map[string]func(*fake.Server){
		"taken by others": func(s *fake.Server) {
			for _, login := range []string{"eve", "bob", "cy"} {
				s.Rename(login, "was-"+login)
				s.AddUser(login, login+"@example.net").ProhibitLogin = login == "cy"
			}
			for _, repo := range []string{"site", "old"} {
				s.Replace("acme", repo)
			}
		},
		"back in use": func(s *fake.Server) { s.Use("cy", "acme", "old") },
	} {
		server := stand(t)
		server.Suspend("cy")
		server.AddRepo("acme", "old", nil).Archived = true
		kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input(document)
		seen, err := kind.Observe(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		wants, _ := kind.Plan(in, seen)
		meanwhile(server)
		before, kept := server.State(), 0
		for _, c := range wants {
			touched := strings.Contains(c.ID, "ada") // who did not change hands
			if name == "back in use" {
				touched = !strings.HasPrefix(c.ID, "delete ")
			}
			if touched {
				continue
			}
			kept++
			if err := kind.Apply(t.Context(), in, seen, c); err == nil || !strings.Contains(err.Error(), "is meant") && !strings.Contains(err.Error(), "again; it is left alone") {
				t.Errorf("%s: %s: %v", name, c.ID, err)
			}
		}
		if want := map[string]int{"taken by others": 8, "back in use": 2}[name]; kept != want || server.State() != before {
			t.Errorf("%s: of %d changes, want %d, something was done:\n%s\nbefore\n%s", name, kept, want, server.State(), before)
		}
	}
}

// An empty repository is removed for an import only when an import has left it; also where that was to be a mirror.
func TestWhichEmptyRepositoriesGo(t *testing.T) {
	server := stand(t)
	server.AddRepo("acme", "tool", nil).Empty = true
	failed := tick(t, server, importing1)
	if err := failed["repository acme/tool"]; !reconcile.IsTerminal(err) || !strings.Contains(err.Error(), "made by hand") || server.Writes() != 0 {
		t.Errorf("one that was made by hand: %v, with %d writes", failed, server.Writes())
	}
	mirror := strings.Replace(importing1, "tool.git'", "tool.git', mirror: true", 1)
	server = stand(t)
	server.Break("https://git.example.net/tool.git", true)
	server.Meddle(once("DELETE", "/repos/acme/tool", fake.Fault{HangUp: true}))
	tick(t, server, mirror)
	server.Meddle(nil)
	server.Break("https://git.example.net/tool.git", false)
	server.Age(abandoned)
	if failed := tick(t, server, mirror); len(failed) > 0 || !strings.Contains(server.State(), "empty false mirror true") {
		t.Errorf("what a failed mirror has left: %v\n%s", failed, server.State())
	}
	if o, err := outlook(t, server, mirror); err != nil || len(o.Plan) > 0 {
		t.Errorf("done, it wants %s, %v", lines(o.Plan), err)
	}
}

// A login that the plan is to make can be taken by somebody who is quicker: then nothing that was meant for it is given away,
// no membership, no key, no right, no repository.
func TestLoginTakenBeforeItIsMade(t *testing.T) {
	server := stand(t)
	const document = `
users: [{login: dan, email: dan@example.org, ssh_keys: ["` + key3 + `"]}]
orgs: [{name: acme, teams: [{name: devs, members: [dan, eve]}]}]
repositories: [{name: acme/site, collaborators: {dan: admin, eve: write}}, {name: dan/secret, private: true, import: {url: "https://git.example.net/tool.git"}}]
`
	server.Meddle(once("POST", "/admin/users", fake.Fault{Code: 422, Text: "user already exists [name: dan]"}))
	kind, in := New(settings(t, server.URL, fake.Token), "policy.yaml"), input(document)
	seen, err := kind.Observe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	server.AddUser("dan", stranger)
	wants, _ := kind.Plan(in, seen)
	before := server.State()
	for _, c := range wants.Sorted() {
		if err := kind.Apply(t.Context(), in, seen, c); err == nil {
			t.Errorf("%s was done", c.ID)
		}
	}
	if len(wants) != 5 || server.State() != before {
		t.Errorf("of %s something was done:\n%s", lines(wants), server.State())
	}
	// The next tick sees whose the login is: what was meant for it waits for a person.
	if o, err := outlook(t, server, document); err != nil || len(o.Do) > 0 || len(o.Wait) == 0 {
		t.Errorf("then it does %s, %v", lines(o.Do), err)
	}
}
