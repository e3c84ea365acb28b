package forgejo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"trueup/reconcile/config"
	"trueup/reconcile/plan"
)

// Dump writes the document of what is so: a plan against it is empty. It reads everything that a document can manage, which
// takes a call or more for each account, team and repository, and is an error where any of it cannot be read.
func (k *Kind) Dump(ctx context.Context, in plan.Input) ([]byte, error) {
	s, err := k.server(ctx, in, 0)
	if err != nil {
		return nil, err
	}
	all, err := s.everything()
	if err != nil {
		return nil, err
	}
	w, err := s.observe(ctx, all, nil)
	if err != nil {
		return nil, err
	}
	if err := w.unread(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(w.document()); err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	if err := config.Decode("the dump", text.Bytes(), &Document{}); err != nil {
		return nil, fmt.Errorf("the server holds what no document can say: %w", err)
	}
	return text.Bytes(), nil
}

// everything is a document that names all that there is, and leaves the rest to be read.
func (s server) everything() (*Document, error) {
	w := newWorld(&Document{}, nil)
	for _, read := range []func(*World) error{s.readAccounts, s.readOrgs, s.readRepos} {
		if err := read(w); err != nil {
			return nil, err
		}
	}
	d := &Document{}
	for _, a := range w.accounts {
		d.Users = append(d.Users, User{Login: a.login, ID: a.id, SSHKeys: List{}})
	}
	for _, name := range slices.Sorted(maps.Keys(w.orgs)) {
		o := Org{Name: w.orgs[name].name}
		teams, err := s.teams(o.Name)
		if err != nil {
			return nil, err
		}
		for _, t := range teams {
			wants := Team{Name: t.name, Members: List{}}
			if fold(t.name) != owners && !t.allRepos {
				wants.Repositories = List{}
			}
			o.Teams = append(o.Teams, wants)
		}
		d.Orgs = append(d.Orgs, o)
	}
	for _, name := range slices.Sorted(maps.Keys(w.repos)) {
		d.Repositories = append(d.Repositories, Repository{Name: w.repos[name].full(), Collaborators: Grants{}})
	}
	return d, nil
}

// document says what was observed for a document that names everything.
func (w *World) document() *Document {
	d := &Document{}
	for _, u := range w.doc.Users {
		d.Users = append(d.Users, w.user(u))
	}
	for _, o := range w.doc.Orgs {
		d.Orgs = append(d.Orgs, w.org(o))
	}
	for _, r := range w.doc.Repositories {
		d.Repositories = append(d.Repositories, w.repository(r))
	}
	return d
}

// text is a field that is left out where it is empty, or what no document can say.
func text(s string) *Text {
	if s == "" || strings.ContainsRune(s, 0) {
		return nil
	}
	t := Text(s)
	return &t
}

func (w *World) user(u User) User {
	a := w.byID[u.ID]
	if a == nil { // it has gone meanwhile
		return u
	}
	u.Login, u.FullName, u.State = a.login, text(a.fullName), suspended
	if address(a.email) {
		u.Email = a.email
	}
	if a.active {
		u.State = active
	}
	for _, k := range a.keys.all {
		u.SSHKeys = append(u.SSHKeys, strings.TrimSpace(k.body+" "+strings.Join(strings.Fields(k.title), " ")))
	}
	return u
}

func (w *World) org(o Org) Org {
	found := w.orgs[fold(o.Name)]
	if found == nil {
		return o
	}
	o.FullName, o.Description, o.Visibility = text(found.fullName), text(found.description), found.visibility
	for i, t := range o.Teams {
		there := found.meant(t)
		if there == nil {
			continue
		}
		for _, id := range there.members.all {
			if a := w.byID[id]; a != nil {
				t.Members = append(t.Members, a.login)
			}
		}
		t.Description = text(there.description)
		if fold(t.Name) != owners {
			t.Repositories = append(t.Repositories, there.repos.all...)
			if there.allRepos {
				t.AllRepositories, t.Repositories = &there.allRepos, nil
			}
			switch access := there.access(); access {
			case "read", "write", "admin":
				t.Permission = access
			default:
				t.Units = granted(there.units)
			}
		}
		o.Teams[i] = t
	}
	return o
}

func (w *World) repository(r Repository) Repository {
	found := w.meant(r)
	if found == nil {
		return r
	}
	r.Description, r.Private = text(found.description), &found.private
	if found.archived {
		r.State = archived
	}
	if found.mirror && source(found.source) == "" {
		r.Import = &Import{URL: found.source, Mirror: true, Interval: found.interval}
	}
	for _, g := range found.collaborators.all {
		if a := w.byID[g.account]; a != nil && a.admin {
			r.Collaborators[a.login] = "admin"
		} else if a != nil {
			r.Collaborators[a.login] = g.access
		}
	}
	return r
}
