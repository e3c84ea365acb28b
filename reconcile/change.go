package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// An Op is what a change does, in the sign that people read.
type Op string

// The operations.
const (
	Create  Op = "+"
	Update  Op = "~"
	Remove  Op = "-"
	Unknown Op = "?" // could not be read, so nothing is done about it
)

// A Change is one external write that a tick would do.
type Change struct {
	ID   string `json:"id"` // names the change within its target, the same in every plan that wants it
	Op   Op     `json:"op"`
	Text string `json:"text"`           // what people read: "team acme/devs (+ada)"
	Data string `json:"data,omitempty"` // what the kind needs to do it; no secrets
	// Once marks a change that is not idempotent, such as an invitation. Its intent is recorded before it is done, and
	// a tick that finds an intent without an outcome asks the outside before it repeats anything.
	Once bool `json:"once,omitempty"`
	// Confirm marks a change too dangerous to be done without a person's approval, whatever the breaker's bounds.
	Confirm bool `json:"confirm,omitempty"`
}

// A Plan is what a tick would do, in the order in which it would: removals last.
type Plan []Change

// Sorted is the plan in the order of its execution. Within an operation the kind's own order stays.
func (p Plan) Sorted() Plan {
	order := map[Op]int{Unknown: 0, Create: 1, Update: 2, Remove: 3}
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b Change) int { return order[a.Op] - order[b.Op] })
	return sorted
}

// Removals are the plan's removals.
func (p Plan) Removals() Plan {
	return slices.DeleteFunc(slices.Clone(p), func(c Change) bool { return c.Op != Remove })
}

// Digest names a set of changes whatever their order: an approval is bound to it.
func (p Plan) Digest() string {
	ordered := slices.Clone(p)
	slices.SortFunc(ordered, func(a, b Change) int { return strings.Compare(a.ID, b.ID) })
	encoded, _ := json.Marshal(ordered) // strings and booleans cannot fail to encode
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
