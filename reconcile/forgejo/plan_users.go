package forgejo

import (
	"fmt"
	"strings"

	"trueup/reconcile"
)

func (d *draft) user(u User) {
	who := d.who(u)
	if who.dark != "" {
		d.unknown("user "+u.Login, who.dark)
		return
	}
	a := who.account
	if a == nil {
		d.newUser(u)
		return
	}
	if other := d.meantBy[a.id]; other != "" {
		d.unknown("user "+u.Login, fmt.Sprintf("number %d, who is called %s now, is whom the entry of %s means", a.id, a.login, other))
		return
	}
	d.meantBy[a.id] = u.Login
	name := fold(u.Login)
	if who.rename {
		d.add(reconcile.Update, "rename user "+name, fmt.Sprintf("user %s is called %s", a.login, u.Login),
			deed{Do: renameUser, Account: a.id, Login: a.login, Text: u.Login}, who.doubt)
	}
	var diff difference
	diff.field("email", u.Email != "" && fold(u.Email) != fold(a.email), u.Email, a.email)
	diff.optional("full_name", u.FullName, a.fullName)
	diff.field("state", u.State == active, active, map[bool]string{true: active, false: suspended}[a.active])
	if diff.set != nil {
		d.add(reconcile.Update, "edit user "+name, fmt.Sprintf("user %s (%s)", u.Login, strings.Join(diff.text, ", ")),
			deed{Do: editUser, Account: a.id, Login: a.login, Set: diff.set}, who.doubt)
	}
	d.keys(u, who)
	d.leaver(u, who)
}

func (d *draft) newUser(u User) {
	switch {
	case u.State == suspended || u.State == deleted: // nobody to suspend
		return
	case u.Email == "":
		d.unknown("user "+u.Login, "it is not there, and without an e-mail it cannot be made")
		return
	}
	set := map[string]string{"email": u.Email}
	if u.FullName != nil {
		set["full_name"] = string(*u.FullName)
	}
	d.add(reconcile.Create, "user "+fold(u.Login), fmt.Sprintf("user %s <%s>", u.Login, u.Email), deed{Do: makeUser, Login: u.Login, Set: set}, "")
	for _, line := range u.SSHKeys {
		d.newKey(u, line, deed{Do: addKey, Login: u.Login}, "")
	}
}

// keyTitle names a key for people: its comment, or its last letters.
func keyTitle(line string) string {
	if fields := strings.Fields(line); len(fields) > 2 {
		return strings.Join(fields[2:], " ")
	}
	body, _ := keyBody(line)
	return "…" + body[max(0, len(body)-12):]
}

func (d *draft) newKey(u User, line string, what deed, doubt string) {
	body, _ := keyBody(line)
	what.Text = strings.TrimSpace(line)
	d.add(reconcile.Create, "key "+fold(u.Login)+" "+short(body), fmt.Sprintf("key %s of %s", keyTitle(line), u.Login), what, doubt)
}

// short names a key within an id.
func short(body string) string { return body[max(0, len(body)-40):] }

func (d *draft) keys(u User, who identity) {
	a := who.account
	switch {
	case u.SSHKeys == nil:
		return
	case a.keys.err != nil:
		d.unknown("keys of "+u.Login, a.keys.err)
		return
	}
	have, want := map[string]bool{}, map[string]bool{}
	for _, k := range a.keys.all {
		have[k.body] = true
	}
	for _, line := range u.SSHKeys {
		body, _ := keyBody(line)
		want[body] = true
		if !have[body] {
			d.newKey(u, line, deed{Do: addKey, Account: a.id, Login: a.login}, who.doubt)
		}
	}
	for _, k := range a.keys.all {
		if !want[k.body] {
			d.add(reconcile.Remove, "drop key "+fold(u.Login)+" "+short(k.body), fmt.Sprintf("key %s of %s", k.title, a.login),
				deed{Do: dropKey, Account: a.id, Login: a.login, Number: k.id}, who.doubt)
		}
	}
}

// leaver suspends, and deletes who was suspended before.
func (d *draft) leaver(u User, who identity) {
	a, name := who.account, fold(u.Login)
	why := d.shielded(a)
	switch {
	case u.State == suspended && a.active && why != "":
		d.refuse(reconcile.Remove, "suspend user "+name, "user "+a.login+" (suspended)", why)
	case u.State == suspended && a.active:
		d.add(reconcile.Remove, "suspend user "+name, "user "+a.login+" (suspended)", deed{Do: editUser, Account: a.id, Login: a.login, Set: map[string]string{"state": suspended}}, who.doubt)
	case u.State == deleted && why != "":
		d.refuse(reconcile.Remove, "delete user "+name, "user "+a.login, why)
	case u.State == deleted && a.active:
		d.refuse(reconcile.Remove, "delete user "+name, "user "+a.login, "it is active; write state: suspended first, and state: deleted when nobody has missed it")
	case u.State == deleted:
		d.add(reconcile.Remove, "delete user "+name, "user "+a.login, deed{Do: deleteUser, Account: a.id, Login: a.login},
			fmt.Sprintf("%s, for good", strings.TrimPrefix(who.doubt+"; the account and what is its own goes", "; ")))
	}
}
