package reconcile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Key names a target: "kind:name". It is also the name of a request in the spool and the first scope of the target.
type Key string

var keys = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}:[A-Za-z0-9][A-Za-z0-9._@-]{0,149}$`)

// ParseKey checks a key that comes from outside.
func ParseKey(s string) (Key, error) {
	if !keys.MatchString(s) {
		return "", fmt.Errorf("target %q: want KIND:NAME, a kind in small letters and a name of letters, digits and ._@-", s)
	}
	return Key(s), nil
}

// Kind is what stands before the colon.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(string(k), ":")
	return kind
}

// Name is what stands after the colon.
func (k Key) Name() string {
	_, name, _ := strings.Cut(string(k), ":")
	return name
}

// A Target is one thing that is kept true.
type Target struct {
	Key     Key
	Scopes  []Scope       // what a tick holds besides the target itself
	Timeout time.Duration // how long a tick may take; none when zero
	// Fingerprint changes when what is wanted of the target does. A sweep ticks a target whose fingerprint is not the
	// one of its last tick, asked for or not.
	Fingerprint string
}

// A Scope is a key that at most one lease holds at any time. Scopes are compared letter by letter and mean nothing to
// trueup.
type Scope string

// Holds are all the scopes of the target, its own first, none twice.
func (t Target) Holds() []Scope {
	holds := []Scope{Scope(t.Key)}
	seen := map[Scope]bool{holds[0]: true}
	for _, s := range t.Scopes {
		if !seen[s] {
			seen[s] = true
			holds = append(holds, s)
		}
	}
	return holds
}

// excludes tells whether the two cannot be ticked at the same time.
func (t Target) excludes(other Target) bool {
	holds := t.Holds()
	return slices.ContainsFunc(other.Holds(), func(s Scope) bool { return slices.Contains(holds, s) })
}
