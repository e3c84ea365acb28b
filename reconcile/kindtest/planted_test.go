package kindtest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
)

// A recorder takes the failures of a check instead of failing itself.
type recorder struct {
	testing.TB
	told []string
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return len(r.told) > 0 }
func (r *recorder) Errorf(format string, args ...any) {
	r.told = append(r.told, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

type roster = kindtest.Roster

// A spoilt kind does one thing wrong.
type spoilt struct {
	kindtest.OrgKind
	observe  func(kindtest.OrgKind) (roster, error)
	plan     func(reconcile.Plan) reconcile.Plan
	apply    func(kindtest.OrgKind, reconcile.Change) error
	happened func() (bool, error)
}

func (k spoilt) Observe(ctx context.Context, in plan.Input) (roster, error) {
	if k.observe != nil {
		return k.observe(k.OrgKind)
	}
	return k.OrgKind.Observe(ctx, in)
}

func (k spoilt) Plan(in plan.Input, seen roster) (reconcile.Plan, error) {
	p, err := k.OrgKind.Plan(in, seen)
	if k.plan != nil {
		p = k.plan(p)
	}
	return p, err
}

func (k spoilt) Apply(ctx context.Context, in plan.Input, seen roster, c reconcile.Change) error {
	if k.apply != nil {
		return k.apply(k.OrgKind, c)
	}
	return k.OrgKind.Apply(ctx, in, seen, c)
}

func (k spoilt) Happened(ctx context.Context, in plan.Input, seen roster, c reconcile.Change) (bool, error) {
	if k.happened != nil {
		return k.happened()
	}
	return k.OrgKind.Happened(ctx, in, seen, c)
}

// planted are kinds that do one thing wrong, and the check that has to say so.
var planted = []struct {
	wrong  string
	check  string
	words  string
	spoilt spoilt
}{
	{"it writes as it observes", "a dry run writes nothing", "wrote 2 times", spoilt{observe: func(k kindtest.OrgKind) (roster, error) {
		_ = k.Org.Write("role", "cy", "member")
		return k.Org.Read()
	}}},
	{"it writes twice after one look", "one tick makes it true", "2 external writes after a look", spoilt{apply: func(k kindtest.OrgKind, c reconcile.Change) error {
		_ = k.Org.Write("role", "cy", "member")
		return k.Apply(context.Background(), plan.Input{}, roster{}, c)
	}}},
	{"it is never content", "a second tick does nothing", "is still wanted", spoilt{plan: func(p reconcile.Plan) reconcile.Plan {
		return append(p, reconcile.Change{ID: "role cy", Op: reconcile.Update, Text: "member cy as member", Data: "member"})
	}}},
	{"it does not know what happened", "killed at any call", "was done 2 times", spoilt{happened: func() (bool, error) { return false, nil }}},
	{"it takes the dark for emptiness", "what cannot be read is not empty", "unreadable", spoilt{observe: func(k kindtest.OrgKind) (roster, error) {
		seen, _ := k.Org.Read()
		return seen, nil
	}}},
	{"it hides its removals", "removals wait on the first run", "removals have to wait", spoilt{plan: func(p reconcile.Plan) reconcile.Plan {
		for i := range p {
			p[i].Op = reconcile.Update
		}
		return p
	}}},
	{"it swallows failures", "one tick makes it true", "is still wanted", spoilt{apply: func(kindtest.OrgKind, reconcile.Change) error { return nil }}},
	{"it plans in stages", "one tick makes it true", "and not", spoilt{plan: func(p reconcile.Plan) reconcile.Plan { return p[:min(1, len(p))] }}},
}

func TestSuiteFindsWhatIsWrong(t *testing.T) {
	for _, row := range planted {
		t.Run(row.wrong, func(t *testing.T) {
			checks := kindtest.Checks(stand(func(k kindtest.OrgKind) plan.Kind[roster] {
				row.spoilt.OrgKind = k
				return row.spoilt
			}))
			i := slices.IndexFunc(checks, func(c kindtest.Check) bool { return c.Name == row.check })
			r := &recorder{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				checks[i].Run(r)
			}()
			<-done
			if !strings.Contains(strings.Join(r.told, "\n"), row.words) {
				t.Errorf("%q says %q, want a complaint with %q", row.check, r.told, row.words)
			}
		})
	}
}
