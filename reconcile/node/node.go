package node

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trueup/reconcile"
)

// A Ledger is what nodes need of one.
type Ledger interface {
	Commit(ctx context.Context, b reconcile.Batch) error
	Records(ctx context.Context, family, prefix string) ([]reconcile.Record, error)
	// Supersede ends the leases that processes of the node's incarnation hold which began before this one, and says how many.
	Supersede(ctx context.Context, incarnation string) (ended int, err error)
	// Leap has numbers go on above every one that was drawn, and ends leases: the ledger is older than it was, or made anew.
	Leap(ctx context.Context) error
	Standings(ctx context.Context, epochs ...string) ([]reconcile.Standing, error)
}

// A Node is a host as the ledger has it.
type Node struct {
	Name     string    `json:"name"`
	Key      []byte    `json:"key"`              // its public key
	Labels   []string  `json:"labels,omitempty"` // sorted
	Version  string    `json:"version"`          // of trueup, at its last session
	Enrolled time.Time `json:"enrolled"`         // by the host's own clock
	Seen     time.Time `json:"seen"`             // by the store's clock while it is present, by its own afterwards
	Draining bool      `json:"draining,omitempty"`
	Session  mark      `json:"session"`
	Proof    []byte    `json:"proof"` // its signature: only who has the key can have opened the session

	Present  bool  `json:"-"` // it has not missed three sweeps
	Damage   error `json:"-"` // why nothing but the name can be read; it matches ErrDamaged
	Lost     bool  `json:"-"` // the ledger in which it was enrolled before is gone, and this is a new one
	revision int64
}

// A mark is a session: its number, and what only its host has made up.
type mark struct {
	N     uint64 `json:"n"`
	Nonce string `json:"nonce"`
}

// Vet refuses a name or labels that no node can have.
func Vet(name string, with []string) error {
	if !isName(name) {
		return fmt.Errorf("node %q: want a name of letters, digits and ._-", name)
	}
	for _, l := range with {
		if !reconcile.IsWord(l, "._/=-", 100) {
			return fmt.Errorf("label %q: want letters, digits and ._/=-", l)
		}
	}
	return nil
}

func isName(s string) bool { return reconcile.IsWord(s, "._-", 100) }

// Takes tells whether the node may be given targets.
func (n Node) Takes() bool { return n.Present && !n.Draining }

// Meets tells whether the node has every label that a target requires.
func (n Node) Meets(requires []string) bool { return meets(n.Labels, requires) }

func meets(have, requires []string) bool {
	return !slices.ContainsFunc(requires, func(l string) bool { return !slices.Contains(have, l) })
}

// proven is what the proof signs. A person's word that it drains is not in it.
func (n Node) proven() []byte {
	return []byte(strings.Join([]string{"trueup node", n.Name, strings.Join(n.Labels, " "), fmt.Sprint(n.Session.N), n.Session.Nonce}, "\n"))
}

// sign proves the node's record by its key.
func (n *Node) sign(key ed25519.PrivateKey) {
	n.Key = key.Public().(ed25519.PublicKey)
	n.Proof = ed25519.Sign(key, n.proven())
}

// signed tells whether who wrote the record had the key.
func (n Node) signed() bool {
	return len(n.Key) == ed25519.PublicKeySize && ed25519.Verify(n.Key, n.proven(), n.Proof)
}

// List lists the nodes by name. One whose record its own key has not signed is never present, nor is one of which nothing
// but the name can be read.
func List(ctx context.Context, l Ledger) ([]Node, error) {
	found, err := l.Records(ctx, reconcile.NodeFamily, "")
	if err != nil {
		return nil, fmt.Errorf("reading the nodes: %w", err)
	}
	seen, err := l.Records(ctx, reconcile.SeenFamily, "")
	if err != nil {
		return nil, fmt.Errorf("reading which nodes are present: %w", err)
	}
	present := map[string]reconcile.Record{}
	for _, r := range seen {
		present[r.Key] = r
	}
	nodes := make([]Node, 0, len(found))
	for _, r := range found {
		n, err := decode(r)
		if err != nil {
			n = Node{Name: r.Key, Damage: err, revision: r.Revision}
		}
		if s, is := present[n.Name]; is && n.signed() {
			n.Present = true
			n.Seen = seenAt(s)
		}
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}

// find reads a node's record; ErrNone when there is none.
func find(ctx context.Context, l Ledger, name string) (Node, error) {
	r, err := exactly(ctx, l, reconcile.NodeFamily, name)
	if err != nil {
		return Node{}, fmt.Errorf("reading node %s: %w", name, err)
	}
	return decode(r)
}

// exactly is the record with that key; ErrNone when there is none.
func exactly(ctx context.Context, l Ledger, family, key string) (reconcile.Record, error) {
	records, err := l.Records(ctx, family, key)
	if err != nil {
		return reconcile.Record{}, err
	}
	for _, r := range records {
		if r.Key == key {
			return r, nil
		}
	}
	return reconcile.Record{}, ErrNone
}

func decode(r reconcile.Record) (Node, error) {
	n := Node{revision: r.Revision}
	if err := json.Unmarshal(r.Value, &n); err != nil {
		return n, fmt.Errorf("reading node %s: %w: %w", r.Key, ErrDamaged, err)
	}
	if n.Name != r.Key {
		return n, fmt.Errorf("reading node %s: %w: it says %q", r.Key, ErrDamaged, n.Name)
	}
	return n, nil
}

// write is the write that puts the node's record where it was read.
func (n Node) write() reconcile.Write {
	value, _ := json.Marshal(n) // texts, numbers and times
	return reconcile.Write{Family: reconcile.NodeFamily, Key: n.Name, Revision: n.revision, Value: value}
}

// change reads a node and writes it back changed, whoever else does meanwhile.
func change(ctx context.Context, l Ledger, name string, do func(*Node) error) (Node, error) {
	for {
		n, err := find(ctx, l, name)
		if err != nil {
			return n, err
		}
		if err := do(&n); err != nil {
			return n, err
		}
		err = l.Commit(ctx, reconcile.Batch{Records: []reconcile.Write{n.write()}})
		if !errors.Is(err, reconcile.ErrConflict) {
			return n, err
		}
	}
}

// Errors of nodes.
var (
	// ErrNone means that the ledger has no node of that name.
	ErrNone = errors.New("no such node")
	// ErrNotEnrolled means that the host has no identity, or that its ledger does not know it.
	ErrNotEnrolled = errors.New("this host is not enrolled")
	// ErrElsewhere means that the host's identity was used by another host since, or replaced.
	ErrElsewhere = errors.New("its identity is used elsewhere, or was replaced")
	// ErrAlike means that another node's name differs in the case of its letters only.
	ErrAlike = errors.New("they differ in the case of letters only")
	// ErrDamaged means that a node's record cannot be read: it is removed, or replaced.
	ErrDamaged = errors.New("its record is damaged")
	// ErrPresent means that a node which is to be removed has not missed three sweeps and was not drained.
	ErrPresent = errors.New("it is present")
)

// A TakenError says that the name belongs to a node with another key.
type TakenError struct{ Node Node }

func (e *TakenError) Error() string {
	return fmt.Sprintf("the name %s belongs to another key, which was enrolled %s", e.Node.Name, e.Node.Enrolled.Format(time.RFC3339))
}
