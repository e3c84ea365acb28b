package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (s *Server) next() int64 {
	s.last++
	return s.last
}

// A User is an account as a test may set it up.
type User = user

// AddUser adds an account. Its keys are lines of authorized_keys.
func (s *Server) AddUser(login, email string, keys ...string) *User {
	u := &user{ID: s.next(), Login: login, Email: email, Active: true}
	for _, line := range keys {
		u.keys = append(u.keys, &key{s.next(), line, "key"})
	}
	s.users = append(s.users, u)
	return u
}

// Rename gives an account another login, as its owner can.
func (s *Server) Rename(from, to string) *User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rename(from, to)
}

// rename leaves the old name as one that leads to the new, until somebody takes it.
func (s *Server) rename(from, to string) *user {
	u := s.user(from)
	s.renamed[strings.ToLower(from)], u.Login = u, to
	return u
}

// Delete removes an account with all that it is a member of.
func (s *Server) Delete(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(s.user(login))
}

// RenameOrg gives an organisation and its repositories another name, and leaves the old one to anybody.
func (s *Server) RenameOrg(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.org(from)
	o.Name, o.UserName = to, to
	for _, r := range s.repos {
		if same(r.owner, from) {
			r.owner, r.FullName = to, to+"/"+r.Name
		}
	}
}

// Leave has somebody leave a team, as members can.
func (s *Server) Leave(organisation, name, login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := first(s.org(organisation).teams, func(t *team) bool { return same(t.Name, name) })
	t.members = slices.DeleteFunc(t.members, func(u *user) bool { return same(u.Login, login) })
}

// Replace has another repository stand under a name.
func (s *Server) Replace(owner, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repo(owner, name).ID = s.next()
}

// Suspend makes an account one that may not sign in.
func (s *Server) Suspend(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(login).ProhibitLogin = true
}

// Use puts a suspended account and an archived repository to use again.
func (s *Server) Use(login, owner, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user(login).ProhibitLogin, s.repo(owner, name).Archived = false, false
}

// AddOrg adds an organisation with its owners.
func (s *Server) AddOrg(name string, owners ...string) {
	o := &org{ID: s.next(), Name: name, UserName: name, Visibility: "public"}
	s.orgs = append(s.orgs, o)
	o.teams = []*team{{ID: s.next(), Name: "Owners", Permission: "owner", AllRepos: true, CreatesRepos: true}}
	for _, login := range owners {
		o.teams[0].members = append(o.teams[0].members, s.user(login))
	}
}

// AddTeam adds a team with a right in every unit, and members.
func (s *Server) AddTeam(organisation, name, access string, members ...string) {
	t := &team{ID: s.next(), Name: name, Permission: access, UnitsMap: map[string]string{}}
	if access != "admin" {
		t.Permission = s.Unit
		for _, unit := range []string{"code", "issues", "pulls", "releases", "wiki", "projects", "packages", "actions"} {
			t.UnitsMap["repo."+unit] = access
		}
	}
	for _, login := range members {
		t.members = append(t.members, s.user(login))
	}
	o := s.org(organisation)
	o.teams = append(o.teams, t)
}

// AddRepo adds a repository that is not empty, with the rights of its collaborators.
func (s *Server) AddRepo(owner, name string, rights map[string]string) *Repo {
	r := &repo{ID: s.next(), FullName: owner + "/" + name, Name: name, owner: owner, Branch: "main", Created: time.Now().Add(-24 * time.Hour), rights: map[*user]string{}}
	for login, access := range rights {
		r.rights[s.user(login)] = access
	}
	s.repos = append(s.repos, r)
	return r
}

// A Repo is a repository as a test may set it up.
type Repo = repo

// Age makes every repository older.
func (s *Server) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		r.Created = r.Created.Add(-by)
	}
}

func (s *Server) user(login string) *user {
	return first(s.users, func(u *user) bool { return same(u.Login, login) })
}

func (s *Server) org(name string) *org {
	return first(s.orgs, func(o *org) bool { return same(o.Name, name) })
}

func (s *Server) repo(owner, name string) *repo {
	return first(s.repos, func(r *repo) bool { return same(r.FullName, owner+"/"+name) })
}

func first[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// State is all that there is, as sorted text.
func (s *Server) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, u := range s.users {
		note("user %s <%s> %q active %v", u.Login, u.Email, u.FullName, u.Active && !u.ProhibitLogin)
		for _, k := range u.keys {
			note("key of %s: %s", u.Login, strings.Join(strings.Fields(k.Key)[:2], " "))
		}
	}
	for _, o := range s.orgs {
		note("organisation %s %q %s", o.Name, o.Description, o.Visibility)
		for _, t := range o.teams {
			note("team %s/%s %v", o.Name, t.Name, t.UnitsMap)
			for _, u := range t.members {
				note("member of %s/%s: %s", o.Name, t.Name, u.Login)
			}
			for _, r := range t.repos {
				note("repository of %s/%s: %s", o.Name, t.Name, r.Name)
			}
		}
	}
	for _, r := range s.repos {
		note("repository %s %q private %v archived %v empty %v mirror %v", r.FullName, r.Description, r.Private, r.Archived, r.Empty, r.Mirror)
		for u, access := range maps.All(r.rights) {
			note("right in %s: %s %s", r.FullName, u.Login, access)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
