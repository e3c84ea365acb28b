package forgejo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An identity is which account an entry of a document means.
type identity struct {
	account *account // nil where it is to be made, or cannot be told
	rename  bool     // it is called otherwise now
	doubt   string   // why a person has to say that it is meant
	dark    string   // why it cannot be told at all
}

// who tells which account an entry means. Two things have to speak for it: the id, of the document or seen before, or the login
// together with the e-mail. With less a person is asked, and where they contradict each other nothing is done: a login that was
// given up can be taken by anybody.
func (w *World) who(u User) identity {
	named := w.byLogin[fold(u.Login)]
	if u.ID != 0 {
		return w.numbered(u, named)
	}
	if n := cmp.Or(w.known[fold(u.Login)], w.known[fold(u.Previously)]); n != 0 && !w.claimed[n] && (w.byID[n] != nil || named != nil) {
		u.ID = n
		return w.numbered(u, named).asSeen()
	}
	mailed := w.byEmail[fold(u.Email)]
	if named != nil && mailed != nil && named != mailed {
		return identity{account: mailed, dark: fmt.Sprintf("the account of %s is called %s now, and the name belongs to number %d", mailed.email, mailed.login, named.id)}
	}
	if named != nil {
		if fold(named.email) == fold(u.Email) {
			return identity{account: named}
		}
		return identity{account: named, doubt: fmt.Sprintf("user %s has number %d and e-mail %s, and the document says %s", named.login, named.id, named.email, u.Email)}
	}
	before := w.byLogin[fold(u.Previously)]
	switch {
	case u.Previously != "" && before != nil && before == mailed:
		return identity{account: before, rename: true}
	case u.Previously != "" && before != nil:
		return identity{account: before, rename: true, doubt: fmt.Sprintf("user %s has e-mail %s, and the document says %s", before.login, before.email, u.Email)}
	case mailed != nil:
		return identity{account: mailed, rename: true, doubt: fmt.Sprintf("the account of %s is called %s now, not %s", mailed.email, mailed.login, u.Login)}
	}
	return identity{}
}

// numbered is who for an entry with an id.
func (w *World) numbered(u User, named *account) identity {
	a := w.byID[u.ID]
	switch {
	case a == nil && u.State == deleted:
		return identity{}
	case a == nil && named == nil:
		return identity{dark: fmt.Sprintf("number %d is gone; take the id out of the document to have a new account made", u.ID)}
	case a == nil:
		return identity{dark: fmt.Sprintf("number %d is gone, and the name belongs to number %d", u.ID, named.id)}
	case named == a:
		return identity{account: a}
	case named != nil:
		return identity{account: a, dark: fmt.Sprintf("number %d is called %s now, and the name belongs to number %d", a.id, a.login, named.id)}
	case u.Previously != "" && fold(u.Previously) == fold(a.login):
		return identity{account: a, rename: true}
	}
	return identity{account: a, rename: true, doubt: fmt.Sprintf("number %d is called %s now, not %s", a.id, a.login, u.Login)}
}

// called is whom a login in a list means: the entry of that name, now or before, or else whoever is called so.
func (w *World) called(login string) identity {
	if u, declared := w.entries[fold(login)]; declared {
		return w.who(u)
	}
	named, n := w.byLogin[fold(login)], w.known[fold(login)]
	switch o, before := w.orgs[fold(login)], w.byID[n]; {
	case named != nil && w.founds(login):
		return identity{dark: fmt.Sprintf("it is to be an organisation, and the name belongs to account number %d", named.id)}
	case o != nil && n != 0 && o.id != n:
		return identity{dark: fmt.Sprintf("it was number %d, and the name belongs to organisation number %d; if that one is meant, leave it out of the document for one tick", n, o.id)}
	case n == 0, named == nil && before == nil, named != nil && named.id == n:
		return identity{account: named}
	case before == nil:
		return identity{dark: fmt.Sprintf("number %d, who was called so, is gone, and the name belongs to number %d", n, named.id)}.asSeen()
	case named == nil:
		return identity{account: before, dark: fmt.Sprintf("number %d, who was called so, is called %s now; write that name", n, before.login)}
	default:
		return identity{account: before, dark: fmt.Sprintf("number %d, who was called so, is called %s now, and the name belongs to number %d", n, before.login, named.id)}.asSeen()
	}
}

// asSeen says of what cannot be told that the number is not the document's.
func (i identity) asSeen() identity {
	if i.dark != "" {
		i.dark += "; if that one is meant, say so under users, with its id"
	}
	return i
}

// listed are the logins that lists mention, or that repositories belong to, and that have no entry, and the names of
// organisations, folded and in order.
func (w *World) listed() []string {
	all := map[string]bool{}
	note := func(login string) {
		if _, declared := w.entries[fold(login)]; !declared {
			all[fold(login)] = true
		}
	}
	for _, o := range w.doc.Orgs {
		note(o.Name)
		for _, t := range o.Teams {
			for _, login := range t.Members {
				note(login)
			}
		}
	}
	for _, r := range w.doc.Repositories {
		owner, _, _ := strings.Cut(r.Name, "/")
		note(owner)
		for login := range r.Collaborators {
			note(login)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// founds tells whether the document has an organisation of that name.
func (w *World) founds(name string) bool {
	return slices.ContainsFunc(w.doc.Orgs, func(o Org) bool { return fold(o.Name) == fold(name) })
}

// learned are the numbers of the names that the document and the settings mention: of accounts, and of organisations, whose
// numbers are of the same row. One that cannot be told, or is doubtful, stays what it was, and so does that of a name which is
// nobody's now and which no entry has made anew: whoever takes it is a stranger.
func (w *World) learned(protect []string) map[string]int64 {
	logins := w.listed()
	for _, u := range w.doc.Users {
		logins = append(logins, u.Login)
		if u.Previously != "" {
			logins = append(logins, u.Previously)
		}
	}
	now := map[string]int64{}
	for _, login := range append(logins, protect...) {
		name := fold(login)
		_, declared := w.entries[name]
		who, o := w.called(login), w.orgs[name]
		nobody := who.account == nil && o == nil && !declared && !w.founds(login)
		switch {
		case (who.dark != "" || who.doubt != "" || nobody) && w.known[name] != 0:
			now[name] = w.known[name]
		case who.dark == "" && o != nil:
			now[name] = o.id
		case who.dark == "" && who.doubt == "" && who.account != nil:
			now[name] = who.account.id
		}
	}
	return now
}
