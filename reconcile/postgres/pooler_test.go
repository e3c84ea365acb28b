package postgres

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"trueup/reconcile"
	"trueup/reconcile/postgres/pgtest"
)

// pooled starts a pgbouncer in transaction mode before the server, with two connections to it, and returns the address of
// the schema through it.
func pooled(t *testing.T, schema string, settings ...string) string {
	t.Helper()
	server, dir := pgtest.Shared(t), t.TempDir()
	port := freePort(t)
	lines := append([]string{"[databases]",
		fmt.Sprintf("trueup = host=%s port=%d dbname=trueup connect_query='SET search_path = %s'", server.Socket(), server.Port(), schema),
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + port, "unix_socket_dir =", "pool_mode = transaction", "default_pool_size = 2",
		"auth_type = trust", "auth_file = " + filepath.Join(dir, "users")}, settings...)
	for name, text := range map[string]string{"users": `"trueup" ""` + "\n", "ini": strings.Join(lines, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{filepath.Join(dir, "ini")}
	if os.Getuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...) // it refuses to run as root
	}
	bouncer := exec.Command("/usr/sbin/pgbouncer", args...)
	bouncer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	bouncer.Stdout, bouncer.Stderr = &said, &said
	if err := bouncer.Start(); err != nil {
		t.Fatalf("apt-get install pgbouncer: %v", err)
	}
	t.Cleanup(func() {
		_ = bouncer.Process.Kill()
		_ = bouncer.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for late := time.Now().Add(20 * time.Second); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
			return "postgres://trueup@127.0.0.1:" + port + "/trueup?sslmode=disable"
		}
		if time.Now().After(late) {
			t.Fatalf("pgbouncer does not answer: %v", err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// TestPooler has several processes share the two connections of a pooler that gives each transaction whichever is free
// (PGL-04). Nothing that one of them leaves in a session may be in another's way.
func TestPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	url := pooled(t, pgtest.Schema(direct))
	f := &field{holder: map[reconcile.Scope]reconcile.Fence{}, last: map[reconcile.Scope]reconcile.Fence{}}
	var hosts sync.WaitGroup
	for n := range 3 {
		hosts.Go(func() {
			s, err := Open(t.Context(), url, Options{Holder: fmt.Sprint("host ", n), Node: fmt.Sprint(n), Patience: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for range 8 {
				if err := f.turn(s, random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	hosts.Wait()
	s := opened(t, url)
	order := reconcile.WorkOrder{Item: "disk", Do: reconcile.WorkStarted, By: "ada", Scopes: []reconcile.Scope{"x"}, For: ttl}
	if _, err := s.Work(t.Context(), order); err != nil {
		t.Error(err)
	}
	if _, err := s.Supersede(t.Context(), "1"); err != nil {
		t.Error(err)
	}
	if got := number(t, direct, "SELECT sum(ticks_ok)::bigint FROM tallies"); got != f.settled || got == 0 {
		t.Errorf("%d ticks are counted, and %d were settled", got, f.settled)
	}
}

// TestPoolerDropsTheSchema: one that ignores the search path would lead to another ledger.
func TestPoolerDropsTheSchema(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(pgtest.URL(t))
	url := pooled(t, "public", "ignore_startup_parameters = search_path")
	if _, err := Open(t.Context(), url+"&search_path="+schema, Options{}); err == nil || !strings.Contains(err.Error(), "ALTER ROLE") {
		t.Errorf("got %v, want it to say how the role gets its schema", err)
	}
}
