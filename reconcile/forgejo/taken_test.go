package forgejo

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
)

// Who is gone stays remembered where only lists mention them, also over a tick that finds nobody of the name: a stranger who takes
// it later gets nothing.
func TestLoginOfAListTakenAfterItsOwnerIsGone(t *testing.T) {
	server, database := stand(t), filepath.Join(t.TempDir(), "ledger.db")
	const document = "orgs: [{name: acme, teams: [{name: devs, members: [Ada, eve]}]}]\nrepositories: [{name: acme/site, collaborators: {eve: write}}]\n"
	ticks(t, server, database, document)
	server.Delete("eve")
	if report, known := ticks(t, server, database, document); report.State != reconcile.Failing || !strings.Contains(known, `"eve":6`) {
		t.Errorf("gone: it ends as %+v, and knows %s", report, known)
	}
	took := server.AddUser("eve", stranger)
	before := server.State()
	report, _ := ticks(t, server, database, document)
	if want := fmt.Sprintf("number 6, who was called so, is gone, and the name belongs to number %d", took.ID); report.State != reconcile.Uncertain || !strings.Contains(report.Note, want) || server.State() != before {
		t.Errorf("taken: it ends as %+v\n%s", report, server.State())
	}
}

// An account that somebody deleted is made anew, and known by its new number at once, also where the tick is killed after it.
func TestAccountMadeAnew(t *testing.T) {
	server, database := stand(t), filepath.Join(t.TempDir(), "ledger.db")
	const document = "users: [{login: zoe, email: zoe@example.org}]\norgs: [{name: acme, teams: [{name: devs, members: [zoe, eve]}]}]\n"
	ticks(t, server, database, document)
	for range 2 {
		server.Delete("zoe")
		if report, known := ticks(t, server, database, document); report.State != reconcile.OK {
			t.Errorf("it ends as %+v, and knows %s", report, known)
		}
	}
	server.Delete("zoe")
	server.Meddle(once("PUT", "/teams/9/members/zoe", fake.Fault{Code: http.StatusTooManyRequests})) // which ends the tick before its end
	if report, known := ticks(t, server, database, document); report.State == reconcile.OK || strings.Contains(known, "zoe") {
		t.Errorf("cut short it ends as %+v, and knows %s", report, known)
	}
}

// An organisation's name can change hands as well: its repositories are not made in a stranger's account or organisation, and
// nobody's teams and repositories are changed because of a name.
func TestOrganisationTaken(t *testing.T) {
	const (
		repositories = "repositories: [{name: acme/site, private: true}, {name: acme/lib, private: true, import: {url: 'https://git.example.net/tool.git'}}]\n"
		teams        = "orgs: [{name: acme, description: ours, teams: [{name: devs, members: [eve]}]}]\n"
	)
	for name, c := range map[string]struct {
		document, why string
		take          func(*fake.Server)
	}{
		"by an account, of repositories":      {repositories, "login acme: number 7, who was called so, is gone", func(s *fake.Server) { s.AddUser("acme", stranger) }},
		"by an account, of an organisation":   {teams + repositories, "organisation acme: it is to be an organisation, and", func(s *fake.Server) { s.AddUser("acme", stranger) }},
		"by another, of an organisation":      {teams + repositories, "organisation acme: it was number 7, and", func(s *fake.Server) { s.AddOrg("acme", "bob"); s.AddTeam("acme", "devs", "read", "bob") }},
		"by another, with a repository of it": {repositories, "login acme: it was number 7, and", func(s *fake.Server) { s.AddOrg("acme", "bob"); s.AddRepo("acme", "site", nil) }},
	} {
		server, database := stand(t), filepath.Join(t.TempDir(), "ledger.db")
		if report, _ := ticks(t, server, database, c.document); report.State != reconcile.OK {
			t.Fatalf("%s: at first it ends as %+v", name, report)
		}
		server.RenameOrg("acme", "acme2")
		c.take(server)
		before := server.State()
		for range 2 {
			if report, known := ticks(t, server, database, c.document); report.State != reconcile.Uncertain || !strings.Contains(report.Note, c.why) || !strings.Contains(known, `"acme":7`) {
				t.Errorf("%s: it ends as %+v, and knows %s", name, report, known)
			}
		}
		if server.State() != before {
			t.Errorf("%s: changed to\n%s", name, server.State())
		}
	}
}

// An organisation that somebody deleted is made anew.
func TestOrganisationMadeAnew(t *testing.T) {
	server, database := stand(t), filepath.Join(t.TempDir(), "ledger.db")
	const document = "orgs: [{name: acme}]\n"
	ticks(t, server, database, document)
	server.RenameOrg("acme", "acme2")
	if report, known := ticks(t, server, database, document); report.State != reconcile.OK || strings.Contains(known, `"acme":7`) {
		t.Errorf("it ends as %+v, and knows %s", report, known)
	}
}

// A new organisation is founded for an owner whom the same plan makes, so that nobody else is left among its owners.
func TestOrganisationOfANewAccount(t *testing.T) {
	server := stand(t)
	const document = "users: [{login: Zoe, email: zoe@example.org}]\norgs: [{name: labs, teams: [{name: Owners, members: [zoe]}]}]\n"
	if failed := tick(t, server, document); len(failed) > 0 || !strings.Contains(server.State(), "member of labs/Owners: Zoe\n") || strings.Contains(server.State(), "labs/Owners: bot") {
		t.Errorf("failed %v\n%s", failed, server.State())
	}
	if o, err := outlook(t, server, document); err != nil || len(o.Plan) > 0 {
		t.Errorf("done, it wants %s, %v", lines(o.Plan), err)
	}
}

// After an import that was refused only what it has left is removed: not what somebody else has imported since the server was
// read, nor what was made by hand while the import was asked for.
func TestMadeByHandBeforeAnImport(t *testing.T) {
	for _, at := range []string{"GET /api/v1/repos/acme/tool", "POST /api/v1/repos/migrate"} {
		server := stand(t)
		server.Meddle(func(r *http.Request) fake.Fault {
			if r.Method+" "+r.URL.Path == at && !strings.Contains(at, "done") {
				made := server.AddRepo("acme", "tool", nil)
				if made.Empty = true; r.Method == http.MethodGet { // by an import that goes on
					made.Original = "https://git.example.net/tool.git"
				}
				at = "done"
			}
			return fake.Fault{Code: map[bool]int{true: http.StatusUnprocessableEntity}[r.URL.Path == "/api/v1/repos/migrate"], Text: "not allowed"}
		})
		failed := tick(t, server, importing1)
		server.Meddle(nil)
		if failed["repository acme/tool"] == nil || !strings.Contains(server.State(), "repository acme/tool") {
			t.Errorf("%s: failed %v\n%s", at, failed, server.State())
		}
	}
}

// A repository that the plan renames is given to a team under the name that it has by then.
func TestRenamedAndGivenToATeam(t *testing.T) {
	server := stand(t)
	const document = "orgs: [{name: acme, teams: [{name: devs, repositories: [www]}]}]\nrepositories: [{name: acme/www, previously: site}]\n"
	if failed := tick(t, server, document); len(failed) > 0 || !strings.Contains(server.State(), "repository of acme/devs: www") {
		t.Errorf("failed %v\n%s", failed, server.State())
	}
	if o, err := outlook(t, server, document); err != nil || len(o.Plan) > 0 {
		t.Errorf("done, it wants %s, %v", lines(o.Plan), err)
	}
}
