package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Key names a target: "kind:name". It is also the name of a request in the spool and the first scope of the target.
type Key string

// ParseKey checks a key that comes from outside.
func ParseKey(s string) (Key, error) {
	kind, name, cut := strings.Cut(s, ":")
	small := len(kind) > 0 && kind[0] >= 'a' && strings.ToLower(kind) == kind
	if !cut || !small || !IsWord(kind, "", 32) || !IsWord(name, "._@-", 150) {
		return "", fmt.Errorf("target %q: want KIND:NAME, a kind in small letters and a name of letters, digits and ._@-", s)
	}
	return Key(s), nil
}

// IsWord tells whether a text is letters and digits of ASCII and the given signs, begins with no sign, and has from 1 to most
// bytes. Names that come from outside are checked by it at each start, before which an expression would have to be compiled.
func IsWord(s, signs string, most int) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte(signs, c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= most
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
	// Requires are labels that a host must have to tick it.
	Requires []string
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

// Bounded does something about the target within its Timeout. Where the context has ended by then, the error says why.
func (t Target) Bounded(ctx context.Context, do func(context.Context) error) error {
	if t.Timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("not done within its timeout of %s", t.Timeout))
		defer cancel()
		ctx = limited
	}
	err := do(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
