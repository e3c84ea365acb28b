package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/node"
	"trueup/reconcile/postgres"
	"trueup/reconcile/postgres/pgtest"
)

// A process is one of a node, on a ledger that hosts share.
type process struct {
	*postgres.Store
	*node.Session
}

// start starts a process of the node that the folder is of.
func start(t *testing.T, url string, f node.Folder) process {
	t.Helper()
	incarnation, err := f.Incarnation()
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(incarnation, " ")
	p := process{Store: on(t, url, name, incarnation)}
	if p.Session, err = f.Begin(t.Context(), p.Store, "1.0", every); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Session.Close() })
	return p
}

func on(t *testing.T, url, name, incarnation string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{Holder: "sweep on " + name, Node: incarnation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func enrolled(t *testing.T, url string, e node.Enrolment) node.Folder {
	t.Helper()
	f := node.Folder(t.TempDir())
	if _, err := f.Enrol(t.Context(), on(t, url, e.Name, ""), e); err != nil {
		t.Fatal(err)
	}
	return f
}

// grant asks for a lease on a target.
func (p process) grant(t *testing.T, key reconcile.Key) reconcile.Answer {
	t.Helper()
	answers, err := p.Grant(t.Context(), []reconcile.Bid{{Target: key, Scopes: []reconcile.Scope{reconcile.Scope(key)}}}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return answers[0]
}

// TestDeadProcess: what it held is its node's to take at once, and not when the lease is over (PGL-12); until then, and beside a
// process that lives, it is nobody's (LCK-20).
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	a, b := enrolled(t, url, node.Enrolment{Name: "host-a"}), enrolled(t, url, node.Enrolment{Name: "host-b"})
	dead, other := start(t, url, a), start(t, url, b)
	held := dead.grant(t, "command:x")
	if held.Refused != nil {
		t.Fatal(held.Refused)
	}
	beside := start(t, url, a)
	for _, p := range []process{beside, other} {
		if p.grant(t, "command:x").Refused == nil {
			t.Fatal("granted twice")
		}
	}
	if err := dead.Check(t.Context(), held.Lease.Fence); err != nil {
		t.Errorf("beside others of its node: %v", err)
	}
	dead.Session.Close() // as the kernel does for who is killed; its store says nothing
	beside.Session.Close()
	next := start(t, url, a)
	again := next.grant(t, "command:x")
	if again.Refused != nil || again.Lease.Fence <= held.Lease.Fence {
		t.Errorf("after it died: %v, fence %d after %d", again.Refused, again.Lease.Fence, held.Lease.Fence)
	}
	if err := dead.Check(t.Context(), held.Lease.Fence); !errors.Is(err, reconcile.ErrLeaseLost) {
		t.Errorf("the dead one's lease: %v", err)
	}
}

// TestHeldElsewhere: who takes a name over, or has a copy of a folder, takes nothing that somebody is about to write under: the
// former one ends what it holds, or that lapses, and it takes nothing more (LCK-22, TRG-24).
func TestHeldElsewhere(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, url string, f node.Folder) node.Folder{
		"a copy": func(t *testing.T, _ string, f node.Folder) node.Folder { return copied(t, f) },
		"a new owner": func(t *testing.T, url string, _ node.Folder) node.Folder {
			return enrolled(t, url, node.Enrolment{Name: "host-a", Replace: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			folder := enrolled(t, url, node.Enrolment{Name: "host-a"})
			former := start(t, url, folder)
			held := former.grant(t, "command:x")
			second := take(t, url, folder)
			for range 2 {
				p := start(t, url, second)
				if p.grant(t, "command:x").Refused == nil {
					t.Error("granted while the former one holds it")
				}
				p.Session.Close()
			}
			if err := former.Check(t.Context(), held.Lease.Fence); err != nil {
				t.Errorf("the former one is cut off in mid-write: %v", err)
			}
			if _, err := former.Takes(t.Context()); !errors.Is(err, node.ErrElsewhere) {
				t.Errorf("the former one takes more: %v", err)
			}
			pgtest.Ahead(t, url, time.Hour+time.Second)
			if got := start(t, url, second).grant(t, "command:x"); got.Refused != nil {
				t.Errorf("refused when it has lapsed: %v", got.Refused)
			}
		})
	}
}
