package forgejo

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/forgejo/fake"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// Keys as people have them.
const (
	key1 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB ada@home"
	key2 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC ada@work"
	key3 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD bob@home"
)

// always is a policy that is always there.
type always string

func (p always) Read(context.Context, policy.Source, policy.Moment) (policy.Document, error) {
	return policy.Document{Data: []byte(p), Digest: "d"}, nil
}

// settings are those of a target at a server, with the token in a file of its own.
func settings(t testing.TB, url, token string) Settings {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Settings{URL: url, Token: config.Secret{File: file}}
}

// wanted is a document that touches everything: users, keys, organisations, teams, repositories, rights, an import.
const wanted = `
users:
  - {login: ada, email: ada@example.org, full_name: Ada, ssh_keys: ["` + key2 + `"]}
  - {login: bea, email: bob@example.org, previously: bob}
  - {login: cy, email: cy@example.org, state: suspended}
  - {login: dan, email: dan@example.org, ssh_keys: ["` + key3 + `"]}
orgs:
  - name: acme
    description: what we make
    teams:
      - {name: Owners, members: [ada]}
      - {name: devs, permission: write, members: [ada, dan], repositories: [site]}
  - name: labs
    teams: [{name: crew, units: {repo.code: read}, members: [bea]}]
repositories:
  - {name: acme/site, description: the site, collaborators: {dan: read}}
  - {name: labs/tool, import: {url: "https://git.example.net/tool.git"}}
`

// stand is the server before it is so.
func stand(t testing.TB) *fake.Server {
	s := fake.New(t)
	s.AddUser("Ada", "ada@example.org", key1)
	s.AddUser("bob", "bob@example.org")
	s.AddUser("cy", "cy@example.org")
	s.AddUser("eve", "eve@example.org")
	s.AddOrg("acme", "Ada", "eve")
	s.AddTeam("acme", "devs", "read", "eve")
	s.AddRepo("acme", "site", map[string]string{"eve": "write"})
	return s
}

const wantedState = `key of Ada: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC
key of dan: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD
member of acme/Owners: Ada
member of acme/devs: Ada
member of acme/devs: dan
member of labs/Owners: bot
member of labs/crew: bea
organisation acme "what we make" public
organisation labs "" public
repository acme/site "the site" private false archived false empty false mirror false
repository labs/tool "" private false archived false empty false mirror false
repository of acme/devs: site
right in acme/site: dan read
team acme/Owners map[]
team acme/devs map[repo.actions:write repo.code:write repo.issues:write repo.packages:write repo.projects:write repo.pulls:write repo.releases:write repo.wiki:write]
team labs/Owners map[]
team labs/crew map[repo.code:read]
user Ada <ada@example.org> "Ada" active true
user bea <bob@example.org> "" active true
user bot <bot@example.org> "" active true
user cy <cy@example.org> "" active false
user dan <dan@example.org> "" active true
user eve <eve@example.org> "" active true`

const fewerState = `key of Ada: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB
key of bea: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC
member of acme/Owners: Ada
member of acme/Owners: eve
member of acme/devs: eve
organisation acme "" public
repository acme/site "" private false archived false empty false mirror false
repository acme/tool "" private false archived false empty false mirror false
right in acme/site: eve write
team acme/Owners map[]
team acme/devs map[repo.actions:read repo.code:read repo.issues:read repo.packages:read repo.projects:read repo.pulls:read repo.releases:read repo.wiki:read]
user Ada <ada@example.org> "" active true
user bea <bob@example.org> "" active true
user bot <bot@example.org> "" active true
user cy <cy@example.org> "" active false
user eve <eve@example.org> "" active true`

// fewer is a smaller document, for the suite that is run each time.
const fewer = `
users:
  - {login: bea, email: bob@example.org, previously: bob, ssh_keys: ["` + key2 + `"]}
  - {login: cy, email: cy@example.org, state: suspended}
repositories:
  - {name: acme/tool, import: {url: "https://git.example.net/tool.git"}}
`

// world is the suite's, at a document and what the server is like when all is as the document wants.
func world(t testing.TB, document, want string) kindtest.World[*World] {
	server := stand(t)
	config := settings(t, server.URL, fake.Token)
	return kindtest.World[*World]{
		Target:  reconcile.Target{Key: "forgejo:main"},
		Kind:    func() plan.Kind[*World] { return New(config, "policy.yaml") },
		Reader:  func() plan.Reader { return always(document) },
		Options: Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 10, Fraction: 1}}),
		Writes:  server.Writes,
		State:   server.State,
		Want:    want,
		Dark:    server.Dark,
	}
}

// TestSuite is what every kind must show, on a server in memory: also that a process killed at any call leaves nothing that the
// next does not finish. With TRUEUP_PROVE it is shown on a document that touches everything.
func TestSuite(t *testing.T) {
	t.Parallel()
	document, want := fewer, fewerState
	if os.Getenv("TRUEUP_PROVE") == "1" {
		document, want = wanted, wantedState
	}
	kindtest.Run(t, func(t testing.TB) kindtest.World[*World] { return world(t, document, want) })
}
