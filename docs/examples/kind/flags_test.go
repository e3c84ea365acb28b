package flags

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"trueup/reconcile"
	"trueup/reconcile/config"
	"trueup/reconcile/kindtest"
	"trueup/reconcile/plan"
	"trueup/reconcile/policy"
)

// A service holds flags in memory.
type service struct {
	mu     sync.Mutex
	flags  map[string]string
	writes int
	dark   bool
	lose   string // the method whose next answer is lost
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/flags/")
	if r.Method != http.MethodGet {
		s.writes++
	}
	switch {
	case s.dark:
		w.WriteHeader(http.StatusInternalServerError)
	case r.Method == http.MethodPut:
		value, _ := io.ReadAll(r.Body)
		s.flags[name] = string(value)
	case r.Method == http.MethodDelete:
		delete(s.flags, name)
	default:
		_ = json.NewEncoder(w).Encode(s.flags) // a map of strings into a connection that the test holds
	}
	if s.lose == r.Method {
		s.lose = ""
		panic(http.ErrAbortHandler)
	}
}

func (s *service) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.flags)
}

// always is a policy that is always there.
type always string

func (p always) Read(context.Context, policy.Source, policy.Moment) (policy.Document, error) {
	return policy.Document{Data: []byte(p), Digest: "d"}, nil
}

const wanted = "flags: {beta: \"on\", colour: red}\n"

// stand stands up a service and a kind for it.
func stand(t testing.TB) (*service, func() plan.Kind[Seen]) {
	s := &service{flags: map[string]string{"colour": "blue", "old": "1"}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, func() plan.Kind[Seen] {
		k, err := New(Settings{URL: server.URL, Token: config.Secret{File: token}}, "policy.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
}

// TestSuite is what every kind must show.
func TestSuite(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, func(t testing.TB) kindtest.World[Seen] {
		s, kind := stand(t)
		return kindtest.World[Seen]{
			Target:  reconcile.Target{Key: "flags:web"},
			Kind:    kind,
			Reader:  func() plan.Reader { return always(wanted) },
			Options: plan.Options[Seen]{Policy: policy.Source{File: "/policy"}, Breaker: plan.Breaker{Removals: 2, Fraction: 1}},
			Writes:  func() int { s.mu.Lock(); defer s.mu.Unlock(); return s.writes },
			State:   s.state,
			Want:    "map[beta:on colour:red]",
			Dark:    func(dark bool) { s.mu.Lock(); defer s.mu.Unlock(); s.dark = dark },
		}
	})
}

// An answer that was lost is found out about.
func TestLostAnswer(t *testing.T) {
	s, kind := stand(t)
	in := plan.Input{Policy: policy.Document{Data: []byte(wanted)}, Log: func(string, string) {}}
	for op, method := range map[reconcile.Op]string{reconcile.Create: http.MethodPut, reconcile.Remove: http.MethodDelete} {
		s.lose = method
		c := reconcile.Change{ID: map[reconcile.Op]string{reconcile.Create: "beta", reconcile.Remove: "old"}[op], Op: op, Data: "on"}
		if err := kind().Apply(t.Context(), in, Seen{}, c); err != nil || s.lose != "" {
			t.Errorf("%s: %v", method, err)
		}
	}
	if got := s.state(); got != "map[beta:on colour:blue]" {
		t.Errorf("now it is %s", got)
	}
}

// The kind stays short enough to be read at once.
func TestShort(t *testing.T) {
	text, err := os.ReadFile("flags.go")
	if n := strings.Count(string(text), "\n"); err != nil || n >= 150 {
		t.Errorf("it has %d lines, %v", n, err)
	}
}
