package fake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

func cut(pattern string) (method, path string, ok bool) { return strings.Cut(pattern, " ") }

func (s *Server) makeKey(w *answer, r *http.Request) {
	in, ok := read[key](w, r)
	if !ok {
		return
	}
	fields := strings.Fields(in.Key)
	for _, u := range s.users {
		for _, k := range u.keys {
			if strings.Fields(k.Key)[1] == fields[1] {
				w.say(http.StatusUnprocessableEntity, "Key content has been used as non-deploy key")
				return
			}
		}
	}
	u := s.user(r.PathValue("user"))
	in.ID = s.next()
	u.keys = append(u.keys, &in)
	w.give(http.StatusCreated, in)
}

func (s *Server) deleteKey(w *answer, r *http.Request) {
	u := s.user(r.PathValue("user"))
	before := len(u.keys)
	u.keys = slices.DeleteFunc(u.keys, func(k *key) bool { return fmt.Sprint(k.ID) == r.PathValue("id") })
	if len(u.keys) == before {
		w.say(http.StatusNotFound, "no such key")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) listOrgs(w *answer, r *http.Request) { page(w, r, s.orgs, nil) }

func (s *Server) makeOrg(w *answer, r *http.Request) {
	in, ok := read[org](w, r)
	switch {
	case !ok:
	case s.taken(in.UserName):
		w.say(http.StatusUnprocessableEntity, "user already exists [name: "+in.UserName+"]")
	default:
		s.AddOrg(in.UserName, r.PathValue("user"))
		o := s.org(in.UserName)
		o.FullName, o.Description = in.FullName, in.Description
		if in.Visibility != "" {
			o.Visibility = in.Visibility
		}
		w.give(http.StatusCreated, o)
	}
}

func (s *Server) editOrg(w *answer, r *http.Request) {
	in, ok := read[org](w, r)
	if !ok {
		return
	}
	o := s.org(r.PathValue("org"))
	o.FullName, o.Description, o.Email, o.Website, o.Location = in.FullName, in.Description, in.Email, in.Website, in.Location
	if in.Visibility != "" {
		o.Visibility = in.Visibility
	}
	w.give(http.StatusOK, o)
}

func (s *Server) deleteOrg(w *answer, r *http.Request) {
	o := s.org(r.PathValue("org"))
	if first(s.repos, func(r *repo) bool { return same(r.owner, o.Name) }) != nil {
		w.say(http.StatusInternalServerError, "organisation still owns repositories")
		return
	}
	s.orgs = slices.DeleteFunc(s.orgs, func(other *org) bool { return other == o })
	w.WriteHeader(http.StatusNoContent)
}

// team is the one that the path names by its number, and its organisation.
func (s *Server) team(r *http.Request) (*team, *org) {
	for _, o := range s.orgs {
		if t := first(o.teams, func(t *team) bool { return fmt.Sprint(t.ID) == r.PathValue("team") }); t != nil {
			return t, o
		}
	}
	return nil, nil
}

func (s *Server) listTeams(w *answer, r *http.Request) {
	page(w, r, s.org(r.PathValue("org")).teams, nil)
}

func (s *Server) makeTeam(w *answer, r *http.Request) {
	in, ok := read[team](w, r)
	o := s.org(r.PathValue("org"))
	switch {
	case !ok:
	case first(o.teams, func(t *team) bool { return same(t.Name, in.Name) }) != nil:
		w.say(http.StatusUnprocessableEntity, "team already exists")
	case in.Permission != "admin" && len(in.UnitsMap) == 0:
		w.say(http.StatusInternalServerError, "units permission should not be empty")
	default:
		in.ID = s.next()
		if in.Permission != "admin" {
			in.Permission = s.Unit
		}
		o.teams = append(o.teams, &in)
		w.give(http.StatusCreated, in)
	}
}

func (s *Server) editTeam(w *answer, r *http.Request) {
	in, ok := read[struct {
		Name, Permission string
		Description      *string
		UnitsMap         map[string]string `json:"units_map"`
		AllRepos         *bool             `json:"includes_all_repositories"`
	}](w, r)
	if !ok {
		return
	}
	t, _ := s.team(r)
	t.Name = in.Name
	set(&t.Description, in.Description)
	if in.Permission != "" { // else it is not looked at
		set(&t.AllRepos, in.AllRepos)
	}
	if in.Permission == "admin" {
		t.Permission, t.UnitsMap = "admin", nil
	} else if len(in.UnitsMap) > 0 {
		t.Permission, t.UnitsMap = s.Unit, in.UnitsMap
	}
	w.give(http.StatusOK, t)
}

func (s *Server) listMembers(w *answer, r *http.Request) {
	t, _ := s.team(r)
	page(w, r, t.members, nil)
}

func (s *Server) addMember(w *answer, r *http.Request) {
	t, _ := s.team(r)
	if u := s.user(r.PathValue("user")); !slices.Contains(t.members, u) {
		t.members = append(t.members, u)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) dropMember(w *answer, r *http.Request) {
	t, _ := s.team(r)
	u := s.user(r.PathValue("user"))
	if t.Name == "Owners" && len(t.members) == 1 && t.members[0] == u {
		w.say(http.StatusInternalServerError, "user is the last member of owner team")
		return
	}
	t.members = slices.DeleteFunc(t.members, func(other *user) bool { return other == u })
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) listTeamRepos(w *answer, r *http.Request) {
	t, _ := s.team(r)
	page(w, r, t.repos, nil)
}

func (s *Server) addTeamRepo(w *answer, r *http.Request) {
	t, _ := s.team(r)
	if found := s.repo(r.PathValue("owner"), r.PathValue("repo")); !slices.Contains(t.repos, found) {
		t.repos = append(t.repos, found)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) dropTeamRepo(w *answer, r *http.Request) {
	t, _ := s.team(r)
	found := s.repo(r.PathValue("owner"), r.PathValue("repo"))
	t.repos = slices.DeleteFunc(t.repos, func(other *repo) bool { return other == found })
	w.WriteHeader(http.StatusNoContent)
}
