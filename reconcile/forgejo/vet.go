package forgejo

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A form is what names of a sort look like: letters, digits and ._- up to a length.
type form struct {
	most int
	dot  bool // it may begin with one of ._- too
}

var (
	logins   = form{most: 40}
	repoName = form{most: 100, dot: true}
	teamName = form{most: 255}
)

func (f form) fits(name string) bool {
	for i, r := range []byte(name) {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (r != '.' && r != '_' && r != '-' || i == 0 && !f.dot) {
			return false
		}
	}
	return name != "" && len(name) <= f.most
}

// owners is the team that every organisation has.
const owners = "owners"

// fold is a name as it is compared.
func fold(name string) string { return strings.ToLower(name) }

// A vetting gathers what is wrong with a document. Each error begins with the place that it is about.
type vetting struct {
	wrong []error
	seen  map[string]string // what must not stand twice, and where it stands
}

func (v *vetting) fault(at, format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Errorf("%s "+format, append([]any{at}, args...)...))
}

// once refuses what stands twice, whatever the case of its letters.
func (v *vetting) once(at, what, name string) {
	key := what + " " + fold(name)
	if first, twice := v.seen[key]; twice {
		v.fault(at, "%s %q stands twice, first in %s; case makes no difference", what, name, first)
		return
	}
	v.seen[key] = at
}

func (v *vetting) like(at, name string, f form) {
	if !f.fits(name) {
		v.fault(at, "%q is no name that the server takes", name)
	}
}

func (v *vetting) oneOf(at, value string, of ...string) {
	if value != "" && !slices.Contains(of, value) {
		v.fault(at, "is %q; want one of %s", value, strings.Join(of, ", "))
	}
}

// Validate says everything that is wrong with the document, each with its place.
func (d *Document) Validate() error {
	v := &vetting{seen: map[string]string{}}
	for i, u := range d.Users {
		v.user(fmt.Sprintf("users[%d]", i), u)
	}
	for i, o := range d.Orgs {
		v.org(fmt.Sprintf("orgs[%d]", i), o)
	}
	for i, r := range d.Repositories {
		v.repository(fmt.Sprintf("repositories[%d]", i), r)
	}
	return errors.Join(v.wrong...)
}

func (v *vetting) user(at string, u User) {
	v.like(at+".login", u.Login, logins)
	v.once(at+".login", "name", u.Login)
	if u.Previously != "" {
		v.like(at+".previously", u.Previously, logins)
		v.once(at+".previously", "name", u.Previously)
	}
	if u.ID != 0 {
		v.once(at+".id", "id", fmt.Sprint(u.ID))
	}
	switch {
	case u.Email == "" && u.ID == 0:
		v.fault(at+".login", "%s has neither id nor email: a login can change hands, so it is no identity", u.Login)
	case u.Email != "" && !address(u.Email):
		v.fault(at+".email", "%q is no address", u.Email)
	case u.Email != "":
		v.once(at+".email", "e-mail", u.Email)
	}
	v.oneOf(at+".state", u.State, active, suspended, deleted)
	for i, key := range u.SSHKeys {
		at := fmt.Sprintf("%s.ssh_keys[%d]", at, i)
		if body, ok := keyBody(key); !ok {
			v.fault(at, "is no public key in the form of authorized_keys")
		} else if first, twice := v.seen["key "+body]; twice { // its case matters
			v.fault(at, "is the key of %s; the server takes a key only once", first)
		} else {
			v.seen["key "+body] = at
		}
	}
}

// address tells whether a text looks like an e-mail address.
func address(text string) bool {
	return strings.Count(text, "@") == 1 && !strings.ContainsAny(text, " \t<>,;")
}

// keyBody is a public key without its comment, which is how keys are compared.
func keyBody(line string) (body string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.ContainsAny(line, "\r\n") {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(fields[1])
	form := strings.HasPrefix(fields[0], "ssh-") || strings.HasPrefix(fields[0], "ecdsa-") || strings.HasPrefix(fields[0], "sk-")
	return fields[0] + " " + fields[1], form && err == nil && len(data) > 0
}

func (v *vetting) org(at string, o Org) {
	v.like(at+".name", o.Name, logins)
	v.once(at+".name", "name", o.Name)
	v.oneOf(at+".visibility", o.Visibility, "public", "limited", "private")
	for i, t := range o.Teams {
		v.team(fmt.Sprintf("%s.teams[%d]", at, i), o, t)
	}
}

func (v *vetting) team(at string, o Org, t Team) {
	v.like(at+".name", t.Name, teamName)
	v.once(at+".name", "team of "+fold(o.Name), t.Name)
	if t.Previously != "" {
		v.like(at+".previously", t.Previously, teamName)
		v.once(at+".previously", "team of "+fold(o.Name), t.Previously)
	}
	v.oneOf(at+".permission", t.Permission, "read", "write", "admin")
	for _, unit := range slices.Sorted(maps.Keys(t.Units)) {
		access := t.Units[unit]
		v.oneOf(at+".units."+unit, access, "none", "read", "write")
		if !strings.HasPrefix(unit, "repo.") {
			v.fault(at+".units."+unit, "is no unit; they are called repo.code, repo.issues and so on")
		}
	}
	if t.Units != nil && len(granted(t.Units)) == 0 {
		v.fault(at+".units", "gives no right in any unit; leave the key out, or name a unit")
	}
	if t.Permission != "" && t.Units != nil {
		v.fault(at+".units", "stands beside permission; keep one of them")
	}
	if fold(t.Name) == owners {
		if t.Permission != "" || t.Units != nil || t.AllRepositories != nil || t.Repositories != nil || t.Previously != "" {
			v.fault(at+".name", "%s has every right to every repository; give only members and description", t.Name)
		}
		if t.Members != nil && len(t.Members) == 0 {
			v.fault(at+".members", "is empty, and an organisation has at least one owner")
		}
	}
	for i, m := range t.Members {
		at := fmt.Sprintf("%s.members[%d]", at, i)
		v.like(at, m, logins)
		v.once(at, "member of "+fold(o.Name)+"/"+fold(t.Name), m)
	}
	for i, r := range t.Repositories {
		at := fmt.Sprintf("%s.repositories[%d]", at, i)
		v.like(at, r, repoName)
		v.once(at, "repository of "+fold(o.Name)+"/"+fold(t.Name), r)
	}
}

func (v *vetting) repository(at string, r Repository) {
	owner, name, cut := strings.Cut(r.Name, "/")
	if !cut || !logins.fits(owner) || !repoName.fits(name) {
		v.fault(at+".name", "%q is not of the form owner/name", r.Name)
	}
	v.once(at+".name", "repository", r.Name)
	if r.Previously != "" {
		v.like(at+".previously", r.Previously, repoName)
		v.once(at+".previously", "repository", owner+"/"+r.Previously)
	}
	v.oneOf(at+".state", r.State, active, archived, deleted)
	for _, login := range slices.Sorted(maps.Keys(r.Collaborators)) {
		access := r.Collaborators[login]
		v.like(at+".collaborators."+login, login, logins)
		v.once(at+".collaborators."+login, "collaborator of "+fold(r.Name), login)
		v.oneOf(at+".collaborators."+login, access, "read", "write", "admin")
	}
	if r.Import == nil {
		return
	}
	switch wrong := source(r.Import.URL); {
	case wrong != "":
		v.fault(at+".import.url", "%s", wrong)
	case r.Import.Interval != "" && !r.Import.Mirror:
		v.fault(at+".import.interval", "is about a mirror, and this is none")
	}
}

// source tells what is wrong with an address to import from.
func source(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"https", "http", "git"}, u.Scheme):
		return "is no https, http or git address"
	case u.User != nil:
		return "has a user in it: a document is no place for a secret"
	}
	return ""
}
