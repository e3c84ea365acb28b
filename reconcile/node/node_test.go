package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/node"
	"trueup/reconcile/sqlite"
)

const every = 5 * time.Minute

// A hall is a ledger that hosts share, with a clock that moves on demand. What Supersede is told is kept, since the ledger
// beneath is one for processes of one host.
type hall struct {
	*sqlite.Store
	t *testing.T

	mu         sync.Mutex
	now        time.Time
	superseded []string
	leaps      int
}

func newHall(t *testing.T) *hall {
	h := &hall{t: t, now: time.Now()}
	var err error
	if h.Store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), sqlite.Options{Holder: "a test", Clock: h.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *hall) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hall) advance(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(by)
}

func (h *hall) Supersede(_ context.Context, node string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.superseded = append(h.superseded, node)
	return 0, nil
}

func (h *hall) Leap(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaps++
	return nil
}

// fenced is how often what the node held was given back.
func (h *hall) fenced(name string) (times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.superseded {
		if strings.HasPrefix(s, name+" ") {
			times++
		}
	}
	return times
}

// host is a new host's folder, enrolled under the name.
func (h *hall) host(name string, labels ...string) node.Folder {
	h.t.Helper()
	f := node.Folder(h.t.TempDir())
	h.enrol(f, node.Enrolment{Name: name, Labels: labels})
	return f
}

func (h *hall) enrol(f node.Folder, e node.Enrolment) node.Node {
	h.t.Helper()
	e.Version = "1.0"
	n, err := f.Enrol(h.t.Context(), h, e)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

func (h *hall) begin(f node.Folder) *node.Session {
	h.t.Helper()
	s, err := f.Begin(h.t.Context(), h, "1.0", every)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	return s
}

// refused begins a session in vain.
func (h *hall) refused(f node.Folder, want error) {
	h.t.Helper()
	s, err := f.Begin(h.t.Context(), h, "1.0", every)
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		h.t.Errorf("beginning a session: %v, want %v", err, want)
	}
}

func (h *hall) node(name string) node.Node {
	h.t.Helper()
	nodes, err := node.List(h.t.Context(), h)
	if err != nil {
		h.t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n node.Node) bool { return n.Name == name })
	if i < 0 {
		h.t.Fatalf("there is no node %s among %v", name, nodes)
	}
	return nodes[i]
}

func (h *hall) takes(s *node.Session) bool {
	h.t.Helper()
	takes, err := s.Takes(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return takes
}

func copied(t *testing.T, from node.Folder) node.Folder {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(string(from))); err != nil {
		t.Fatal(err)
	}
	return node.Folder(to)
}

// restore makes a record what it was, as a restored backup does.
func (h *hall) restore(r reconcile.Record) {
	h.t.Helper()
	found, err := h.Records(h.t.Context(), r.Family, r.Key)
	if err != nil || len(found) != 1 {
		h.t.Fatal(found, err)
	}
	w := reconcile.Write{Family: r.Family, Key: r.Key, Revision: found[0].Revision, Value: r.Value}
	if err := h.Commit(h.t.Context(), reconcile.Batch{Records: []reconcile.Write{w}}); err != nil {
		h.t.Fatal(err)
	}
}
