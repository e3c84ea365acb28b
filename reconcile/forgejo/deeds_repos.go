package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"code.gitea.io/sdk/gitea"

	"trueup/reconcile/httpapi"
	"trueup/reconcile/plan"
)

func (s server) doRepo(ctx context.Context, in plan.Input, w *World, d deed) error {
	switch d.Do {
	case makeRepo, importRepo:
		return s.newRepo(ctx, in, w, d)
	}
	owner, name, _ := strings.Cut(d.Repo, "/")
	known := w.repos[fold(d.Repo)]
	if known != nil {
		name = known.name
		err := s.stillRepo(owner, name, known.id, d)
		if httpapi.Is(err, http.StatusNotFound) && (d.Do == deleteRepo || d.Do == dropRight) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("asking whether %s/%s is still the one that was seen: %w", owner, name, err)
		}
	}
	switch d.Do {
	case editRepo:
		if _, _, err := s.EditRepo(owner, name, repoFields(d.Set)); err != nil {
			return err
		}
		if renamed, given := d.Set["name"]; given && known != nil {
			known.name = renamed
		}
		return nil
	case deleteRepo:
		_, err := s.DeleteRepo(owner, name)
		return gone(err)
	}
	login, err := s.still(w, d)
	if err != nil {
		return err
	}
	if d.Do == grantRight {
		access := gitea.AccessMode(d.Text)
		_, err = s.AddCollaborator(owner, name, login, gitea.AddCollaboratorOption{Permission: &access})
		return err
	}
	if _, err = s.DeleteCollaborator(owner, name, login); httpapi.Is(err, http.StatusUnprocessableEntity) {
		return nil // the account is gone
	}
	return gone(err)
}

func repoFields(set map[string]string) (o gitea.EditRepoOption) {
	for field, into := range map[string]**string{"name": &o.Name, "description": &o.Description, "default_branch": &o.DefaultBranch, "interval": &o.MirrorInterval} {
		if value, given := set[field]; given {
			*into = &value
		}
	}
	for field, into := range map[string]**bool{"private": &o.Private, "archived": &o.Archived} {
		if value, given := set[field]; given {
			yes := value == "true"
			*into = &yes
		}
	}
	return o
}

func (s server) newRepo(ctx context.Context, in plan.Input, w *World, d deed) error {
	owner, name := d.Org, d.Repo
	if owner == "" {
		var err error
		if owner, err = s.still(w, d); err != nil {
			return err
		}
		_, name, _ = strings.Cut(d.Repo, "/")
	}
	if d.Number != 0 {
		if err := s.clear(owner, name, d.Number); err != nil {
			return err
		}
		if err := in.Guard(ctx); err != nil {
			return err
		}
	}
	make := s.makeRepo
	if d.Do == importRepo {
		make = s.importRepo
	}
	if err := make(ctx, in, d, owner, name); err != nil {
		return err
	}
	if d.Set["archived"] == "" {
		return nil
	}
	if err := in.Guard(ctx); err != nil {
		return err
	}
	_, _, err := s.EditRepo(owner, name, repoFields(map[string]string{"archived": "true"}))
	return err
}

func (s server) makeRepo(_ context.Context, _ plan.Input, d deed, owner, name string) error {
	o := gitea.CreateRepoOption{Name: name, Description: d.Set["description"], Private: d.Set["private"] == "true", DefaultBranch: d.Set["default_branch"]}
	var err error
	if d.Org != "" {
		_, _, err = s.CreateOrgRepo(owner, o)
	} else {
		_, _, err = s.AdminCreateRepo(owner, o)
	}
	return err
}

// importRepo imports. An import that is refused leaves an empty repository behind, which would stand in the way of the next.
func (s server) importRepo(ctx context.Context, in plan.Input, d deed, owner, name string) error {
	// Only what the call makes may be removed after it.
	switch _, _, err := s.GetRepo(owner, name); {
	case err == nil:
		return fmt.Errorf("%s/%s is there by now; the next tick plans anew", owner, name)
	case !httpapi.Is(err, http.StatusNotFound, http.StatusMovedPermanently, http.StatusTemporaryRedirect): // a name that was given up leads on
		return fmt.Errorf("asking whether %s/%s is there: %w", owner, name, err)
	}
	_, _, err := s.MigrateRepo(gitea.MigrateRepoOption{RepoName: name, RepoOwner: owner, CloneAddr: d.Text, Service: gitea.GitServicePlain,
		Mirror: d.Set["mirror"] == "true", MirrorInterval: d.Set["interval"], Private: d.Set["private"] == "true", Description: d.Set["description"]})
	if err == nil || httpapi.Unclear(err) || httpapi.Is(err, http.StatusConflict) {
		return err
	}
	left, _, unread := s.GetRepo(owner, name)
	if unread != nil || !hollow(left) || left.OriginalURL == "" { // one that was made by hand has none
		return err
	}
	if lost := in.Guard(ctx); lost != nil {
		return errors.Join(err, lost)
	}
	if _, stays := s.DeleteRepo(owner, name); stays != nil {
		return errors.Join(err, fmt.Errorf("removing the empty repository that it has left: %w", stays))
	}
	return err
}

// hollow tells whether nothing at all is in a repository.
func hollow(r *gitea.Repository) bool {
	return r.Empty && r.OpenIssues == 0 && r.OpenPulls == 0 && r.Releases == 0 && r.Stars == 0 && r.Forks == 0
}

// clear removes what a failed import has left: the very repository that was seen, if it is still empty, and too old for its
// import to be under way.
func (s server) clear(owner, name string, id int64) error {
	left, _, err := s.GetRepo(owner, name)
	switch {
	case httpapi.Is(err, http.StatusNotFound):
		return nil
	case err != nil:
		return err
	case left.ID != id || !hollow(left):
		return fmt.Errorf("%s/%s is not what it was, or not empty; it is left alone", owner, name)
	}
	issues, _, err := s.ListRepoIssues(owner, name, gitea.ListIssueOption{State: gitea.StateAll}) // the count is of open ones
	switch {
	case httpapi.Is(err, http.StatusNotFound): // it has none at all
	case err != nil:
		return err
	case len(issues) > 0:
		return fmt.Errorf("%s/%s has issues; it is left alone", owner, name)
	}
	if due := left.Created.Add(abandoned); time.Now().Before(due) {
		return fmt.Errorf("its import may still be under way; it is begun anew after %s", due.Format(time.RFC3339))
	}
	_, err = s.DeleteRepo(owner, name)
	return gone(err)
}
