package policy_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"trueup/reconcile/policy"
	"trueup/reconcile/postgres/pgtest"
)

// database is one with these statements done.
func database(t *testing.T, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app #1?.db")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3f").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQueries(t *testing.T) {
	path := database(t, "CREATE TABLE people (login, approved); INSERT INTO people VALUES ('ada', 1), ('bob', 0), ('cy', 1)")
	ask := func(query string) policy.Source {
		return policy.Source{Query: policy.Query{SQLite: path, SQL: query}}
	}
	doc, err := read(t, ask("SELECT json_object('members', json_group_array(login)) FROM people WHERE approved"))
	if err != nil || string(doc.Data) != `{"members":["ada","cy"]}` || len(doc.Digest) != 64 {
		t.Errorf("got %s, %v", doc.Data, err)
	}
	for query, want := range map[string]string{
		"SELECT login FROM people":                     "more than one row", // doubled
		"SELECT login, approved FROM people":           "2 columns",
		"SELECT login FROM people WHERE login = 'eve'": "no row",
		"SELECT NULL":                     "no text",
		"SELECT 7":                        "no text",
		"SELECT x'7b7d'":                  "no text",
		"SELECT ''":                       "it is empty",
		"SELECT '{}'":                     "it is empty",
		"SELECT '{\"members\": [\"ada\"'": "not YAML, or was cut off",
		"SELECT login FROM accounts":      "no such table",
		"SELEC":                           "syntax error",
		"DELETE FROM people RETURNING 'members: []'":                                           "readonly",
		"SELECT printf('%.*c', 9000000, 'x')":                                                  "more than 8 MiB",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n": "longer than 200ms",
	} {
		s := ask(query)
		if strings.Contains(want, "200ms") {
			s.Timeout = 200e6
		}
		_, err := read(t, s)
		unknown(t, query, err, want)
	}
	if doc, err = read(t, ask("SELECT 'members: ' || count(*) || char(10) FROM people")); err != nil || string(doc.Data) != "members: 3\n" {
		t.Errorf("afterwards there is %s, %v", doc.Data, err)
	}
	_, err = read(t, policy.Source{Query: policy.Query{SQLite: path + ".gone", SQL: "SELECT 1"}})
	unknown(t, "gone", err, "no such file")
	if _, err := os.Stat(path + ".gone"); err == nil {
		t.Error("asking made a database")
	}
	broken := written(t, strings.Repeat("no database", 1000))
	_, err = read(t, policy.Source{Query: policy.Query{SQLite: broken, SQL: "SELECT 1"}})
	unknown(t, "no database", err, "not a database")
}

func TestQueriesThatAreNone(t *testing.T) {
	for want, q := range map[string]policy.Query{
		"query.sql is missing": {SQLite: "/x"}, "no path from the root": {SQL: "SELECT 1"}, `query.sqlite "x.db"`: {SQLite: "x.db", SQL: "SELECT 1"},
		"one of sqlite and postgres": {SQLite: "/x", Postgres: "postgres://h/d", SQL: "SELECT 1"}, "no address": {Postgres: "host=h", SQL: "SELECT 1"},
		"a password in it": {Postgres: "postgres://ada:hunter2@h/d", SQL: "SELECT 1"}, "give passfile": {Postgres: "postgres://h/d?password=hunter2", SQL: "SELECT 1"},
		"names no database": {Postgres: "postgres://ada@h", SQL: "SELECT 1"},
	} {
		if err := (policy.Source{Query: q}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", q, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v shows the password", err)
		}
	}
	if err := (policy.Source{File: "/x", Query: policy.Query{SQLite: "/x", SQL: "SELECT 1"}}).Validate(); err == nil {
		t.Error("a file and a query are one source")
	}
}

func TestQueriesOfPostgres(t *testing.T) {
	address := pgtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE SEQUENCE counted; CREATE TABLE people AS SELECT * FROM (VALUES ('ada', true), ('bob', false), ('cy', true)) AS p(login, approved)"); err != nil {
		t.Fatal(err)
	}
	ask := func(query string) policy.Source {
		return policy.Source{Query: policy.Query{Postgres: address, SQL: query}}
	}
	for _, query := range []string{"SELECT json_build_object('members', json_agg(login ORDER BY login)) FROM people WHERE approved; ",
		"WITH m AS (SELECT login FROM people WHERE approved) SELECT jsonb_build_object('members', jsonb_agg(login ORDER BY login)) FROM m -- all"} {
		doc, err := read(t, ask(query))
		if err != nil || strings.ReplaceAll(string(doc.Data), " ", "") != `{"members":["ada","cy"]}` || len(doc.Digest) != 64 {
			t.Errorf("got %s, %v", doc.Data, err)
		}
	}
	for query, want := range map[string]string{
		"SELECT login FROM people":                     "more than one row", // doubled
		"SELECT login, approved FROM people":           "2 columns",
		"SELECT login FROM people WHERE login = 'eve'": "no row",
		"SELECT NULL":                     "no text",
		"SELECT 7":                        "no text",
		"SELECT '\\x7b7d'::bytea":         "no text",
		"SELECT ''":                       "it is empty",
		"SELECT '{}'::jsonb":              "it is empty",
		"SELECT '{\"members\": [\"ada\"'": "not YAML, or was cut off",
		"SELECT login FROM accounts":      "does not exist",
		"SELEC":                           "syntax error",
		"DELETE FROM people RETURNING 'members: []'":       "syntax error",
		"SELECT 'a: 1' || nextval('counted')::text":        "read-only",
		"SELECT 1) AS a; DELETE FROM people; SELECT (1":    "multiple commands",
		"SELECT repeat('x', 9000000)":                      "more than 8 MiB",
		"SELECT 'x' || generate_series(1, 1000000000)":     "more than one row",
		"SELECT 'x' FROM (SELECT pg_sleep(60)) AS patient": "longer than 300ms",
	} {
		s := ask(query)
		if strings.Contains(query, "pg_sleep") {
			s.Timeout = 300e6
		}
		_, err := read(t, s)
		unknown(t, query, err, want)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: several lines: %v", query, err)
		}
	}
	if doc, err := read(t, ask("SELECT 'members: ' || count(*) || E'\\n' FROM people")); err != nil || string(doc.Data) != "members: 3\n" {
		t.Errorf("afterwards there is %s, %v", doc.Data, err)
	}
	_, err = read(t, policy.Source{Query: policy.Query{Postgres: "postgres://eve@127.0.0.1:1/gone", SQL: "SELECT ''"}})
	unknown(t, "gone", err, "a query of postgres://eve@127.0.0.1:1/gone")
}

// TestQueryAsksWithAPassword finds the password where libpq does, and never says it.
func TestQueryAsksWithAPassword(t *testing.T) {
	server := pgtest.Shared(t)
	address := server.TCP(pgtest.Schema(pgtest.URL(t)))
	passes := filepath.Join(t.TempDir(), "pass")
	for password, want := range map[string]string{"trueup": "", "s3cret-and-wrong": "password authentication failed"} {
		if err := os.WriteFile(passes, []byte("127.0.0.1:*:*:trueup:"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := read(t, policy.Source{Query: policy.Query{Postgres: address + "&passfile=" + passes, SQL: "SELECT 'a: 1' || chr(10)"}})
		if want == "" && err != nil {
			t.Error(err)
		}
		if want != "" {
			unknown(t, "wrong", err, want)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%v shows the password", err)
		}
	}
}
