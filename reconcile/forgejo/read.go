package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"code.gitea.io/sdk/gitea"

	"trueup/reconcile"
	"trueup/reconcile/httpapi"
)

// A server is the API as one call of the kind uses it.
type server struct{ *gitea.Client }

// list reads a list to its end, each page turned into what is kept of it. The server says of each list how long it is; what does
// not is something else that answers in its place.
func list[T, U any](name string, id func(U) int64, keep func(*T) U, read func(gitea.ListOptions) ([]*T, *gitea.Response, error)) ([]U, error) {
	return httpapi.All(name, id, func(page int) ([]U, http.Header, error) {
		var part []*T
		var answer *gitea.Response
		err := reconcile.Caught(func() (err error) { // the library takes an answer of null for one that has a list
			part, answer, err = read(gitea.ListOptions{Page: page, PageSize: httpapi.PageSize})
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if answer.Header.Get("X-Total-Count") == "" {
			return nil, nil, errors.New("the answer does not say how many there are (X-Total-Count)")
		}
		kept := make([]U, len(part))
		for i, one := range part {
			if one == nil {
				return nil, nil, errors.New("something in it is null")
			}
			kept[i] = keep(one)
		}
		return kept, answer.Header, nil
	})
}

// observe reads what a document asks for.
func (s server) observe(ctx context.Context, d *Document, known map[string]int64) (*World, error) {
	w := newWorld(d, known)
	if err := s.readAccounts(w); err != nil {
		return nil, err
	}
	if len(d.Orgs) > 0 || len(d.Repositories) > 0 { // whose owners they are
		if err := s.readOrgs(w); err != nil {
			return nil, err
		}
	}
	if len(d.Repositories) > 0 {
		if err := s.readRepos(w); err != nil {
			return nil, err
		}
	}
	for _, u := range d.Users {
		if a := w.who(u).account; a != nil && u.SSHKeys != nil {
			a.keys = fetch(func() ([]key, error) { return s.keys(a.login) })
		}
	}
	for _, o := range d.Orgs {
		if found := w.orgs[fold(o.Name)]; found != nil && len(o.Teams) > 0 {
			s.readTeams(found, o)
		}
	}
	for _, r := range d.Repositories {
		if found := w.meant(r); found != nil && r.Collaborators != nil {
			found.collaborators = fetch(func() ([]grant, error) { return s.collaborators(w, found) })
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return w, w.limited()
}

func fetch[T any](read func() ([]T, error)) part[T] {
	all, err := read()
	return part[T]{true, all, err}
}

// parts are the errors of what was read by itself.
func (w *World) parts(note func(error)) {
	for _, a := range w.accounts {
		note(a.keys.err)
	}
	for _, o := range w.orgs {
		note(o.teams.err)
		for _, t := range o.teams.all {
			note(t.members.err)
			note(t.repos.err)
		}
	}
	for _, r := range w.repos {
		note(r.collaborators.err)
	}
}

// limited is a rate limit among what could not be read: it ends the tick.
func (w *World) limited() (limit error) {
	w.parts(func(err error) {
		if _, is := errors.AsType[*reconcile.NotBeforeError](err); is {
			limit = err
		}
	})
	return limit
}

// unread is why something could not be read.
func (w *World) unread() (first error) {
	w.parts(func(err error) {
		if first == nil {
			first = err
		}
	})
	return first
}

// readAccounts reads all accounts. Our own has to be among them: a server that says otherwise does not show all.
func (s server) readAccounts(w *World) error {
	self, _, err := s.GetMyUserInfo()
	if err != nil {
		return fmt.Errorf("asking whose token it is: %w", err)
	}
	if !self.IsAdmin {
		return fmt.Errorf("%s, whose token it is, is no administrator of the server", self.UserName)
	}
	all, err := list("accounts", func(a *account) int64 { return a.id }, keepAccount, func(o gitea.ListOptions) ([]*gitea.User, *gitea.Response, error) {
		return s.AdminListUsers(gitea.AdminListUsersOptions{ListOptions: o})
	})
	if err != nil {
		return err
	}
	w.self = self.ID
	if err := w.index(all); err != nil {
		return err
	}
	if w.byID[self.ID] == nil {
		return fmt.Errorf("the list of accounts lacks our own, %s: it does not show all", self.UserName)
	}
	return nil
}

func keepAccount(u *gitea.User) *account {
	return &account{id: u.ID, login: u.UserName, email: u.Email, fullName: u.FullName, loginName: u.LoginName, source: u.SourceID,
		active: u.IsActive && !u.ProhibitLogin, admin: u.IsAdmin}
}

func (s server) keys(login string) ([]key, error) {
	all, err := list("the keys of "+login, func(k key) int64 { return k.id }, func(k *gitea.PublicKey) key {
		body, _ := keyBody(k.Key)
		return key{k.ID, body, k.Title}
	}, func(o gitea.ListOptions) ([]*gitea.PublicKey, *gitea.Response, error) {
		return s.ListPublicKeys(login, gitea.ListPublicKeysOptions{ListOptions: o})
	})
	for _, k := range all {
		if k.body == "" {
			return nil, fmt.Errorf("listing the keys of %s: number %d, %q, has no form that is known", login, k.id, k.title)
		}
	}
	return all, err
}

func (s server) readOrgs(w *World) error {
	all, err := list("organisations", func(o *org) int64 { return o.id }, func(o *gitea.Organization) *org {
		return &org{id: o.ID, name: o.Name, fullName: o.FullName, description: o.Description, visibility: o.Visibility, email: o.Email, website: o.Website, location: o.Location}
	}, func(o gitea.ListOptions) ([]*gitea.Organization, *gitea.Response, error) {
		return s.AdminListOrgs(gitea.AdminListOrgsOptions{ListOptions: o})
	})
	for _, o := range all {
		w.orgs[fold(o.name)] = o
	}
	return err
}

// teams reads the teams of an organisation, without their members.
func (s server) teams(org string) ([]*team, error) {
	return list("the teams of "+org, func(t *team) int64 { return t.id }, keepTeam, func(o gitea.ListOptions) ([]*gitea.Team, *gitea.Response, error) {
		return s.ListOrgTeams(org, gitea.ListTeamsOptions{ListOptions: o})
	})
}

func keepTeam(t *gitea.Team) *team {
	return &team{id: t.ID, name: t.Name, description: t.Description, permission: string(t.Permission), units: t.UnitsMap,
		allRepos: t.IncludesAllRepositories, createsRepos: t.CanCreateOrgRepo}
}

func (s server) readTeams(found *org, o Org) {
	found.teams = fetch(func() ([]*team, error) { return s.teams(found.name) })
	for _, t := range o.Teams {
		there := found.meant(t)
		if there == nil {
			continue
		}
		name := found.name + "/" + there.name
		if t.Members != nil {
			there.members = fetch(func() ([]int64, error) {
				return list("the members of "+name, func(id int64) int64 { return id }, func(u *gitea.User) int64 { return u.ID },
					func(o gitea.ListOptions) ([]*gitea.User, *gitea.Response, error) {
						return s.ListTeamMembers(there.id, gitea.ListTeamMembersOptions{ListOptions: o})
					})
			})
		}
		if t.Repositories != nil {
			there.repos = fetch(func() ([]string, error) {
				ids := map[string]int64{}
				return list("the repositories of "+name, func(name string) int64 { return ids[name] }, func(r *gitea.Repository) string {
					ids[r.Name] = r.ID
					return r.Name
				}, func(o gitea.ListOptions) ([]*gitea.Repository, *gitea.Response, error) {
					return s.ListTeamRepositories(there.id, gitea.ListTeamRepositoriesOptions{ListOptions: o})
				})
			})
		}
	}
}

func (s server) readRepos(w *World) error {
	all, err := list("repositories", func(r *repo) int64 { return r.id }, keepRepo, func(o gitea.ListOptions) ([]*gitea.Repository, *gitea.Response, error) {
		return s.SearchRepos(gitea.SearchRepoOptions{ListOptions: o, Sort: "id", Order: "asc"})
	})
	for _, r := range all {
		w.repos[fold(r.full())] = r
	}
	return err
}

func keepRepo(r *gitea.Repository) *repo {
	owner, name, _ := strings.Cut(r.FullName, "/")
	return &repo{id: r.ID, owner: owner, name: name, description: r.Description, branch: r.DefaultBranch, source: r.OriginalURL,
		private: r.Private, archived: r.Archived, empty: r.Empty, mirror: r.Mirror, interval: r.MirrorInterval, created: r.Created}
}

// collaborators are those who have a right of their own; who has one by a team or as the owner is not in that list. How far
// the right goes is asked one by one. Of an administrator the server tells no right of its own.
func (s server) collaborators(w *World, r *repo) ([]grant, error) {
	logins := map[int64]string{}
	ids, err := list("the collaborators of "+r.full(), func(id int64) int64 { return id }, func(u *gitea.User) int64 {
		logins[u.ID] = u.UserName
		return u.ID
	}, func(o gitea.ListOptions) ([]*gitea.User, *gitea.Response, error) {
		return s.ListCollaborators(r.owner, r.name, gitea.ListCollaboratorsOptions{ListOptions: o})
	})
	if err != nil {
		return nil, err
	}
	grants := make([]grant, len(ids))
	for i, id := range ids {
		grants[i].account = id
		if a := w.byID[id]; a != nil && a.admin {
			continue
		}
		said, _, err := s.CollaboratorPermission(r.owner, r.name, logins[id])
		if err != nil {
			return nil, fmt.Errorf("asking for the right of %s in %s: %w", logins[id], r.full(), err)
		}
		grants[i].access = string(said.Permission)
		if said.Permission == gitea.AccessModeOwner { // by a team of owners, and then there is no more to be had
			grants[i].access = "admin"
		}
	}
	return grants, nil
}
