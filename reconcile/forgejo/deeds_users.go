package forgejo

import (
	"crypto/rand"
	"fmt"

	"code.gitea.io/sdk/gitea"
)

func (s server) doUser(w *World, d deed) error {
	if d.Do == makeUser {
		yes := true
		_, _, err := s.AdminCreateUser(gitea.CreateUserOption{Username: d.Login, Email: d.Set["email"], FullName: d.Set["full_name"],
			Password: unknowable(), MustChangePassword: &yes})
		return err
	}
	login, err := s.still(w, d)
	if err != nil {
		return err
	}
	switch d.Do {
	case renameUser:
		if _, err := s.AdminRenameUser(login, gitea.RenameUserOption{NewUsername: d.Text}); err != nil {
			return err
		}
		w.byID[d.Account].login = d.Text
	case editUser:
		return s.editUser(w.byID[d.Account], d.Set)
	case deleteUser:
		_, err = s.AdminDeleteUser(login)
		return gone(err)
	case addKey:
		_, _, err = s.AdminCreateUserPublicKey(login, gitea.CreateKeyOption{Title: keyTitle(d.Text), Key: d.Text})
	case dropKey:
		_, err = s.AdminDeleteUserPublicKey(login, int(d.Number))
		return gone(err)
	}
	return err
}

// unknowable is a password that nobody knows: whoever the account belongs to sets one by mail, or signs in another way.
func unknowable() string { return "Aa1-" + rand.Text() + rand.Text() }

// editUser changes fields of an account. The source of its sign-in is sent along as it is: the server writes it anew.
func (s server) editUser(a *account, set map[string]string) error {
	if a == nil {
		return fmt.Errorf("the account is not there any more")
	}
	o := gitea.EditUserOption{SourceID: a.source, LoginName: a.loginName}
	if email, given := set["email"]; given {
		o.Email = &email
	}
	if name, given := set["full_name"]; given {
		o.FullName = &name
	}
	yes, no := true, false
	switch set["state"] {
	case active:
		o.Active, o.ProhibitLogin = &yes, &no
	case suspended:
		o.ProhibitLogin = &yes
	}
	_, err := s.AdminEditUser(a.login, o)
	return err
}
