package postgres

import "github.com/jackc/pgx/v5"

// A scanner reads the columns of a row.
type scanner func(into ...any) error

func eachRow(rows pgx.Rows, do func(scan scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// reading queues a query whose every row do is called with.
func reading(b *pgx.Batch, query string, do func(scan scanner) error, args ...any) {
	b.Queue(query, args...).Query(func(rows pgx.Rows) error { return eachRow(rows, do) })
}
