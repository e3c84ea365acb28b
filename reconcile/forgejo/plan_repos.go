package forgejo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
)

func (d *draft) repository(r Repository) {
	owner, _, _ := strings.Cut(r.Name, "/")
	if d.called(owner).dark != "" {
		return // told with the owner: what stands under the name is somebody else's
	}
	found := d.meant(r)
	switch {
	case found == nil && r.State == deleted:
		return
	case found == nil, r.Import != nil && r.State != deleted && found.leftover():
		d.newRepo(r, found)
	case r.Import != nil && r.State != deleted && found.empty && found.source == "":
		d.refuse(reconcile.Create, "repository "+fold(r.Name), "repository "+r.Name+" from "+r.Import.URL, "it is there, empty, and was made by hand; remove it there, or leave the import out")
		return
	case r.State == deleted && !found.archived:
		d.refuse(reconcile.Remove, "delete repository "+fold(r.Name), "repository "+found.full(), "it is in use; write state: archived first, and state: deleted when nobody has missed it")
		return
	case r.State == deleted:
		d.add(reconcile.Remove, "delete repository "+fold(r.Name), "repository "+found.full(), deed{Do: deleteRepo, Repo: found.full(), Number: found.id}, "it goes for good")
		return
	default:
		d.oldRepo(r, found)
	}
	d.rights(r, found)
}

// leftover tells whether a repository is what a failed import has left: nothing is in it, it has a source, and where it was to
// be a mirror, nothing to follow that by.
func (r *repo) leftover() bool { return r.empty && r.source != "" && !(r.mirror && r.interval != "") }

// newRepo makes a repository, or imports it, in place of what a failed import has left.
func (d *draft) newRepo(r Repository, leftover *repo) {
	set := map[string]string{}
	if r.Description != nil {
		set["description"] = string(*r.Description)
	}
	if r.Private != nil {
		set["private"] = fmt.Sprint(*r.Private)
	}
	if r.DefaultBranch != "" {
		set["default_branch"] = r.DefaultBranch
	}
	if r.State == archived {
		set["archived"] = "true"
	}
	owner, name, _ := strings.Cut(r.Name, "/")
	what, text := deed{Do: makeRepo, Repo: r.Name, Login: owner, Set: set}, "repository "+r.Name
	who := d.called(owner)
	switch {
	case who.account != nil:
		what.Account, what.Login = who.account.id, who.account.login
	case d.entries[fold(owner)].Login == "":
		what.Org, what.Repo, what.Login = owner, name, ""
	}
	if r.Import != nil {
		what.Do, what.Text = importRepo, r.Import.URL
		text += " from " + r.Import.URL
		if r.Import.Mirror {
			set["mirror"] = "true"
		}
		if r.Import.Interval != "" {
			set["interval"] = r.Import.Interval
		}
	}
	if leftover != nil {
		what.Number = leftover.id
		text += ", in place of an empty one that an import has left"
	}
	d.add(reconcile.Create, "repository "+fold(r.Name), text, what, who.doubt)
}

func (d *draft) oldRepo(r Repository, found *repo) {
	if r.Import != nil && r.Import.Mirror && !found.mirror {
		d.refuse(reconcile.Update, "mirror "+fold(r.Name), "repository "+found.full()+" is a mirror", "it is there and is none; only a new repository can become one")
	}
	_, name, _ := strings.Cut(r.Name, "/")
	var diff difference
	diff.field("name", fold(name) != fold(found.name), name, found.name)
	diff.optional("description", r.Description, found.description)
	diff.flag("private", r.Private, found.private)
	diff.field("default_branch", r.DefaultBranch != "" && !found.empty, r.DefaultBranch, found.branch)
	diff.field("archived", r.State == active, "false", fmt.Sprint(found.archived))
	if r.Import != nil && r.Import.Interval != "" && found.mirror {
		diff.field("interval", !sameLength(r.Import.Interval, found.interval), r.Import.Interval, found.interval)
	}
	what := deed{Do: editRepo, Repo: found.full(), Number: found.id, Set: diff.set}
	if diff.set != nil {
		doubt := ""
		if diff.set["private"] == "false" {
			doubt = "everybody sees it then"
		}
		d.add(reconcile.Update, "edit repository "+fold(r.Name), fmt.Sprintf("repository %s (%s)", found.full(), strings.Join(diff.text, ", ")), what, doubt)
	}
	if r.State == archived && !found.archived {
		what.Set = map[string]string{"archived": "true"}
		d.add(reconcile.Remove, "archive repository "+fold(r.Name), "repository "+found.full()+" (archived)", what, "")
	}
}

func sameLength(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return errX == nil && errY == nil && x == y
}

// rights compares the direct collaborators.
func (d *draft) rights(r Repository, found *repo) {
	if r.Collaborators == nil {
		return
	}
	if found == nil {
		found = &repo{}
	}
	if found.collaborators.err != nil {
		d.unknown("collaborators of "+r.Name, found.collaborators.err)
		return
	}
	have, want := map[int64]string{}, map[int64]bool{}
	for _, g := range found.collaborators.all {
		have[g.account] = g.access
	}
	at := r.Name
	if found.id != 0 {
		at = found.full()
	}
	for _, login := range slices.Sorted(maps.Keys(r.Collaborators)) {
		who := d.called(login)
		what := deed{Do: grantRight, Repo: at, Login: login, Text: r.Collaborators[login]}
		op, has, is := reconcile.Create, "", false
		if who.account != nil {
			want[who.account.id] = true
			what.Account, what.Login = who.account.id, who.account.login
			if has, is = have[who.account.id]; is {
				op = reconcile.Update
			}
		}
		same := is && (has == what.Text || who.account.admin)
		if !same && !d.gone(login) && (who.dark == "" || who.account != nil) {
			d.add(op, "right "+fold(r.Name)+" "+fold(login), fmt.Sprintf("repository %s (+%s: %s)", at, what.Login, what.Text), what, who.grantDoubt())
		}
	}
	for _, g := range found.collaborators.all {
		if want[g.account] {
			continue
		}
		login := fmt.Sprintf("number %d", g.account)
		if a := d.byID[g.account]; a != nil {
			login = a.login
		}
		d.add(reconcile.Remove, "drop right "+fold(r.Name)+" "+fold(login), fmt.Sprintf("repository %s (-%s)", at, login),
			deed{Do: dropRight, Repo: at, Account: g.account, Login: login}, "")
	}
}
