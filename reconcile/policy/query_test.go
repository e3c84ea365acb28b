package policy_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trueup/reconcile/policy"
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
	} {
		if err := (policy.Source{Query: q}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", q, err)
		}
	}
	if err := (policy.Source{File: "/x", Query: policy.Query{SQLite: "/x", SQL: "SELECT 1"}}).Validate(); err == nil {
		t.Error("a file and a query are one source")
	}
}
