package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"trueup/reconcile"
	"trueup/reconcile/httpapi"
	"trueup/reconcile/plan"
)

// do does one deed. It keeps in the world what has another name or number since.
func (s server) do(ctx context.Context, in plan.Input, w *World, d deed) error {
	switch d.Do {
	case refuse:
		return reconcile.Terminal(errors.New(d.Text))
	case makeUser, renameUser, editUser, deleteUser, addKey, dropKey:
		return s.doUser(w, d)
	case makeOrg, editOrg, makeTeam, editTeam, addMember, dropMember, addTeamRepo, dropTeamRepo:
		return s.doOrg(w, d)
	case makeRepo, importRepo, editRepo, deleteRepo, grantRight, dropRight:
		return s.doRepo(ctx, in, w, d)
	}
	return fmt.Errorf("the change asks for %q, which nothing here does", d.Do)
}

// gone takes what is not there any more for removed.
func gone(err error) error {
	if httpapi.Is(err, http.StatusNotFound, http.StatusGone) {
		return nil
	}
	return err
}

// login is what an account is called now.
func (w *World) login(d deed) (string, error) {
	if d.Account == 0 {
		return d.Login, nil
	}
	a := w.byID[d.Account]
	if a == nil {
		return "", fmt.Errorf("account number %d, once %s, is not there any more", d.Account, d.Login)
	}
	return a.login, nil
}
