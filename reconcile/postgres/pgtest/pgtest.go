// Package pgtest gives tests a PostgreSQL server: one that all test processes of this machine share, where each test has a
// schema of its own, or one that is a test's alone, to be stopped and killed. Servers end by themselves once no test is left
// that uses them, whatever becomes of the tests. Where PostgreSQL is missing the test fails.
//
// File version is where the major version is pinned, here and for .ci/deps; TRUEUP_POSTGRES takes its place once.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed version
var pinned string

// Major is the major version of the servers.
func Major() string { return cmp.Or(os.Getenv("TRUEUP_POSTGRES"), strings.TrimSpace(pinned)) }

// A Server is a PostgreSQL server with a database trueup, whose owner is the role trueup with the same password. The role
// is no superuser. By the socket nobody is asked for a password; over TCP everybody is.
type Server struct {
	dir  string
	port string
}

// URL is the address of a schema of this test's own on the server that all tests share. The schema goes with the test.
func URL(t testing.TB) string {
	t.Helper()
	return shared(t).URL(t)
}

// Shared is the server that all tests of this machine share. Nobody may stop it.
func Shared(t testing.TB) *Server {
	t.Helper()
	return shared(t)
}

// URL is the address of a new schema on this server, which goes with the test.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	schema := "test_" + strings.ToLower(rand.Text())
	s.exec(t, "create schema "+schema)
	t.Cleanup(func() { s.drop(t, schema) })
	return s.Address(schema)
}

// Address is that of a schema, by the socket.
func (s *Server) Address(schema string) string {
	q := url.Values{"host": {s.Socket()}, "port": {s.port}, "search_path": {schema}}
	return "postgres://trueup@/trueup?" + q.Encode()
}

// TCP is the same schema over the loopback interface, without the password, which is trueup.
func (s *Server) TCP(schema string) string {
	q := url.Values{"search_path": {schema}, "sslmode": {"disable"}}
	return "postgres://trueup@127.0.0.1:" + s.port + "/trueup?" + q.Encode()
}

// Schema is the one that an address leads to.
func Schema(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Query().Get("search_path")
}

// Socket is the folder of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "server") }

// Port is the server's port, of the socket and of TCP.
func (s *Server) Port() int {
	n, _ := strconv.Atoi(s.port)
	return n
}

// Superuser is the address of the database as the server's own superuser.
func (s *Server) Superuser() string {
	q := url.Values{"host": {s.Socket()}, "port": {s.port}}
	return "postgres://postgres@/trueup?" + q.Encode()
}

func (s *Server) exec(t testing.TB, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.Superuser())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "set role trueup; "+sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// drop removes a schema. What the test has left open in it must not make it wait.
func (s *Server) drop(t testing.TB, schema string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.Superuser())
	if err != nil {
		return // the test has stopped its server
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "set lock_timeout = '5s'; set client_min_messages = error; drop schema if exists "+schema+" cascade"); err != nil {
		t.Logf("dropping %s: %v", schema, err)
	}
}

// answers tells whether something listens on the server's socket.
func (s *Server) answers() bool {
	conn, err := net.Dial("unix", filepath.Join(s.Socket(), ".s.PGSQL."+s.port))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// flock opens and locks a file; the lock lasts until the file is closed.
func flock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}
