package forgejo

import (
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// A Document says what is wanted. What it leaves out is not managed: a field that is not given, and a list that is not given.
type Document struct {
	Users        []User       `yaml:"users,omitempty" doc:"accounts"`
	Orgs         []Org        `yaml:"orgs,omitempty" doc:"organisations"`
	Repositories []Repository `yaml:"repositories,omitempty" doc:"repositories"`
}

// A User is an account.
type User struct {
	Login      string `yaml:"login" required:"true" doc:"the name of the account"`
	ID         int64  `yaml:"id,omitempty" doc:"its number, which stays whatever it is called; trueup dump writes it"`
	Email      string `yaml:"email,omitempty" doc:"its primary address; required where there is no id"`
	FullName   *Text  `yaml:"full_name,omitempty" doc:"the person's name"`
	State      string `yaml:"state,omitempty" doc:"active, suspended (may not sign in) or deleted"`
	SSHKeys    List   `yaml:"ssh_keys,omitempty" doc:"all of its keys, in the form of authorized_keys"`
	Previously string `yaml:"previously,omitempty" doc:"the login that it is renamed from"`
}

// A Text is what people read, in one line or more.
type Text string

// MarshalYAML has a text of more than one line written in quotes: in YAML's other forms it is read back as another.
func (t Text) MarshalYAML() (any, error) {
	if strings.ContainsFunc(string(t), func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(t), Style: yaml.DoubleQuotedStyle}, nil
	}
	return string(t), nil
}

// A List is whole where it is given, also empty, and not managed where it is not.
type List []string

// IsZero tells whether the list is not given; an empty one is.
func (l List) IsZero() bool { return l == nil }

// Grants are rights by login, whole as a List is.
type Grants map[string]string

// IsZero tells whether none are given; an empty mapping is.
func (g Grants) IsZero() bool { return g == nil }

// The states of accounts and repositories.
const (
	active    = "active"
	suspended = "suspended"
	deleted   = "deleted"
	archived  = "archived"
)

// An Org is an organisation.
type Org struct {
	Name        string `yaml:"name" required:"true" doc:"the name of the organisation"`
	FullName    *Text  `yaml:"full_name,omitempty" doc:"its name for people"`
	Description *Text  `yaml:"description,omitempty" doc:"what it is about"`
	Visibility  string `yaml:"visibility,omitempty" doc:"public, limited or private"`
	Teams       []Team `yaml:"teams,omitempty" doc:"teams; one that is not here stays as it is"`
}

// A Team is a team of an organisation.
type Team struct {
	Name            string            `yaml:"name" required:"true" doc:"the name of the team; Owners is the one of the owners"`
	Previously      string            `yaml:"previously,omitempty" doc:"the name that it is renamed from"`
	Description     *Text             `yaml:"description,omitempty" doc:"what it is for"`
	Permission      string            `yaml:"permission,omitempty" doc:"read, write or admin, in every unit"`
	Units           map[string]string `yaml:"units,omitempty" doc:"in place of permission: none, read or write in each unit, such as repo.code"`
	AllRepositories *bool             `yaml:"all_repositories,omitempty" doc:"whether it has every repository of the organisation"`
	Members         List              `yaml:"members,omitempty" doc:"all of its members, by login"`
	Repositories    List              `yaml:"repositories,omitempty" doc:"all of its repositories, by name within the organisation"`
}

// A Repository is a repository of an account or an organisation.
type Repository struct {
	Name          string  `yaml:"name" required:"true" doc:"owner/name"`
	Previously    string  `yaml:"previously,omitempty" doc:"the name within the same owner that it is renamed from"`
	Description   *Text   `yaml:"description,omitempty" doc:"what it is about"`
	Private       *bool   `yaml:"private,omitempty" doc:"whether only who has a right sees it"`
	DefaultBranch string  `yaml:"default_branch,omitempty" doc:"the branch that is shown first; it has to be there"`
	State         string  `yaml:"state,omitempty" doc:"active, archived or deleted"`
	Import        *Import `yaml:"import,omitempty" doc:"where it comes from, when it is made"`
	Collaborators Grants  `yaml:"collaborators,omitempty" doc:"all of its direct collaborators, by login: read, write or admin"`
}

// An Import is where a repository comes from.
type Import struct {
	URL      string `yaml:"url" required:"true" doc:"the address that it is cloned from"`
	Mirror   bool   `yaml:"mirror,omitempty" doc:"whether it goes on following its source"`
	Interval string `yaml:"interval,omitempty" doc:"how often a mirror looks, such as 8h0m0s; the server's own interval without it"`
}
