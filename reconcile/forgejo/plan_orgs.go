package forgejo

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"trueup/reconcile"
)

func (d *draft) org(o Org) {
	found := d.orgs[fold(o.Name)]
	if found == nil {
		set, visibility := map[string]string{}, Text(o.Visibility)
		for name, value := range map[string]*Text{"full_name": o.FullName, "description": o.Description, "visibility": &visibility} {
			if value != nil && *value != "" {
				set[name] = string(*value)
			}
		}
		what := deed{Do: makeOrg, Org: o.Name, Set: set}
		_, what.Account, what.Login = d.founder(o)
		d.add(reconcile.Create, "organisation "+fold(o.Name), "organisation "+o.Name, what, "")
		for _, t := range o.Teams {
			if fold(t.Name) != owners {
				d.newTeam(o, t)
			}
		}
		return
	}
	var diff difference
	diff.optional("full_name", o.FullName, found.fullName)
	diff.optional("description", o.Description, found.description)
	diff.field("visibility", o.Visibility != "", o.Visibility, found.visibility)
	if diff.set != nil {
		d.add(reconcile.Update, "edit organisation "+fold(o.Name), fmt.Sprintf("organisation %s (%s)", o.Name, strings.Join(diff.text, ", ")),
			deed{Do: editOrg, Org: found.name, Set: diff.set}, "")
	}
	if found.teams.err != nil {
		d.unknown("teams of "+o.Name, found.teams.err)
		return
	}
	for _, t := range o.Teams {
		if there := found.meant(t); there == nil {
			d.newTeam(o, t)
		} else {
			d.team(o, t, there)
		}
	}
}

// founder is who owns a new organisation at first, so that nobody has to be removed again: the first of its owners of whom there
// is no doubt, or who is made by this plan, without a number yet; else our own account. It also says how the list calls them.
func (d *draft) founder(o Org) (listed string, id int64, login string) {
	for _, t := range o.Teams {
		if fold(t.Name) != owners {
			continue
		}
		for _, login := range t.Members {
			who := d.called(login)
			if who.account != nil && who.dark == "" && who.grantDoubt() == "" {
				return login, who.account.id, who.account.login
			}
			if _, declared := d.entries[fold(login)]; listed == "" && declared && who.account == nil && who.dark == "" && !d.gone(login) {
				listed = login
			}
		}
	}
	if listed != "" {
		return listed, 0, d.entries[fold(listed)].Login
	}
	return "", d.self, d.byID[d.self].login
}

func (d *draft) newTeam(o Org, t Team) {
	set := map[string]string{"permission": t.Permission}
	if t.Permission == "" {
		set["permission"] = "read"
	}
	if t.Description != nil {
		set["description"] = string(*t.Description)
	}
	if t.AllRepositories != nil {
		set["all_repositories"] = fmt.Sprint(*t.AllRepositories)
	}
	d.add(reconcile.Create, teamID("team", o, t.Name), "team "+o.Name+"/"+t.Name, deed{Do: makeTeam, Org: o.Name, Team: t.Name, Set: set, Units: t.Units}, "")
}

func teamID(what string, o Org, name string) string {
	return what + " " + fold(o.Name) + "/" + fold(name)
}

func (d *draft) team(o Org, t Team, there *team) {
	var diff difference
	diff.field("name", fold(t.Name) != fold(there.name), t.Name, there.name)
	diff.optional("description", t.Description, there.description)
	diff.field("permission", t.Permission != "", t.Permission, there.access())
	diff.flag("all_repositories", t.AllRepositories, there.allRepos)
	var units map[string]string
	if t.Units != nil && !maps.Equal(granted(t.Units), granted(there.units)) {
		units = t.Units
		diff.text = append(diff.text, "units")
	}
	if diff.set != nil || units != nil {
		d.add(reconcile.Update, teamID("edit team", o, t.Name), fmt.Sprintf("team %s/%s (%s)", o.Name, t.Name, strings.Join(diff.text, ", ")),
			deed{Do: editTeam, Org: o.Name, Team: there.name, Number: there.id, Set: diff.set, Units: units}, "")
	}
}

// access is the right that a team has in each of its units, or "mixed". The server's own word for it differs between versions
// where units were set; the units do not. The external ones, which can only be read, tell nothing.
func (t *team) access() string {
	if t.permission == "admin" || len(t.units) == 0 {
		return t.permission
	}
	rights := map[string]bool{}
	for _, unit := range units() {
		rights[cmp.Or(t.units[unit], "none")] = true
	}
	for access := range rights {
		if len(rights) == 1 {
			return access
		}
	}
	return "mixed"
}

// granted are the units in which there is a right.
func granted(units map[string]string) map[string]string {
	some := map[string]string{}
	for unit, access := range units {
		if access != "none" && access != "" {
			some[unit] = access
		}
	}
	return some
}

// teamLists compares members and repositories, of teams that are there and of those that this plan makes.
func (d *draft) teamLists(o Org, t Team) {
	there := &team{}
	if found := d.orgs[fold(o.Name)]; found != nil {
		if found.teams.err != nil {
			return // told already
		}
		if meant := found.meant(t); meant != nil {
			there = meant
		}
	}
	d.members(o, t, there)
	d.teamRepos(o, t, there)
}

func (d *draft) members(o Org, t Team, there *team) {
	name := o.Name + "/" + t.Name
	if there.members.err != nil {
		d.unknown("members of "+name, there.members.err)
		return
	}
	if t.Members == nil {
		return
	}
	have, want := map[int64]bool{}, map[int64]bool{}
	for _, id := range there.members.all {
		have[id] = true
	}
	for _, login := range t.Members {
		who := d.called(login)
		what := deed{Do: addMember, Org: o.Name, Team: t.Name, Number: there.id, Login: login}
		if who.account != nil {
			want[who.account.id] = true
			what.Account, what.Login = who.account.id, who.account.login
		}
		skip := who.dark != "" && who.account == nil || d.gone(login) || who.account != nil && have[who.account.id]
		founder, _, _ := d.founder(o)
		if first := there.id == 0 && fold(t.Name) == owners && login == founder; !skip && !first {
			d.add(reconcile.Create, teamID("member", o, t.Name)+" "+fold(login), fmt.Sprintf("team %s (+%s)", name, what.Login), what, who.grantDoubt())
		}
	}
	for _, id := range there.members.all {
		if !want[id] {
			d.dropMember(o, t, there, id, len(want))
		}
	}
}

// grantDoubt is why a person has to say that somebody gets a right. An account that is only called otherwise gets it.
func (i identity) grantDoubt() string {
	if i.rename {
		return ""
	}
	return i.doubt
}

// gone tells whether an entry is one of somebody who is not there and is not to be made.
func (d *draft) gone(login string) bool {
	u, declared := d.entries[fold(login)]
	return declared && d.who(u).account == nil && (u.State == suspended || u.State == deleted)
}

// dropMember takes somebody out of a team, but from the owners only while one of those who are to stay is there.
func (d *draft) dropMember(o Org, t Team, there *team, id int64, staying int) {
	login := fmt.Sprintf("number %d", id)
	a := d.byID[id]
	if a != nil {
		login = a.login
	}
	change, text := teamID("drop member", o, t.Name)+" "+fold(login), fmt.Sprintf("team %s/%s (-%s)", o.Name, t.Name, login)
	why := d.shielded(a)
	if staying == 0 {
		why = cmp.Or(why, "none of those who are to be owners has an account")
	}
	if why != "" && fold(t.Name) == owners {
		d.refuse(reconcile.Remove, change, text, why)
		return
	}
	d.add(reconcile.Remove, change, text, deed{Do: dropMember, Org: o.Name, Team: t.Name, Number: there.id, Account: id, Login: login}, "")
}

func (d *draft) teamRepos(o Org, t Team, there *team) {
	name := o.Name + "/" + t.Name
	if there.repos.err != nil {
		d.unknown("repositories of "+name, there.repos.err)
		return
	}
	if t.Repositories == nil {
		return
	}
	have, want := map[string]bool{}, map[string]bool{}
	for _, r := range there.repos.all {
		have[fold(r)] = true
	}
	for _, r := range t.Repositories {
		want[fold(d.before(o, r))] = true
		want[fold(r)] = true
		if !have[fold(r)] && !have[fold(d.before(o, r))] {
			d.add(reconcile.Create, teamID("repository of", o, t.Name)+" "+fold(r), fmt.Sprintf("team %s (+repository %s)", name, r),
				deed{Do: addTeamRepo, Org: o.Name, Team: t.Name, Number: there.id, Repo: d.before(o, r)}, "")
		}
	}
	for _, r := range there.repos.all {
		if !want[fold(r)] {
			d.add(reconcile.Remove, teamID("drop repository of", o, t.Name)+" "+fold(r), fmt.Sprintf("team %s (-repository %s)", name, r),
				deed{Do: dropTeamRepo, Org: o.Name, Team: t.Name, Number: there.id, Repo: r}, "")
		}
	}
}

// before is what a repository is called until this plan renames it.
func (d *draft) before(o Org, name string) string {
	for _, r := range d.doc.Repositories {
		if fold(r.Name) == fold(o.Name+"/"+name) && d.meant(r) != nil {
			return d.meant(r).name
		}
	}
	return name
}
