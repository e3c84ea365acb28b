package node

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
)

// An Enrolment is what a host wants to be.
type Enrolment struct {
	Name    string
	Version string   // of trueup
	Labels  []string // nil keeps those that it has
	Replace bool     // what has the name is replaced, whoever has its key
	// Anew makes new what else tells the host apart, as it becomes another node than its folder was of; nil where there is nothing.
	Anew func() error
}

func (e Enrolment) anew() error {
	if e.Anew == nil {
		return nil
	}
	return e.Anew()
}

// Enrol makes the host a node of the ledger. Again, it changes the labels and is the same node: the key stays. A *TakenError
// says that the name is that of another key: of another host, or of this one before its folder was lost. Who replaces it
// shuts it out: it can begin no session and take no target any more. What it holds it may end; else that lapses.
func (f Folder) Enrol(ctx context.Context, l Ledger, e Enrolment) (Node, error) {
	if err := Vet(e.Name, e.Labels); err != nil {
		return Node{}, err
	}
	done, err := f.order(ctx)
	if err != nil {
		return Node{}, err
	}
	defer done()
	i, err := f.claim(ctx, l, e)
	if err != nil {
		return Node{}, err
	}
	lost, err := isLost(ctx, l, i, e.Name)
	if err == nil && lost {
		err = leap(ctx, l)
	}
	for err == nil {
		var n Node
		if n, err = f.enrol(ctx, l, &i, e); !errors.Is(err, reconcile.ErrConflict) {
			n.Lost = lost
			return n, err
		}
		err = nil
	}
	return Node{}, err
}

// isLost tells whether the ledger is a new one, in place of one in which the host was a node. It refuses a name that differs
// from another node's in the case of its letters only.
func isLost(ctx context.Context, l Ledger, i identity, name string) (bool, error) {
	nodes, err := l.Records(ctx, reconcile.NodeFamily, "")
	if err != nil {
		return false, fmt.Errorf("reading the nodes: %w", err)
	}
	for _, n := range nodes {
		if n.Key != name && strings.EqualFold(n.Key, name) {
			return false, fmt.Errorf("the name %s is too like %s: %w", name, n.Key, ErrAlike)
		}
	}
	if len(nodes) > 0 || i.Session.N == 0 {
		return false, nil
	}
	known, err := l.Standings(ctx, "")
	return len(known) == 0, err
}

// claim is the identity to enrol: the one that the host has, or a new one.
func (f Folder) claim(ctx context.Context, l Ledger, e Enrolment) (identity, error) {
	i, err := f.read()
	switch {
	case e.Replace || errors.Is(err, ErrNotEnrolled):
		return newIdentity(e.Name), nil
	case err != nil || i.Name == e.Name:
		return i, err
	}
	before, err := find(ctx, l, i.Name)
	if errors.Is(err, ErrNone) {
		return newIdentity(e.Name), nil // it was removed
	}
	if err == nil && i.owns(before) {
		err = fmt.Errorf("this host is enrolled as %s: %w", i.Name, ErrPresent)
	}
	return i, err
}

// enrol writes the record. The folder has the identity before the ledger does: a kill between leaves nobody with a name and no key.
func (f Folder) enrol(ctx context.Context, l Ledger, i *identity, e Enrolment) (Node, error) {
	n, err := find(ctx, l, e.Name)
	isNew := errors.Is(err, ErrNone)
	if errors.Is(err, ErrDamaged) && e.Replace {
		n, err = Node{Name: e.Name, revision: n.revision}, nil
	}
	if err != nil && !isNew {
		return n, err
	}
	replaces := !isNew && !i.owns(n)
	switch {
	case replaces && !e.Replace:
		return n, &TakenError{n}
	case isNew:
		n = Node{Name: e.Name, Enrolled: time.Now().UTC().Truncate(time.Second)}
	case replaces:
		n.Enrolled, n.Draining = time.Now().UTC().Truncate(time.Second), false
	}
	if e.Labels != nil {
		n.Labels = slices.Compact(slices.Sorted(slices.Values(e.Labels)))
	}
	n.Version = e.Version
	if isNew || replaces {
		if err := e.anew(); err != nil {
			return n, err
		}
		n.Session = after(n.Session, i.Session)
		i.Next = n.Session
		if err := f.write(*i); err != nil {
			return n, err
		}
	}
	n.sign(i.key())
	if err := l.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{n.write()}}); err != nil {
		return n, fmt.Errorf("enrolling %s: %w", e.Name, err)
	}
	if isNew || replaces {
		i.Session = i.Next
		err = f.write(*i)
	}
	return n, err
}

// after is a session that follows both.
func after(a, b mark) mark { return mark{max(a.N, b.N) + 1, rand.Text()} }

// Drain says that a node finishes what it holds and takes nothing, or that it takes targets again.
func Drain(ctx context.Context, l Ledger, name string, drains bool) (Node, error) {
	return change(ctx, l, name, func(n *Node) error {
		n.Draining = drains
		return nil
	})
}

// Remove forgets a node, and with it which claims of its triggers are on record and what it had declared. ErrPresent when it
// may still take targets: it is drained first, or forced.
func Remove(ctx context.Context, l Ledger, name string, force bool) error {
	nodes, err := List(ctx, l)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == name })
	switch {
	case at < 0:
		return fmt.Errorf("removing node %s: %w", name, ErrNone)
	case nodes[at].Takes() && !force:
		return fmt.Errorf("removing node %s: %w", name, ErrPresent)
	}
	b := reconcile.Batch{Records: []reconcile.Write{{Family: reconcile.NodeFamily, Key: name, Revision: nodes[at].revision}}}
	owned := map[string]string{reconcile.SeenFamily: name}
	for _, family := range reconcile.OwnedFamilies() {
		owned[family] = Owner(name, "")
	}
	for family, prefix := range owned {
		found, err := l.Records(ctx, family, prefix)
		if err != nil {
			return fmt.Errorf("removing node %s: %w", name, err)
		}
		for _, r := range found {
			if family == reconcile.SeenFamily && r.Key != name {
				continue
			}
			b.Records = append(b.Records, reconcile.Write{Family: family, Key: r.Key, Revision: r.Revision})
			var claim reconcile.Claim // what else it may be has no epoch
			if json.Unmarshal(r.Value, &claim) == nil && claim.Epoch != "" {
				b.Gone = append(b.Gone, claim.Epoch)
			}
		}
	}
	if err := l.Commit(ctx, b); err != nil {
		return fmt.Errorf("removing node %s: %w", name, err)
	}
	return nil
}

// Owner is what a reconciler on a node is called among those that share the ledger, see reconcile.Reconciler: hosts have
// their state in folders of the same name.
func Owner(node, state string) string { return node + " " + state }
