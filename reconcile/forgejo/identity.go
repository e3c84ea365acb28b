package forgejo

import "fmt"

// An identity is which account an entry of a document means.
type identity struct {
	account *account // nil where it is to be made, or cannot be told
	rename  bool     // it is called otherwise now
	doubt   string   // why a person has to say that it is meant
	dark    string   // why it cannot be told at all
}

// who tells which account an entry means. Two things have to speak for it: the id, or the login together with the e-mail. With
// less a person is asked, and where they contradict each other nothing is done: a login that was given up can be taken by
// anybody.
func (w *World) who(u User) identity {
	named := w.byLogin[fold(u.Login)]
	if u.ID != 0 {
		return w.numbered(u, named)
	}
	if named != nil {
		if fold(named.email) == fold(u.Email) {
			return identity{account: named}
		}
		return identity{account: named, doubt: fmt.Sprintf("user %s has number %d and e-mail %s, and the document says %s", named.login, named.id, named.email, u.Email)}
	}
	before, mailed := w.byLogin[fold(u.Previously)], w.byEmail[fold(u.Email)]
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
	return identity{account: w.byLogin[fold(login)]}
}
