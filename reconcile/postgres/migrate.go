package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Oldest is the oldest major version of the server that is supported: the one that the tests run on.
const Oldest = 15

// migrating is how long a migration may take.
const migrating = time.Minute

var errForeign = errors.New("it has another program's tables: give trueup a schema of its own with search_path")

// steps are the migrations in the order of their numbers; the schema of a database is the number of the last one done.
func steps() []string {
	names, _ := fs.Glob(migrations, "migrations/*.sql") // sorted; the pattern is well formed
	texts := make([]string, len(names))
	for i, name := range names {
		text, _ := migrations.ReadFile(name) // which is embedded
		texts[i] = string(text)
	}
	return texts
}

// newest is the schema that this program knows.
func newest() int { return len(steps()) }

// A server as it is met.
type server struct {
	version  int // 150018 for 15.18
	encoding string
	path     string // the search path
	schema   string // the first of it that exists; empty when none does
	known    bool   // there are tables of ours
	foreign  bool   // there are others under the names of ours
	bytes    string // how it writes them
}

const serverSQL = `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), current_setting('search_path'),
	coalesce(current_schema(), ''), to_regclass('trueup_schema') IS NOT NULL,
	EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relname = ANY($1::text[])),
	current_setting('bytea_output')`

// names are those of our tables and views.
func names() []string {
	return append(tableNames(), "sequence", "receipts", "usage", "work_now", "who_holds", "runs_now")
}

// schema is the number of the last migration done, or why the database is not to be used.
func (s *Store) schema(ctx context.Context) (have int, err error) {
	err = s.patiently(ctx, func(ctx context.Context) error {
		var is server
		err := s.pool.QueryRow(ctx, serverSQL, names()).Scan(&is.version, &is.encoding, &is.path, &is.schema, &is.known, &is.foreign, &is.bytes)
		if unreached(err) {
			return final{err} // who just begins is told at once
		}
		if err == nil {
			err = is.fit(s.pool.Config().ConnConfig.RuntimeParams["search_path"])
		}
		if err == nil && is.known {
			err = s.pool.QueryRow(ctx, "SELECT version FROM trueup_schema").Scan(&have)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = errForeign
		}
		return err
	})
	if err == nil && have > newest() {
		err = fmt.Errorf("its schema %d is newer than this trueup, which knows %d: install the newer trueup on this host, too", have, newest())
	}
	return have, err
}

// fit refuses a server that cannot be used, or another place in it than was asked for.
func (is server) fit(path string) error {
	switch {
	case is.version < Oldest*10000:
		return fmt.Errorf("its server has version %d, and PostgreSQL %d or newer is needed", is.version/10000, Oldest)
	case is.encoding != "UTF8":
		return fmt.Errorf("its encoding is %s: create the database with ENCODING 'UTF8' TEMPLATE template0", is.encoding)
	case path != "" && plain(path) != plain(is.path):
		return fmt.Errorf("something on the way dropped the search_path %s, and it is %s: behind a pooler give the role its own, ALTER ROLE … SET search_path = %s", path, is.path, path)
	case is.schema == "":
		return fmt.Errorf("no schema of its search_path %s exists: CREATE SCHEMA … AUTHORIZATION the user that trueup connects as", is.path)
	case is.bytes != "hex":
		return fmt.Errorf("its bytea_output is %s: ALTER ROLE the user that trueup connects as SET bytea_output = hex", is.bytes)
	case !is.known && is.foreign:
		return errForeign
	}
	return nil
}

// plain is a search path without what makes no difference.
func plain(path string) string { return strings.NewReplacer(" ", "", `"`, "").Replace(path) }

// migrate brings the schema up to what this program knows, each step in a transaction of its own. Who comes second waits,
// and finds it done.
func (s *Store) migrate(ctx context.Context) error {
	for to := 1; to <= newest(); to++ {
		err := within(ctx, max(s.options.Patience, migrating), func(ctx context.Context) error {
			return s.begun(ctx, func(tx pgx.Tx) error { return s.step(ctx, tx, to) })
		})
		if err != nil {
			return fmt.Errorf("bringing its schema to %d: %w", to, err)
		}
	}
	return nil
}

// knownSQL reads the catalog itself: names that were looked up before the lock came are remembered as unknown.
const knownSQL = `SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
	WHERE relname = 'trueup_schema' AND nspname = ANY (current_schemas(false)))`

func (s *Store) step(ctx context.Context, tx pgx.Tx, to int) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('trueup ' || current_schema()))"); err != nil {
		return err
	}
	var known bool
	if err := tx.QueryRow(ctx, knownSQL).Scan(&known); err != nil {
		return err
	}
	if !known {
		if _, err := tx.Exec(ctx, "CREATE TABLE trueup_schema (version integer NOT NULL)"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO trueup_schema VALUES (0)"); err != nil {
			return err
		}
	}
	var have int
	if err := tx.QueryRow(ctx, "SELECT version FROM trueup_schema").Scan(&have); err != nil || have >= to {
		return err
	}
	if _, err := tx.Exec(ctx, steps()[to-1], pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE trueup_schema SET version = $1", to)
	return err
}
