package fake

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// A route serves one call. What is named in its path is there.
type route func(w *answer, r *http.Request)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, serve := range map[string]route{
		"GET /user":                                                 s.self,
		"GET /users/{user}":                                         s.oneUser,
		"GET /admin/users":                                          s.listUsers,
		"POST /admin/users":                                         s.makeUser,
		"PATCH /admin/users/{user}":                                 s.editUser,
		"DELETE /admin/users/{user}":                                s.deleteUser,
		"POST /admin/users/{user}/rename":                           s.renameUser,
		"GET /users/{user}/keys":                                    s.listKeys,
		"POST /admin/users/{user}/keys":                             s.makeKey,
		"DELETE /admin/users/{user}/keys/{id}":                      s.deleteKey,
		"GET /admin/orgs":                                           s.listOrgs,
		"POST /admin/users/{user}/orgs":                             s.makeOrg,
		"DELETE /orgs/{org}":                                        s.deleteOrg,
		"PATCH /orgs/{org}":                                         s.editOrg,
		"GET /orgs/{org}/teams":                                     s.listTeams,
		"POST /orgs/{org}/teams":                                    s.makeTeam,
		"PATCH /teams/{team}":                                       s.editTeam,
		"GET /teams/{team}/members":                                 s.listMembers,
		"PUT /teams/{team}/members/{user}":                          s.addMember,
		"DELETE /teams/{team}/members/{user}":                       s.dropMember,
		"GET /teams/{team}/repos":                                   s.listTeamRepos,
		"PUT /teams/{team}/repos/{owner}/{repo}":                    s.addTeamRepo,
		"DELETE /teams/{team}/repos/{owner}/{repo}":                 s.dropTeamRepo,
		"GET /repos/search":                                         s.listRepos,
		"POST /orgs/{org}/repos":                                    s.makeOrgRepo,
		"POST /admin/users/{user}/repos":                            s.makeUserRepo,
		"POST /repos/migrate":                                       s.importRepo,
		"GET /repos/{owner}/{repo}":                                 s.oneRepo,
		"GET /repos/{owner}/{repo}/issues":                          s.listIssues,
		"PATCH /repos/{owner}/{repo}":                               s.editRepo,
		"DELETE /repos/{owner}/{repo}":                              s.deleteRepo,
		"GET /repos/{owner}/{repo}/collaborators":                   s.listRights,
		"GET /repos/{owner}/{repo}/collaborators/{user}/permission": s.oneRight,
		"PUT /repos/{owner}/{repo}/collaborators/{user}":            s.grant,
		"DELETE /repos/{owner}/{repo}/collaborators/{user}":         s.dropRight,
	} {
		method, path, _ := cut(pattern)
		mux.HandleFunc(method+" /api/v1"+path, func(w http.ResponseWriter, r *http.Request) {
			a := w.(*answer)
			if moved := s.renamed[strings.ToLower(r.PathValue("user"))]; moved != nil && s.user(r.PathValue("user")) == nil {
				a.Header().Set("Location", "/api/v1/users/"+moved.Login)
				a.say(http.StatusTemporaryRedirect, "user redirect")
				return
			}
			if missing := s.missing(r); missing != "" {
				code := http.StatusNotFound
				if strings.HasPrefix(missing, "user ") && strings.HasSuffix(path, "/collaborators/{user}") {
					code = http.StatusUnprocessableEntity
				}
				a.say(code, missing+" does not exist")
				return
			}
			serve(a, r)
		})
	}
	return mux
}

// missing is what the path names and is not there.
func (s *Server) missing(r *http.Request) string {
	switch {
	case r.PathValue("user") != "" && s.user(r.PathValue("user")) == nil:
		return "user " + r.PathValue("user")
	case r.PathValue("org") != "" && s.org(r.PathValue("org")) == nil:
		return "organisation " + r.PathValue("org")
	case r.PathValue("repo") != "" && s.repo(r.PathValue("owner"), r.PathValue("repo")) == nil:
		return "repository " + r.PathValue("repo")
	case r.PathValue("team") != "":
		if t, _ := s.team(r); t == nil {
			return "team " + r.PathValue("team")
		}
	}
	return ""
}

// read reads what a call brings.
func read[T any](w *answer, r *http.Request) (in T, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.say(http.StatusUnprocessableEntity, err.Error())
		return in, false
	}
	return in, true
}

func (s *Server) self(w *answer, _ *http.Request) { w.give(http.StatusOK, s.users[0]) }

func (s *Server) listUsers(w *answer, r *http.Request) { page(w, r, s.users, nil) }

// taken tells whether a name belongs to an account or an organisation.
func (s *Server) taken(name string) bool { return s.user(name) != nil || s.org(name) != nil }

func (s *Server) makeUser(w *answer, r *http.Request) {
	in, ok := read[struct {
		Username, Email, Password string
		FullName                  string `json:"full_name"`
	}](w, r)
	mailed := first(s.users, func(u *user) bool { return same(u.Email, in.Email) })
	switch {
	case !ok:
	case s.taken(in.Username):
		w.say(http.StatusUnprocessableEntity, "user already exists [name: "+in.Username+"]")
	case mailed != nil:
		w.say(http.StatusUnprocessableEntity, "e-mail already in use [email: "+in.Email+"]")
	case len(in.Password) < 8:
		w.say(http.StatusBadRequest, "PasswordComplexity")
	default:
		u := s.AddUser(in.Username, in.Email)
		u.FullName = in.FullName
		w.give(http.StatusCreated, u)
	}
}

func (s *Server) editUser(w *answer, r *http.Request) {
	in, ok := read[struct {
		Source        int64   `json:"source_id"`
		LoginName     string  `json:"login_name"`
		FullName      *string `json:"full_name"`
		Email         *string
		Active        *bool
		ProhibitLogin *bool `json:"prohibit_login"`
	}](w, r)
	if !ok {
		return
	}
	u := s.user(r.PathValue("user"))
	u.Source, u.LoginName = in.Source, in.LoginName
	set(&u.FullName, in.FullName)
	set(&u.Email, in.Email)
	set(&u.Active, in.Active)
	set(&u.ProhibitLogin, in.ProhibitLogin)
	w.give(http.StatusOK, u)
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Server) deleteUser(w *answer, r *http.Request) {
	u := s.user(r.PathValue("user"))
	switch {
	case u == s.users[0]:
		w.say(http.StatusUnprocessableEntity, "you cannot delete yourself")
		return
	case first(s.repos, func(r *repo) bool { return same(r.owner, u.Login) }) != nil:
		w.say(http.StatusUnprocessableEntity, "user still has ownership of repositories")
		return
	}
	s.remove(u)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) remove(u *user) {
	s.users = slices.DeleteFunc(s.users, func(other *user) bool { return other == u })
	for _, o := range s.orgs {
		for _, t := range o.teams {
			t.members = slices.DeleteFunc(t.members, func(other *user) bool { return other == u })
		}
	}
	for _, r := range s.repos {
		delete(r.rights, u)
	}
}

func (s *Server) renameUser(w *answer, r *http.Request) {
	in, ok := read[struct {
		NewUsername string `json:"new_username"`
	}](w, r)
	switch {
	case !ok:
	case s.taken(in.NewUsername):
		w.say(http.StatusUnprocessableEntity, "user already exists [name: "+in.NewUsername+"]")
	default:
		s.rename(r.PathValue("user"), in.NewUsername)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) oneUser(w *answer, r *http.Request) {
	w.give(http.StatusOK, s.user(r.PathValue("user")))
}

func (s *Server) listKeys(w *answer, r *http.Request) {
	page(w, r, s.user(r.PathValue("user")).keys, nil)
}
