package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/node"
)

func TestEnrolment(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a", "zone=eu", "gpu", "gpu")
	n := h.node("host-a")
	if !slices.Equal(n.Labels, []string{"gpu", "zone=eu"}) || n.Present || n.Enrolled.IsZero() {
		t.Errorf("enrolled as %+v", n)
	}
	info, err := os.Stat(filepath.Join(string(f), "node.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the identity: %v %v", info, err)
	}
	if name, err := f.Name(); name != "host-a" || err != nil {
		t.Errorf("it takes itself for %q, %v", name, err)
	}
	h.begin(f).Close()
	again := h.enrol(f, node.Enrolment{Name: "host-a"}) // the same node
	if string(again.Key) != string(n.Key) || !slices.Equal(again.Labels, n.Labels) {
		t.Errorf("enrolled again as %+v", again)
	}
	if more := h.enrol(f, node.Enrolment{Name: "host-a", Labels: []string{}}); len(more.Labels) > 0 {
		t.Errorf("labels were to go: %q", more.Labels)
	}
	h.begin(f)
	if n := h.node("host-a"); !n.Present || n.Meets([]string{"gpu"}) || !n.Meets(nil) {
		t.Errorf("after all that: %+v", n)
	}
}

// TestTwoEnrolments: a host is one node at a time.
func TestTwoEnrolments(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := h.host("host-a")
	if _, err := f.Enrol(t.Context(), h, node.Enrolment{Name: "host-b"}); !errors.Is(err, node.ErrPresent) {
		t.Errorf("a second name: %v", err)
	}
	if err := node.Remove(t.Context(), h, "host-a", false); err != nil {
		t.Fatal(err)
	}
	h.refused(f, node.ErrNotEnrolled)
	h.enrol(f, node.Enrolment{Name: "host-b"})
	h.begin(f)
}

// TestEnrolmentAfterTheFolderIsLost: who lost the key of a name does not get it by asking, and there is never a second owner of
// it (TRG-24).
func TestEnrolmentAfterTheFolderIsLost(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	former := h.host("host-a", "zone=eu")
	working := h.begin(former)
	anew := node.Folder(t.TempDir())
	_, err := anew.Enrol(t.Context(), h, node.Enrolment{Name: "host-a"})
	if taken, is := errors.AsType[*node.TakenError](err); !is || taken.Node.Name != "host-a" {
		t.Fatalf("enrolled over another's key: %v", err)
	}
	if _, err := anew.Name(); !errors.Is(err, node.ErrNotEnrolled) {
		t.Errorf("a refused enrolment has left an identity: %v", err)
	}
	before := h.fenced("host-a")
	n := h.enrol(anew, node.Enrolment{Name: "host-a", Replace: true})
	if !slices.Equal(n.Labels, []string{"zone=eu"}) {
		t.Errorf("its labels are %q", n.Labels)
	}
	if h.fenced("host-a") != before {
		t.Error("what the former one holds is given back under its hands")
	}
	if _, err := working.Takes(t.Context()); !errors.Is(err, node.ErrElsewhere) {
		t.Errorf("the former one still takes targets: %v", err)
	}
	working.Close()
	h.refused(former, node.ErrElsewhere)
	h.begin(anew)
	if nodes, err := node.List(t.Context(), h); err != nil || len(nodes) != 1 {
		t.Errorf("there are %d nodes, %v", len(nodes), err)
	}
}

// TestEnrolmentInALostLedger: one that was made anew begins above the numbers of the one that was lost.
func TestEnrolmentInALostLedger(t *testing.T) {
	t.Parallel()
	lost, anew := newHall(t), newHall(t)
	f := lost.host("host-a")
	lost.begin(f).Close()
	if n := anew.enrol(f, node.Enrolment{Name: "host-a"}); !n.Lost || anew.leaps != 1 {
		t.Errorf("enrolled as %+v, after %d leaps", n, anew.leaps)
	}
	if n := anew.enrol(f, node.Enrolment{Name: "host-a"}); n.Lost || anew.leaps != 1 {
		t.Errorf("enrolled again as %+v, after %d leaps", n, anew.leaps)
	}
	anew.begin(f)
	if _, err := node.Folder(t.TempDir()).Enrol(t.Context(), anew, node.Enrolment{Name: "HOST-A"}); !errors.Is(err, node.ErrAlike) {
		t.Errorf("enrolled as host-a and HOST-A: %v", err)
	}
	if err := anew.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"command:x"}}}}); err != nil {
		t.Fatal(err)
	}
	if err := node.Remove(t.Context(), anew, "host-a", true); err != nil {
		t.Fatal(err)
	}
	if n := anew.enrol(f, node.Enrolment{Name: "host-a"}); n.Lost || anew.leaps != 1 {
		t.Errorf("enrolled after its removal as %+v, after %d leaps", n, anew.leaps)
	}
}

func TestRemoval(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.host("host-ab")
	s := h.begin(h.host("host-a"))
	own := reconcile.Write{Family: "claim", Key: node.Owner("host-a", "/state"), Value: []byte(`{"epoch":"A","n":1}`)}
	asked := reconcile.Ask{Targets: []reconcile.Key{"command:x"}, Claim: &reconcile.Claim{Epoch: "A", N: 1}}
	other := reconcile.Write{Family: "claim", Key: node.Owner("host-ab", "/state"), Value: []byte("{}")}
	if err := h.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{asked}, Records: []reconcile.Write{own, other}}); err != nil {
		t.Fatal(err)
	}
	if err := node.Remove(t.Context(), h, "host-a", false); !errors.Is(err, node.ErrPresent) {
		t.Errorf("removed while it takes targets: %v", err)
	}
	if _, err := node.Drain(t.Context(), h, "host-a", true); err != nil {
		t.Fatal(err)
	}
	if err := node.Remove(t.Context(), h, "host-a", false); err != nil {
		t.Fatal(err)
	}
	left, err := h.Records(t.Context(), "claim", "")
	if err != nil || len(left) != 1 || left[0].Key != other.Key {
		t.Errorf("of the claims on record are left: %v %v", left, err)
	}
	standings, err := h.Standings(t.Context())
	if err != nil || len(standings) != 1 || !standings[0].Owed() || len(standings[0].Claims) > 0 {
		t.Errorf("of what its trigger asked is known: %+v, %v", standings, err)
	}
	if _, err := s.Takes(t.Context()); !errors.Is(err, node.ErrNotEnrolled) {
		t.Errorf("a removed node takes targets: %v", err)
	}
	if err := node.Remove(t.Context(), h, "host-a", true); !errors.Is(err, node.ErrNone) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestVet(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	for _, name := range []string{"", "-a", "a b", "a\nb", "a/b"} {
		if _, err := node.Folder(t.TempDir()).Enrol(t.Context(), h, node.Enrolment{Name: name}); err == nil {
			t.Errorf("enrolled as %q", name)
		}
	}
	if node.Vet("host-a.example.org", []string{"zone=eu/1"}) != nil || node.Vet("a", []string{"zone eu"}) == nil {
		t.Error("labels are taken for what they are not")
	}
}

// TestDamagedRecord: a record that nobody can read hides no other node, and is removed or replaced like any.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.host("host-a")
	former := h.host("host-z")
	damage := func() {
		t.Helper()
		if _, err := node.Drain(t.Context(), h, "host-z", false); err != nil {
			t.Fatal(err)
		}
		found, err := h.Records(t.Context(), reconcile.NodeFamily, "host-z")
		if err != nil {
			t.Fatal(err)
		}
		w := reconcile.Write{Family: reconcile.NodeFamily, Key: "host-z", Revision: found[0].Revision, Value: []byte("{")}
		if err := h.Commit(t.Context(), reconcile.Batch{Records: []reconcile.Write{w}}); err != nil {
			t.Fatal(err)
		}
	}
	damage()
	if n := h.node("host-z"); !errors.Is(n.Damage, node.ErrDamaged) || n.Takes() || h.node("host-a").Damage != nil {
		t.Errorf("listed as %+v", n)
	}
	h.refused(former, node.ErrDamaged)
	if _, err := former.Enrol(t.Context(), h, node.Enrolment{Name: "host-z"}); !errors.Is(err, node.ErrDamaged) {
		t.Errorf("enrolled over it: %v", err)
	}
	h.enrol(former, node.Enrolment{Name: "host-z", Replace: true})
	h.begin(former).Close()
	damage()
	if err := node.Remove(t.Context(), h, "host-z", true); err != nil {
		t.Fatal(err)
	}
	if nodes, err := node.List(t.Context(), h); err != nil || len(nodes) != 1 {
		t.Errorf("left are %v, %v", nodes, err)
	}
}

// TestAnew: what else tells a host apart is made new when its folder becomes another node's, and at no other time.
func TestAnew(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	f := node.Folder(t.TempDir())
	times := 0
	e := node.Enrolment{Name: "host-a", Anew: func() error { times++; return nil }}
	for i, want := range []int{1, 1, 2} {
		e.Replace = i == 2
		if h.enrol(f, e); times != want {
			t.Errorf("enrolment %d: made new %d times, want %d", i, times, want)
		}
	}
}
