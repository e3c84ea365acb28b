package fake

import (
	"net/http"
	"slices"
	"time"
)

func (s *Server) listRepos(w *answer, r *http.Request) {
	page(w, r, s.repos, func(some []any) any { return map[string]any{"ok": true, "data": some} })
}

func (s *Server) oneRepo(w *answer, r *http.Request) {
	w.give(http.StatusOK, s.repo(r.PathValue("owner"), r.PathValue("repo")))
}

func (s *Server) listIssues(w *answer, r *http.Request) {
	found := s.repo(r.PathValue("owner"), r.PathValue("repo"))
	n := found.OpenIssues
	if r.URL.Query().Get("state") == "all" {
		n += found.Closed
	}
	issues := make([]map[string]int, n)
	for i := range issues {
		issues[i] = map[string]int{"id": i + 1}
	}
	page(w, r, issues, nil)
}

func (s *Server) makeOrgRepo(w *answer, r *http.Request) {
	s.makeRepo(w, r, s.org(r.PathValue("org")).Name)
}

func (s *Server) makeUserRepo(w *answer, r *http.Request) {
	s.makeRepo(w, r, s.user(r.PathValue("user")).Login)
}

func (s *Server) makeRepo(w *answer, r *http.Request, owner string) {
	in, ok := read[repo](w, r)
	switch {
	case !ok:
	case s.repo(owner, in.Name) != nil:
		w.say(http.StatusConflict, "The repository with the same name already exists.")
	default:
		made := s.AddRepo(owner, in.Name, nil)
		made.Description, made.Private, made.Empty, made.Created = in.Description, in.Private, true, time.Now()
		if in.Branch != "" {
			made.Branch = in.Branch
		}
		w.give(http.StatusCreated, made)
	}
}

func (s *Server) importRepo(w *answer, r *http.Request) {
	in, ok := read[struct {
		Name        string `json:"repo_name"`
		Owner       string `json:"repo_owner"`
		From        string `json:"clone_addr"`
		Description string
		Mirror      bool
		Interval    string `json:"mirror_interval"`
		Private     bool
	}](w, r)
	switch {
	case !ok:
		return
	case !s.taken(in.Owner):
		w.say(http.StatusUnprocessableEntity, "user does not exist")
		return
	case s.repo(in.Owner, in.Name) != nil:
		w.say(http.StatusConflict, "The repository with the same name already exists.")
		return
	}
	made := s.AddRepo(in.Owner, in.Name, nil)
	made.Description, made.Private, made.Mirror, made.Interval = in.Description, in.Private, in.Mirror, in.Interval
	made.Original, made.Empty, made.Created = in.From, s.broken[in.From], time.Now()
	switch {
	case made.Empty: // it says of itself that it is a mirror, and has nothing to follow the source by
		made.Interval = ""
		w.say(http.StatusUnprocessableEntity, "Remote visit addressed rate limitation or clone failed")
		return
	case made.Mirror && made.Interval == "":
		made.Interval = "8h0m0s"
	}
	w.give(http.StatusCreated, made)
}

func (s *Server) editRepo(w *answer, r *http.Request) {
	in, ok := read[struct {
		Name, Description *string
		Private, Archived *bool
		Branch            *string `json:"default_branch"`
		Interval          *string `json:"mirror_interval"`
	}](w, r)
	if !ok {
		return
	}
	found := s.repo(r.PathValue("owner"), r.PathValue("repo"))
	set(&found.Name, in.Name)
	found.FullName = found.owner + "/" + found.Name
	set(&found.Description, in.Description)
	set(&found.Private, in.Private)
	set(&found.Archived, in.Archived)
	set(&found.Branch, in.Branch)
	set(&found.Interval, in.Interval)
	w.give(http.StatusOK, found)
}

func (s *Server) deleteRepo(w *answer, r *http.Request) {
	found := s.repo(r.PathValue("owner"), r.PathValue("repo"))
	s.repos = slices.DeleteFunc(s.repos, func(other *repo) bool { return other == found })
	for _, o := range s.orgs {
		for _, t := range o.teams {
			t.repos = slices.DeleteFunc(t.repos, func(other *repo) bool { return other == found })
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) listRights(w *answer, r *http.Request) {
	found := s.repo(r.PathValue("owner"), r.PathValue("repo"))
	var all []*user
	for _, u := range s.users {
		if found.rights[u] != "" {
			all = append(all, u)
		}
	}
	page(w, r, all, nil)
}

// oneRight answers the right that somebody has in effect: an administrator has every one.
func (s *Server) oneRight(w *answer, r *http.Request) {
	u := s.user(r.PathValue("user"))
	access := s.repo(r.PathValue("owner"), r.PathValue("repo")).rights[u]
	if u.Admin {
		access = "owner"
	}
	w.give(http.StatusOK, map[string]any{"permission": access, "role_name": access, "user": u})
}

func (s *Server) grant(w *answer, r *http.Request) {
	in, ok := read[struct{ Permission string }](w, r)
	if !ok {
		return
	}
	s.repo(r.PathValue("owner"), r.PathValue("repo")).rights[s.user(r.PathValue("user"))] = in.Permission
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) dropRight(w *answer, r *http.Request) {
	delete(s.repo(r.PathValue("owner"), r.PathValue("repo")).rights, s.user(r.PathValue("user")))
	w.WriteHeader(http.StatusNoContent)
}
