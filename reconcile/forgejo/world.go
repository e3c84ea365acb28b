package forgejo

import (
	"fmt"
	"strings"
	"time"
)

// A World is what a server says of itself, as far as a document asks. One tick owns it, and keeps in it what it has done.
type World struct {
	doc      *Document
	entries  map[string]User  // of the document, by folded login, now and before
	known    map[string]int64 // the numbers that logins were seen to have before, by folded login
	claimed  map[int64]bool   // the numbers that the document gives
	self     int64            // the account whose token is used
	accounts []*account
	byID     map[int64]*account
	byLogin  map[string]*account // by folded login
	byEmail  map[string]*account // by folded address
	orgs     map[string]*org     // by folded name
	repos    map[string]*repo    // by folded owner/name
}

func newWorld(d *Document, known map[string]int64) *World {
	w := &World{doc: d, known: known, entries: map[string]User{}, claimed: map[int64]bool{}, orgs: map[string]*org{}, repos: map[string]*repo{}}
	for _, u := range d.Users {
		w.claimed[u.ID] = true
		w.entries[fold(u.Login)] = u
		if u.Previously != "" {
			w.entries[fold(u.Previously)] = u
		}
	}
	return w
}

// A part is something that was read by itself, or why it could not be.
type part[T any] struct {
	read bool // somebody asked for it
	all  []T
	err  error
}

type account struct {
	id                     int64
	login, email, fullName string
	loginName              string // at the source of its sign-in
	source                 int64
	active, admin          bool
	keys                   part[key]
}

type key struct {
	id          int64
	body, title string
}

type org struct {
	id                                      int64
	name, fullName, description, visibility string
	email, website, location                string // sent back as they are: an edit writes all of them
	teams                                   part[*team]
}

type team struct {
	id                     int64
	name, description      string
	permission             string
	units                  map[string]string
	allRepos, createsRepos bool
	members                part[int64]
	repos                  part[string] // names within the organisation
}

type repo struct {
	id                               int64
	owner, name                      string
	description, branch, source      string
	private, archived, empty, mirror bool
	interval                         string
	created                          time.Time
	collaborators                    part[grant]
}

type grant struct {
	account int64
	access  string
}

func (r *repo) full() string { return r.owner + "/" + r.name }

// team finds a team by its name.
func (o *org) team(name string) *team {
	for _, t := range o.teams.all {
		if fold(t.name) == fold(name) {
			return t
		}
	}
	return nil
}

// meant is the team that a document means: the one of that name, or else of the one before.
func (o *org) meant(t Team) *team {
	if found := o.team(t.Name); found != nil || t.Previously == "" {
		return found
	}
	return o.team(t.Previously)
}

// meant is the repository that a document means.
func (w *World) meant(r Repository) *repo {
	if found := w.repos[fold(r.Name)]; found != nil || r.Previously == "" {
		return found
	}
	owner, _, _ := strings.Cut(r.Name, "/")
	return w.repos[fold(owner+"/"+r.Previously)]
}

// size is how many things that are managed there are, of which the breaker takes its fraction.
func (w *World) size() (n int) {
	for _, u := range w.doc.Users {
		if a := w.who(u).account; a != nil {
			n += 1 + len(a.keys.all)
		}
	}
	for _, o := range w.orgs {
		for _, t := range o.teams.all {
			n += len(t.members.all) + len(t.repos.all)
		}
	}
	for _, r := range w.doc.Repositories {
		if found := w.meant(r); found != nil {
			n += 1 + len(found.collaborators.all)
		}
	}
	return n
}

// index makes the accounts be found. An address that two of them have speaks for neither.
func (w *World) index(all []*account) error {
	w.accounts = all
	w.byID, w.byLogin, w.byEmail = map[int64]*account{}, map[string]*account{}, map[string]*account{}
	for _, a := range all {
		if other := w.byLogin[fold(a.login)]; other != nil || a.login == "" {
			return fmt.Errorf("the list of accounts has number %d as %q, a name that is none or another's too", a.id, a.login)
		}
		_, shared := w.byEmail[fold(a.email)]
		w.byID[a.id], w.byLogin[fold(a.login)], w.byEmail[fold(a.email)] = a, a, a
		if shared || a.email == "" {
			w.byEmail[fold(a.email)] = nil
		}
	}
	return nil
}
