package kindtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// An Org is an outside in memory: members with roles, and people who were invited and have not come yet. An invitation
// that is sent twice reaches a person twice, so inviting is not idempotent.
type Org struct {
	// Answer, when set, is asked about each write before it is done, by name: "invite ada", "role bob", "remove eve".
	// An error refuses the write.
	Answer func(write string) error
	// Deaf names writes that the org takes with thanks and ignores.
	Deaf map[string]bool
	// Late keeps an invitation out of the first list that is read after it, as outsides do whose lists are copies.
	Late bool

	mu      sync.Mutex
	members map[string]string
	invited map[string]string
	sent    map[string]int
	fresh   map[string]bool // invited since the last list
	writes  int
	dark    bool
}

// NewOrg is an org with members, by their names with their roles.
func NewOrg(members map[string]string) *Org {
	return &Org{members: maps.Clone(members), invited: map[string]string{}, sent: map[string]int{}, fresh: map[string]bool{}}
}

// Roster is what an org says of itself.
type Roster struct{ Members, Invited map[string]string }

var errDark = errors.New("503 service unavailable")

// Read lists who is there.
func (o *Org) Read() (Roster, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dark {
		return Roster{}, errDark
	}
	list := Roster{maps.Clone(o.members), maps.Clone(o.invited)}
	if o.Late {
		maps.DeleteFunc(list.Invited, func(name, _ string) bool { return o.fresh[name] })
	}
	clear(o.fresh)
	return list, nil
}

// Knows tells whether somebody is a member or invited. It is never late.
func (o *Org) Knows(name string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.dark {
		return false, errDark
	}
	return o.members[name] != "" || o.invited[name] != "", nil
}

// Write does one write: it invites a name to a role, gives a member another role, or removes a name.
func (o *Org) Write(verb, name, role string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes++
	if o.Answer != nil {
		if err := o.Answer(verb + " " + name); err != nil {
			return err
		}
	}
	if o.Deaf[verb+" "+name] {
		return nil
	}
	switch verb {
	case "invite":
		o.invited[name] = role
		o.sent[name]++
		o.fresh[name] = true
	case "role":
		o.members[name] = role
	case "remove":
		delete(o.members, name)
		delete(o.invited, name)
	}
	return nil
}

// Join lets people in as if somebody else had asked them.
func (o *Org) Join(role string, names ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range names {
		o.members[name] = role
	}
}

// Dark makes the org unreadable, and readable again.
func (o *Org) Dark(dark bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dark = dark
}

// Writes counts the writes that have arrived.
func (o *Org) Writes() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes
}

// State is who is there, with how often each was invited.
func (o *Org) State() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	for name, role := range o.members {
		lines = append(lines, name+" "+role)
	}
	for name, role := range o.invited {
		lines = append(lines, fmt.Sprintf("%s %s, invited ×%d", name, role, o.sent[name]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
