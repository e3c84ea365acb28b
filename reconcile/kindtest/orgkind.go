package kindtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"trueup/reconcile"
	"trueup/reconcile/plan"
)

// OrgKind keeps an Org as its policy says: names with their roles, {"ada": "admin", "bob": "member"}.
type OrgKind struct{ Org *Org }

// Options are those of a target of this kind.
func (k OrgKind) Options() plan.Options[Roster] {
	return plan.Options[Roster]{Breaker: plan.DefaultBreaker(), Size: func(r Roster) int { return len(r.Members) + len(r.Invited) }}
}

// Observe reads the org.
func (k OrgKind) Observe(_ context.Context, _ plan.Input) (Roster, error) {
	roster, err := k.Org.Read()
	if err != nil {
		return roster, &reconcile.UnknownError{Err: err}
	}
	return roster, nil
}

// Plan compares. A role that nobody knows concerns one person, who stays unknown.
func (k OrgKind) Plan(in plan.Input, seen Roster) (p reconcile.Plan, err error) {
	wanted := map[string]string{}
	if err := json.Unmarshal(in.Policy.Data, &wanted); err != nil {
		return nil, &reconcile.UnknownError{Err: fmt.Errorf("reading the policy: %w", err)}
	}
	there := maps.Clone(seen.Members)
	maps.Copy(there, seen.Invited)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		role, is := there[name]
		change := reconcile.Change{Text: "member " + name + " as " + wanted[name], Data: wanted[name]}
		switch {
		case wanted[name] == "?":
			change.ID, change.Op = "see "+name, reconcile.Unknown
		case !is:
			change.ID, change.Op, change.Once = "invite "+name, reconcile.Create, true
		case role != wanted[name]:
			change.ID, change.Op, change.Confirm = "role "+name, reconcile.Update, wanted[name] == "owner"
		default:
			continue
		}
		p = append(p, change)
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if _, stays := wanted[name]; !stays {
			p = append(p, reconcile.Change{ID: "remove " + name, Op: reconcile.Remove, Text: "member " + name})
		}
	}
	return p, nil
}

// Apply does one change, by its name.
func (k OrgKind) Apply(_ context.Context, _ plan.Input, _ Roster, c reconcile.Change) error {
	verb, name, _ := strings.Cut(c.ID, " ")
	return k.Org.Write(verb, name, c.Data)
}

// Happened tells whether somebody was invited after all.
func (k OrgKind) Happened(_ context.Context, _ plan.Input, _ Roster, c reconcile.Change) (bool, error) {
	return k.Org.Knows(strings.TrimPrefix(c.ID, "invite "))
}
