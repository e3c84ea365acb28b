package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"trueup/reconcile/export"
)

// A querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// columns are those of a table of an export, in their order.
func columns(ctx context.Context, q querier, t export.Table) (columns []export.Column, err error) {
	rows, err := q.QueryContext(ctx, "SELECT name, type FROM pragma_table_info(?)", t.Name)
	if err != nil {
		return nil, err
	}
	err = eachRow(rows, func(scan scanner) error {
		var c export.Column
		var typ string
		err := scan(&c.Name, &typ)
		if c.JSON = c.Name == t.JSON; typ == "BLOB" {
			c.Kind = export.Bytes
		}
		columns = append(columns, c)
		return err
	})
	if err == nil && len(columns) == 0 {
		err = fmt.Errorf("there is no table %s", t.Name)
	}
	return columns, err
}
