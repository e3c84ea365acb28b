package forgejo

import (
	"fmt"
	"net/http"

	"trueup/reconcile/httpapi"
)

// still gives the login by which a deed reaches the account that it was planned for. The server takes names only, and since it
// was read a name can have changed hands, or an account come back that is to be deleted: imports before it take minutes.
func (s server) still(w *World, d deed) (string, error) {
	login, err := w.login(d)
	u, declared := w.entries[fold(login)]
	if err != nil || d.Account == 0 && !declared {
		return login, err
	}
	now, _, err := s.GetUserInfo(login)
	switch {
	case httpapi.Is(err, http.StatusNotFound) && (d.Do == deleteUser || d.Do == dropMember || d.Do == dropRight || d.Do == dropKey):
		return login, nil // the write says what is so
	case err != nil:
		return "", fmt.Errorf("asking whether %s is still the one that was seen: %w", login, err)
	case d.Account == 0 && fold(now.Email) != fold(u.Email): // it was to be made, and somebody else was quicker
		return "", fmt.Errorf("%s has e-mail %s, and the document says %s: it is somebody else", login, now.Email, u.Email)
	case d.Account != 0 && now.ID != d.Account:
		return "", fmt.Errorf("%s is number %d by now, and number %d is meant; the next tick plans anew", login, now.ID, d.Account)
	case d.Do == deleteUser && now.IsActive && !now.ProhibitLogin:
		return "", fmt.Errorf("%s is active again; it is left alone", login)
	}
	return login, nil
}

// stillRepo tells why a name is no longer that of the repository that was seen, or of one that may be deleted.
func (s server) stillRepo(owner, name string, id int64, d deed) error {
	now, _, err := s.GetRepo(owner, name)
	switch {
	case err != nil:
		return err
	case now.ID != id:
		return fmt.Errorf("%s/%s is number %d by now, and number %d is meant; the next tick plans anew", owner, name, now.ID, id)
	case d.Do == deleteRepo && !now.Archived:
		return fmt.Errorf("%s/%s is in use again; it is left alone", owner, name)
	}
	return nil
}
