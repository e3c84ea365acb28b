package kindtest_test

import (
	"context"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// text is a policy that is always there.
type text string

func (p text) Read(context.Context, policy.Source, policy.Moment) (policy.Document, error) {
	return policy.Document{Data: []byte(p), Digest: "d"}, nil
}

// stand is an org with one change of each kind to be made, and a kind that a test may spoil.
func stand(spoil func(kindtest.OrgKind) plan.Kind[kindtest.Roster]) func(testing.TB) kindtest.World[kindtest.Roster] {
	return func(testing.TB) kindtest.World[kindtest.Roster] {
		org := kindtest.NewOrg(map[string]string{"bob": "admin", "cy": "member", "dan": "member", "eve": "member", "fay": "member"})
		org.Late = true
		kind := kindtest.OrgKind{Org: org}
		options := kind.Options()
		options.Policy = policy.Source{File: "/policy"}
		return kindtest.World[kindtest.Roster]{
			Target: reconcile.Target{Key: "org:acme"},
			Kind:   func() plan.Kind[kindtest.Roster] { return spoil(kind) },
			Reader: func() plan.Reader {
				return text(`{"ada": "admin", "bob": "member", "cy": "member", "dan": "member", "eve": "member"}`)
			},
			Options: options,
			Writes:  org.Writes,
			State:   org.State,
			Want:    "ada admin, invited ×1\nbob member\ncy member\ndan member\neve member",
			Dark:    org.Dark,
		}
	}
}

func asItIs(k kindtest.OrgKind) plan.Kind[kindtest.Roster] { return k }

func TestOrg(t *testing.T) { kindtest.Run(t, stand(asItIs)) }
