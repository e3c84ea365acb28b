package pgtest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile/postgres/pgtest"
)

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestSchemas has two tests on one server, which do not see each other, and a role that is no superuser.
func TestSchemas(t *testing.T) {
	var last string
	for range 2 {
		t.Run("one", func(t *testing.T) {
			conn := connect(t, pgtest.URL(t))
			if _, err := conn.Exec(t.Context(), "create table once (n int)"); err != nil {
				t.Fatal(err)
			}
			var super string
			var version int
			err := conn.QueryRow(t.Context(), "select current_setting('is_superuser'), current_schema(), current_setting('server_version_num')::int / 10000").Scan(&super, &last, &version)
			if err != nil || super != "off" {
				t.Errorf("superuser %s, %v", super, err)
			}
			if want := pgtest.Major(); want != strings.TrimSpace(want) || version < 15 {
				t.Errorf("the server is version %d, want %s", version, want)
			}
		})
	}
	conn := connect(t, pgtest.Shared(t).Superuser())
	var left int
	if err := conn.QueryRow(t.Context(), "select count(*) from pg_namespace where nspname = $1", last).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left of a test that has ended, %v", left, err)
	}
}

// TestCrash keeps what was committed over a kill, and leaves nothing behind.
func TestCrash(t *testing.T) {
	var folder string
	t.Run("server", func(t *testing.T) {
		s := pgtest.Start(t)
		folder = filepath.Dir(s.Socket())
		address := s.URL(t)
		conn := connect(t, address)
		if _, err := conn.Exec(t.Context(), "create table kept as select 7 as n"); err != nil {
			t.Fatal(err)
		}
		s.Kill(t)
		if _, err := pgx.Connect(t.Context(), address); err == nil {
			t.Fatal("the server answers after it was killed")
		}
		s.Again(t)
		n := 0
		if err := connect(t, address).QueryRow(t.Context(), "select n from kept").Scan(&n); err != nil || n != 7 {
			t.Errorf("read %d, %v", n, err)
		}
		if _, err := pgx.Connect(t.Context(), s.TCP(pgtest.Schema(address))); err == nil {
			t.Error("nobody was asked for a password over TCP")
		}
	})
	if _, err := os.Stat(folder); err == nil {
		t.Errorf("%s is left", folder)
	}
	for end := time.Now().Add(30 * time.Second); ; <-time.After(20 * time.Millisecond) {
		out, _ := exec.Command("pgrep", "-f", folder).Output()
		if len(out) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("processes are left: %s", out)
		}
	}
}
