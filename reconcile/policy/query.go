package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // registers itself with database/sql
)

// A Query asks a database for the document: one row with one column, its text. JSON is YAML, so a database that builds JSON
// makes the document itself.
type Query struct {
	SQLite   string `yaml:"sqlite" path:"abs" doc:"a database of SQLite on this host; it is only read"`
	Postgres string `yaml:"postgres" doc:"the address of a database of PostgreSQL: postgres://user@host/database?passfile=/path; it is only read"`
	SQL      string `yaml:"sql" doc:"a query whose one row has one column: the document, such as JSON"`
}

// IsZero tells whether there is no query.
func (q Query) IsZero() bool { return q == Query{} }

// place names the database for people.
func (q Query) place() string {
	if q.Postgres == "" {
		return q.SQLite
	}
	u, err := url.Parse(q.Postgres)
	if err != nil {
		return "PostgreSQL"
	}
	u.RawQuery = ""
	return u.Redacted()
}

func (q Query) validate() (wrong []error) {
	switch {
	case q.SQLite != "" && q.Postgres != "":
		wrong = append(wrong, errors.New("query: want one of sqlite and postgres"))
	case q.Postgres != "":
		wrong = append(wrong, validAddress(q.Postgres)...)
	case q.SQLite == "" || !filepath.IsAbs(q.SQLite):
		wrong = append(wrong, fmt.Errorf("query.sqlite %q is no path from the root", q.SQLite))
	}
	if strings.TrimSpace(q.SQL) == "" {
		wrong = append(wrong, errors.New("query.sql is missing"))
	}
	return wrong
}

// read asks, in one transaction that writes nothing. Anything but one row with one text is no document.
func (q Query) read(ctx context.Context) ([]byte, error) {
	if q.Postgres != "" {
		return q.readPostgres(ctx)
	}
	return q.readSQLite(ctx)
}

func (q Query) readSQLite(ctx context.Context) ([]byte, error) {
	if _, err := os.Stat(q.SQLite); err != nil {
		return nil, bare(err)
	}
	address := url.URL{Scheme: "file", Path: q.SQLite, RawQuery: "mode=ro&_pragma=query_only(1)&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, q.SQL)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	switch {
	case err != nil:
		return nil, err
	case len(columns) != 1:
		return nil, fmt.Errorf("the query answers with %d columns; want one, the document", len(columns))
	case !rows.Next():
		if err := rows.Err(); err != nil {
			return nil, because(ctx, err)
		}
		return nil, errors.New("the query answers with no row; want one, the document")
	}
	var value any
	if err := rows.Scan(&value); err != nil {
		return nil, err
	}
	text, is := value.(string)
	switch {
	case !is:
		return nil, errors.New("the query answers with no text")
	case len(text) > Largest:
		return nil, errTooLarge
	case rows.Next():
		return nil, errors.New("the query answers with more than one row; want one, the document")
	}
	return []byte(text), because(ctx, rows.Err())
}
