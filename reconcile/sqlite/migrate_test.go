package sqlite

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"trueup/reconcile"
)

// TestMigrationsOnlyAdd: an upgrade does not wait for a sweep of the older trueup, whose next statement meets the new schema and
// may be the one that records what was done outside. docs/decisions/migrations-only-add.md
func TestMigrationsOnlyAdd(t *testing.T) {
	t.Parallel()
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]schemaColumn{}
	for n := range texts {
		path := filepath.Join(t.TempDir(), "state.db")
		migrated(t, path, texts[:n+1])
		now := schemaOf(t, path)
		for table, columns := range before {
			if len(now[table]) == 0 {
				t.Errorf("migration %d takes %s away", n+1, table)
			}
			for _, c := range columns {
				if !slices.ContainsFunc(now[table], c.takes) {
					t.Errorf("migration %d takes column %+v of %s away, or makes it narrower", n+1, c, table)
				}
			}
			for _, c := range now[table] {
				if !slices.ContainsFunc(columns, func(b schemaColumn) bool { return b.name == c.name }) && c.needed {
					t.Errorf("migration %d gives %s the column %s, which who does not know it leaves empty", n+1, table, c.name)
				}
			}
		}
		before = now
	}
}

// A schemaColumn is a column of a table or a view.
type schemaColumn struct {
	name, kind string
	needed     bool // it must not be null, and has no default
	key        int
}

// takes tells whether another column takes what this one took.
func (c schemaColumn) takes(now schemaColumn) bool {
	return now.name == c.name && now.kind == c.kind && now.key == c.key && (c.needed || !now.needed)
}

// migrated makes a database by some migrations.
func migrated(t *testing.T, path string, texts []string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := unseen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := build(t.Context(), db, texts, len(texts)); err != nil {
		t.Fatal(err)
	}
}

// schemaOf are the columns of each table and view.
func schemaOf(t *testing.T, path string) map[string][]schemaColumn {
	t.Helper()
	rows, err := rawDB(t, path).Query(`SELECT s.name, c.name, iif(s.type = 'view', '', c.type), c."notnull" AND c.dflt_value IS NULL, c.pk
		FROM sqlite_schema AS s, pragma_table_info(s.name) AS c WHERE s.type IN ('table', 'view')`)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]schemaColumn{}
	err = eachRow(rows, func(scan scanner) error {
		var table string
		var c schemaColumn
		err := scan(&table, &c.name, &c.kind, &c.needed, &c.key)
		of[table] = append(of[table], c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// TestMigratedUnderASweep: a sweep of a trueup that knows no tallies goes on with its statements in a database that was migrated
// under it. None is refused, and what is counted beside it adds up.
func TestMigratedUnderASweep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	texts, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	migrated(t, path, texts[:3])
	older := rawDB(t, path)
	older.SetMaxOpenConns(1)
	old := olderStatements(t, older)
	old("ask", 5)
	s := reopen(t, path)
	quiet := func() {
		t.Helper()
		l := try(t, s, "test:one").Lease
		answers := must(s.Settle(t.Context(), []reconcile.Settlement{{Lease: l, Report: reconcile.Report{State: reconcile.OK}, Covered: true}}))(t)
		if answers[0] != nil {
			t.Fatal(answers[0])
		}
	}
	ask := func() {
		t.Helper()
		if err := s.Commit(t.Context(), reconcile.Batch{Ask: []reconcile.Ask{{Targets: []reconcile.Key{"test:one"}}}}); err != nil {
			t.Fatal(err)
		}
	}
	forgetOther := func() {
		t.Helper()
		if err := s.Commit(t.Context(), reconcile.Batch{Forget: []reconcile.Key{"test:two"}}); err != nil {
			t.Fatal(err)
		}
	}
	for n, step := range []func(){
		quiet, func() { old("log", 0) }, func() { old("ask", 100) }, quiet, ask, func() { old("cover", 1000) }, ask, quiet,
		ask, func() { old("forget", 0) }, ask, quiet, ask, func() { old("forget", 0) }, forgetOther,
	} {
		step()
		for _, tally := range must(s.Tallies(t.Context()))(t) {
			if sum := tally.Ran + tally.Coalesced + tally.Held + tally.HandedOver + tally.Dropped + uint64(tally.Open); sum != tally.Requests {
				t.Errorf("after step %d: %+v, which comes to %d", n, tally, sum)
			}
		}
	}
	if n := number(t, path, "SELECT count(*) FROM tallies WHERE target <> ''"); n != 0 {
		t.Errorf("%d targets that are gone are counted by themselves", n)
	}
	sane(t, path)
}

// olderStatements are what a trueup before tallies wrote, prepared before the database was migrated.
func olderStatements(t *testing.T, db *sql.DB) func(name string, n int) {
	t.Helper()
	prepared := map[string]*sql.Stmt{}
	for name, text := range map[string]string{
		"ask": `INSERT INTO standings (target, asked, reason, claim_asked, covered, failures, state, note, run, changes, policy, fingerprint)
			VALUES ('test:one', ?1, '', 0, 0, 0, 'waiting', '', '', 0, '', '') ON CONFLICT (target) DO UPDATE SET asked = max(asked, (SELECT last FROM sequence))`,
		"cover":  "UPDATE standings SET covered = (SELECT last FROM sequence), state = 'ok' WHERE ?1",
		"forget": "DELETE FROM standings WHERE target = 'test:one' AND ?1 = 0",
		"log":    "INSERT INTO logs (run, at, stream, text, cut) VALUES ('r-00001', '2026-11-29T14:02:11.000000Z', 'check', 'printed', ?1)",
	} {
		stmt, err := db.Prepare(text)
		if err != nil {
			t.Fatal(err)
		}
		prepared[name] = stmt
	}
	return func(name string, n int) {
		t.Helper()
		if _, err := prepared[name].Exec(n); err != nil {
			t.Errorf("%s of an older trueup: %v", name, fmt.Errorf("in the migrated ledger: %w", err))
		}
	}
}
