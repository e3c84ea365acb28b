package forgejo

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"code.gitea.io/sdk/gitea"

	"trueup/reconcile"
	"trueup/reconcile/forgejo/fake"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// TestServer is the suite on a server that FORGEJO_URL and FORGEJO_TOKEN name, the token being an administrator's. It makes
// accounts and organisations of its own, named trueup-…, and removes them. With TRUEUP_PROVE and without a server it is shown on
// the one in memory, so that it works when it is needed.
func TestServer(t *testing.T) {
	address, token := os.Getenv("FORGEJO_URL"), os.Getenv("FORGEJO_TOKEN")
	if address == "" && os.Getenv("TRUEUP_PROVE") != "1" {
		return
	}
	if address == "" {
		address, token = fake.New(t).URL, fake.Token
	}
	prefix := fmt.Sprintf("trueup-%d", os.Getpid()) // one world stands at a time, and all have the same names
	kindtest.Run(t, func(t testing.TB) kindtest.World[*World] {
		return newStage(t, address, token, prefix).world()
	})
}

// A stage is a part of a real server, and a door before it that counts and can be shut.
type stage struct {
	testing.TB
	*gitea.Client
	prefix, door, token string
	team                int64

	mu     sync.Mutex
	writes int
	dark   bool
}

func newStage(t testing.TB, address, token, prefix string) *stage {
	client, err := gitea.NewClient(address, gitea.SetToken(token), gitea.SetGiteaVersion(""))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{TB: t, Client: client, prefix: prefix, token: token}
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		dark := s.dark
		if r.Method != http.MethodGet {
			s.writes++
		}
		s.mu.Unlock()
		if dark {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		r.Host = to.Host
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	s.door = door.URL
	s.furnish()
	return s
}

func (s *stage) name(of string) string { return s.prefix + "-" + of }

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// furnish makes what the suite begins with: accounts bob and cy, an organisation of cy's, and a team with cy.
func (s *stage) furnish() {
	s.clear()
	no := false
	for _, who := range []string{"bob", "cy"} {
		_, _, err := s.AdminCreateUser(gitea.CreateUserOption{Username: s.name(who), Email: s.name(who) + "@example.org", Password: unknowable(), MustChangePassword: &no})
		s.must(err)
	}
	_, _, err := s.AdminCreateOrg(s.name("cy"), gitea.CreateOrgOption{Name: s.name("acme")})
	s.must(err)
	team, _, err := s.CreateTeam(s.name("acme"), gitea.CreateTeamOption{Name: "devs", Permission: gitea.AccessModeRead, UnitsMap: map[string]string{"repo.code": "read"}})
	s.must(err)
	s.team = team.ID
	_, err = s.AddTeamMember(s.team, s.name("cy"))
	s.must(err)
	s.Cleanup(s.clear)
}

// clear removes all that the suite may have made; what is not there is no matter.
func (s *stage) clear() {
	_, _ = s.DeleteRepo(s.name("acme"), "tool")
	_, _ = s.DeleteOrg(s.name("acme"))
	for _, who := range []string{"bob", "bea", "cy", "dan"} {
		_, _ = s.AdminDeleteUser(s.name(who))
	}
}

// world is the suite's.
func (s *stage) world() kindtest.World[*World] {
	document := strings.ReplaceAll(`
users:
  - {login: @-bea, email: @-bob@example.org, previously: @-bob}
  - {login: @-dan, email: @-dan@example.org, full_name: Dan}
  - {login: @-cy, email: @-cy@example.org, state: suspended}
orgs:
  - {name: @-acme, teams: [{name: devs, members: [@-dan]}]}
repositories:
  - {name: @-acme/tool, private: true}
`, "@", s.prefix)
	document = strings.ReplaceAll(document, s.prefix+"example.org", "@example.org")
	config := settings(s.TB, s.door, s.token)
	return kindtest.World[*World]{
		Target:  reconcile.Target{Key: "forgejo:real"},
		Kind:    func() plan.Kind[*World] { return New(config, "policy.yaml") },
		Reader:  func() plan.Reader { return always(document) },
		Options: Options(plan.Options[*World]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 10, Fraction: 1}}),
		Writes:  func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.writes },
		State:   s.state,
		Want:    "bea true, cy false, dan true, devs dan, tool true",
		Dark:    func(dark bool) { s.mu.Lock(); defer s.mu.Unlock(); s.dark = dark },
	}
}

// state is who there is and may sign in, who is in the team, and whether the repository is private.
func (s *stage) state() string {
	var said []string
	for page := 1; ; page++ {
		users, _, err := s.AdminListUsers(gitea.AdminListUsersOptions{ListOptions: gitea.ListOptions{Page: page, PageSize: 50}})
		s.must(err)
		for _, who := range []string{"bea", "bob", "cy", "dan"} {
			for _, u := range users {
				if u.UserName == s.name(who) {
					said = append(said, fmt.Sprintf("%s %v", who, !u.ProhibitLogin))
				}
			}
		}
		if len(users) == 0 {
			break
		}
	}
	members, _, err := s.ListTeamMembers(s.team, gitea.ListTeamMembersOptions{})
	s.must(err)
	for _, m := range members {
		said = append(said, "devs "+strings.TrimPrefix(m.UserName, s.prefix+"-"))
	}
	if tool, _, err := s.GetRepo(s.name("acme"), "tool"); err == nil {
		said = append(said, fmt.Sprintf("tool %v", tool.Private))
	}
	return strings.Join(said, ", ")
}
