package forgejo

import (
	"encoding/json"
	"fmt"
	"slices"

	"trueup/reconcile"
)

// A deed is what a change does, as it travels in the change: what was approved is done as it was planned.
type deed struct {
	Do      string            `json:"do"`
	Account int64             `json:"account,omitempty"` // its number; zero for one that this plan makes
	Login   string            `json:"login,omitempty"`   // of the account, or the new one
	Org     string            `json:"org,omitempty"`
	Team    string            `json:"team,omitempty"`
	Repo    string            `json:"repo,omitempty"` // owner/name, or within Org the name
	Number  int64             `json:"number,omitempty"`
	Text    string            `json:"text,omitempty"` // a key, a new name, a right, a refusal
	Set     map[string]string `json:"set,omitempty"`  // fields and their new values
	Units   map[string]string `json:"units,omitempty"`
}

// The deeds.
const (
	makeUser     = "make user"
	renameUser   = "rename user"
	editUser     = "edit user"
	deleteUser   = "delete user"
	addKey       = "add key"
	dropKey      = "drop key"
	makeOrg      = "make organisation"
	editOrg      = "edit organisation"
	makeTeam     = "make team"
	editTeam     = "edit team"
	addMember    = "add member"
	dropMember   = "drop member"
	addTeamRepo  = "add repository to team"
	dropTeamRepo = "drop repository from team"
	makeRepo     = "make repository"
	importRepo   = "import repository"
	editRepo     = "edit repository"
	deleteRepo   = "delete repository"
	grantRight   = "grant right"
	dropRight    = "drop right"
	refuse       = "refuse" // what must not be done: it fails with the reason, without a write
)

// A draft is a plan in the making.
type draft struct {
	*World
	protected map[int64]bool
	meantBy   map[int64]string // the entries, by the accounts that they mean
	plan      reconcile.Plan
}

// add adds a change. Its id is what it does and to what, so it is the same in every plan that wants it.
func (d *draft) add(op reconcile.Op, id, text string, what deed, doubt string) {
	encoded, _ := json.Marshal(what) // strings and numbers only
	c := reconcile.Change{ID: id, Op: op, Text: text, Data: string(encoded)}
	if doubt != "" {
		c.Confirm, c.Text = true, text+"; "+doubt
	}
	d.plan = append(d.plan, c)
}

// unknown adds what could not be read or told.
func (d *draft) unknown(what string, why any) {
	d.plan = append(d.plan, reconcile.Change{ID: "see " + what, Op: reconcile.Unknown, Text: fmt.Sprintf("%s: %v", what, why)})
}

// refuse adds a change that must not be done, so that it is told.
func (d *draft) refuse(op reconcile.Op, id, text, why string) {
	d.add(op, id, text, deed{Do: refuse, Text: why}, "")
}

// shielded says why an account must keep what it has, or nothing.
func (d *draft) shielded(a *account) string {
	switch {
	case a == nil:
		return ""
	case a.id == d.self:
		return a.login + " is the account whose token trueup uses"
	case d.protected[a.id]:
		return a.login + " is protected by the configuration"
	}
	return ""
}

// compare is the whole plan.
func compare(w *World, protect []string) reconcile.Plan {
	d := &draft{World: w, protected: map[int64]bool{}, meantBy: map[int64]string{}}
	for _, login := range protect {
		if a := w.byLogin[fold(login)]; a != nil {
			d.protected[a.id] = true
		}
		d.protected[w.known[fold(login)]] = true // also under another name
	}
	for _, login := range w.listed() {
		if who := w.called(login); who.dark != "" {
			d.unknown(map[bool]string{true: "organisation ", false: "login "}[d.founds(login)]+login, who.dark)
		}
	}
	for _, u := range w.doc.Users {
		d.user(u)
	}
	orgs := slices.DeleteFunc(slices.Clone(w.doc.Orgs), func(o Org) bool { return d.called(o.Name).dark != "" })
	for _, o := range orgs {
		d.org(o)
	}
	for _, r := range w.doc.Repositories {
		d.repository(r)
	}
	for _, o := range orgs {
		for _, t := range o.Teams {
			d.teamLists(o, t)
		}
	}
	return d.plan
}

// A difference gathers fields that are to be changed, and how to tell it.
type difference struct {
	set  map[string]string
	text []string
}

// field notes a field that is given and is otherwise.
func (d *difference) field(name string, given bool, want, have string) {
	if !given || want == have {
		return
	}
	if d.set == nil {
		d.set = map[string]string{}
	}
	d.set[name] = want
	d.text = append(d.text, fmt.Sprintf("%s: %q → %q", name, have, want))
}

// optional notes a text that is given and is otherwise.
func (d *difference) optional(name string, want *Text, have string) {
	if want != nil {
		d.field(name, true, string(*want), have)
	}
}

// flag notes a switch that is given and is otherwise.
func (d *difference) flag(name string, want *bool, have bool) {
	if want != nil {
		d.field(name, true, fmt.Sprint(*want), fmt.Sprint(have))
	}
}
