package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// A table is one that an export has, its rows in the order of a key.
type table struct {
	name  string
	order string
	json  string // the column that holds JSON, if any: it stands in the export as it is
}

// tables are all that an export has, each after those that its rows refer to. The sequence stands in the header, and usage
// follows from the logs.
func tables() []table {
	return []table{
		{"runs", "fence", ""},
		{"events", "run, seq", "data"},
		{"logs", "id", ""},
		{"standings", "target", "good"},
		{"tallies", "target", ""},
		{"records", "family, key", "value"},
		{"leases", "fence", ""},
		{"work_items", "item", ""},
		{"work_events", "item, seq", "data"},
		{"work_sessions", "fence", ""},
		{"scopes", "scope", ""},
	}
}

// A column is one of a table.
type column struct {
	name string
	blob bool
	json bool
}

// A querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// columns are those of a table, in their order.
func (t table) columns(ctx context.Context, q querier) (columns []column, err error) {
	rows, err := q.QueryContext(ctx, "SELECT name, type FROM pragma_table_info(?)", t.name)
	if err != nil {
		return nil, err
	}
	err = eachRow(rows, func(scan scanner) error {
		var c column
		var typ string
		err := scan(&c.name, &typ)
		c.blob, c.json = typ == "BLOB", c.name == t.json
		columns = append(columns, c)
		return err
	})
	if err == nil && len(columns) == 0 {
		err = fmt.Errorf("there is no table %s", t.name)
	}
	return columns, err
}

// tableOf finds a table by its name.
func tableOf(name string) (table, bool) {
	all := tables()
	i := slices.IndexFunc(all, func(t table) bool { return t.name == name })
	if i < 0 {
		return table{}, false
	}
	return all[i], true
}
