package forgejo

import (
	"fmt"

	"code.gitea.io/sdk/gitea"
)

func (s server) doOrg(w *World, d deed) error {
	switch d.Do {
	case makeOrg:
		login, err := s.still(w, d)
		if err != nil {
			return err
		}
		_, _, err = s.AdminCreateOrg(login, gitea.CreateOrgOption{Name: d.Org, FullName: d.Set["full_name"], Description: d.Set["description"],
			Visibility: gitea.VisibleType(d.Set["visibility"])})
		return err
	case editOrg:
		return s.editOrg(w.orgs[fold(d.Org)], d.Set)
	case makeTeam:
		_, _, err := s.CreateTeam(d.Org, gitea.CreateTeamOption{Name: d.Team, Description: d.Set["description"], Permission: gitea.AccessMode(d.Set["permission"]),
			IncludesAllRepositories: d.Set["all_repositories"] == "true", UnitsMap: unitsFor(d)})
		return err
	case editTeam:
		return s.editTeam(w, d)
	}
	return s.doTeam(w, d)
}

// editOrg changes fields of an organisation. The others are sent along as they are: the server writes all of them.
func (s server) editOrg(o *org, set map[string]string) error {
	if o == nil {
		return fmt.Errorf("the organisation is not there any more")
	}
	pick := func(name, now string) string {
		if want, given := set[name]; given {
			return want
		}
		return now
	}
	_, err := s.EditOrg(o.name, gitea.EditOrgOption{FullName: pick("full_name", o.fullName), Description: pick("description", o.description),
		Visibility: gitea.VisibleType(pick("visibility", o.visibility)), Email: o.email, Website: o.website, Location: o.location})
	return err
}

// units are those of a repository that a right can be given in. The external ones, which can only be read, are left out.
func units() []string {
	return []string{"repo.code", "repo.issues", "repo.pulls", "repo.releases", "repo.wiki", "repo.projects", "repo.packages", "repo.actions"}
}

// unitsFor spells out a right in every unit, unless it is that of an administrator, who needs none.
func unitsFor(d deed) map[string]string {
	if len(d.Units) > 0 || d.Set["permission"] == "admin" {
		return d.Units
	}
	all := map[string]string{}
	for _, unit := range units() {
		all[unit] = d.Set["permission"]
	}
	return all
}

// editTeam changes a team. What the document does not give is sent along as it is.
func (s server) editTeam(w *World, d deed) error {
	now := w.orgs[fold(d.Org)].team(d.Team)
	if now == nil {
		return fmt.Errorf("team %s/%s is not there any more", d.Org, d.Team)
	}
	o := gitea.EditTeamOption{Name: now.name, Permission: gitea.AccessMode(now.permission), UnitsMap: now.units, CanCreateOrgRepo: &now.createsRepos}
	if name, given := d.Set["name"]; given {
		o.Name = name
	}
	if text, given := d.Set["description"]; given {
		o.Description = &text
	}
	if all, given := d.Set["all_repositories"]; given {
		whole := all == "true"
		o.IncludesAllRepositories = &whole
	}
	if access, given := d.Set["permission"]; given {
		o.Permission, o.UnitsMap = gitea.AccessMode(access), unitsFor(deed{Set: d.Set})
	}
	if d.Units != nil {
		o.UnitsMap = d.Units
		if o.Permission == "admin" {
			o.Permission = gitea.AccessModeRead
		}
	}
	if o.Permission == "" || o.Permission == "none" { // one server's word where units are set, and no word that it takes
		o.Permission = gitea.AccessModeRead
	}
	if _, err := s.EditTeam(d.Number, o); err != nil {
		return err
	}
	now.name = o.Name
	return nil
}

func (s server) doTeam(w *World, d deed) error {
	id, err := s.teamNumber(d)
	if err != nil {
		return err
	}
	switch d.Do {
	case addTeamRepo:
		_, err = s.AddTeamRepository(id, d.Org, d.Repo)
		return err
	case dropTeamRepo:
		_, err = s.RemoveTeamRepository(id, d.Org, d.nowCalled(w))
		return gone(err)
	}
	login, err := s.still(w, d)
	if err != nil {
		return err
	}
	if d.Do == addMember {
		_, err = s.AddTeamMember(id, login)
		return err
	}
	_, err = s.RemoveTeamMember(id, login)
	return gone(err)
}

// nowCalled is the name of a team's repository, which this plan may have renamed.
func (d deed) nowCalled(w *World) string {
	if r := w.repos[fold(d.Org+"/"+d.Repo)]; r != nil {
		return r.name
	}
	return d.Repo
}

// teamNumber is the number of a team, which is asked for where this plan has made it.
func (s server) teamNumber(d deed) (int64, error) {
	if d.Number != 0 {
		return d.Number, nil
	}
	all, err := s.teams(d.Org)
	if err != nil {
		return 0, err
	}
	if found := (&org{teams: part[*team]{all: all}}).team(d.Team); found != nil {
		return found.id, nil
	}
	return 0, fmt.Errorf("there is no team %s/%s", d.Org, d.Team)
}
